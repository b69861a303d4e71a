"""Imported by the process from which those of reproductions are forked: the compiler, loaded and never used."""

import stagec.numpy
import tests.workarounds.records
from stagec.compiler import mlir
from tests.workarounds import reproduce

mlir.load()
PRELOADED = stagec.numpy, stagec.jit, tests.workarounds.records.ALL, reproduce
