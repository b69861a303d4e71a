"""Prints hashes of the results of random programs and of a training.

`python tests/same_bits.py FIRST COUNT STEPS QUEUE`: the first seed, how many, the steps of the training, and the queue
that runs the programs, or auto. The number of threads (`STAGEC_NUM_THREADS`) and the queue that runs a program must not
change a bit.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np

import stagec
from stagec.compiler import build
from tests.reproducible.programs import Program, program, trainings


def digest(of: Program) -> str:
    """A hash of a program's results."""
    with stagec.enable_x64(of.doubles):
        leaves: list[Any] = stagec.tree.leaves(stagec.jit(of.function)(*of.arguments))
    return hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in leaves)).hexdigest()


def main() -> None:
    first, count, steps, queue = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if queue != "auto":
        build.choose_driver = lambda graph, target: queue
    for seed in range(first, first + count):
        print(seed, digest(program(seed)))
    print("trained", digest(trainings(steps)["perceptron"]))


if __name__ == "__main__":
    main()
