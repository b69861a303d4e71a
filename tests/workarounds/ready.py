"""Imported by the process from which those of reproductions are forked: the compiler, loaded and never used."""

import stagec.numpy
import stagec.workarounds
from stagec.compiler import mlir
from tests.workarounds import reproduce

mlir.load()
PRELOADED = stagec.numpy, stagec.jit, stagec.workarounds.ALL, reproduce
