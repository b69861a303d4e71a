"""`python -m stagec.compat script.py ...`: a program written for JAX, on stagec."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from stagec import compat

USAGE = """usage: python -m stagec.compat script.py [argument ...]
       python -m stagec.compat -m module [argument ...]
       python -m stagec.compat -c command [argument ...]

Runs a program as Python does, with `import jax` meaning stagec."""


def main(arguments: Sequence[str]) -> None:
    """Run what the command line names."""
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        sys.exit(0 if arguments and arguments[0] in ("-h", "--help") else 2)
    compat.install()
    kind, *rest = arguments
    # As Python has them: the folder of the script or the current one first, and the program's own arguments.
    if kind == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = list(arguments)
        sys.path.insert(0, os.path.dirname(os.path.abspath(kind)))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
