"""Which programs leave direct compilation: `python -m tests.routes [part of a name ...] [--dtype D]`.

Each public function of arrays that JAX has, too, is compiled for the CPU as it is, its gradient, a batch of it, and a
batch of gradients; the arguments are those of `python -m tests.benchmarks outside`, of a few elements. The output names
the programs that go through all phases of IREE, and why, those that are refused, and those that take long to compile.
"""

import argparse
import sys
import time
import warnings

import numpy as np

import stagec
import stagec.numpy as snp
from stagec.compiler import log
from stagec.core.errors import CompileError
from tests.benchmarks.outside import Library, arguments, kinds, names

ELEMENTS, BATCH, LONG_SECONDS = 37, 3, 2.0


def is_inexact(array):
    return np.dtype(array.dtype).kind in "fcV"


def calls(name, dtype):
    """A function, the first arrays that it takes, and whether it has derivatives; None if it takes none of them."""
    library, makers = Library("stagec"), arguments((ELEMENTS,), dtype)
    function = library.function(name)
    for kind in kinds(name):
        given = makers[kind](library)
        arrays = {i: a for i, a in enumerate(given) if hasattr(a, "dtype")}

        def call(*xs, function=function, given=given, places=tuple(arrays)):
            known = dict(zip(places, xs))
            return function(*(known.get(i, a) for i, a in enumerate(given)))

        try:
            results = stagec.tree.leaves(stagec.eval_shape(call, *arrays.values()))
        except Exception:  # it takes other arguments
            continue
        if results and arrays:
            return call, list(arrays.values()), any(map(is_inexact, results))
    return None


def forms(call, arrays, is_differentiable):
    """The function, its gradient and batches of both, by name, each with its arguments."""
    yield "function", call, arrays
    inexact = tuple(i for i, a in enumerate(arrays) if is_inexact(a))
    axes = tuple(0 if a.ndim else None for a in arrays)
    batches = [snp.stack([a] * BATCH) if a.ndim else a for a in arrays]
    if any(axis == 0 for axis in axes):
        yield "batch", stagec.vmap(call, in_axes=axes), batches
    if inexact and is_differentiable:

        def total(*xs):
            leaves = [leaf for leaf in stagec.tree.leaves(call(*xs)) if is_inexact(leaf)]
            return sum(snp.sum(snp.abs(leaf)).astype("float32") for leaf in leaves)

        gradient = stagec.grad(total, argnums=inexact)
        yield "gradient", gradient, arrays
        if any(axis == 0 for axis in axes):
            yield "batch of gradients", stagec.vmap(gradient, in_axes=axes), batches


def route(function, arrays):
    """How a program was compiled, and seconds of the processor; None if it cannot be traced."""
    log.clear()
    started = time.process_time()
    try:
        lowered = stagec.jit(function).lower(*arrays)
    except Exception:  # no derivative, or no batches
        return None
    try:
        with stagec.config.override(enable_cache=False):
            lowered.compile()
    except CompileError as error:
        return str(error).splitlines()[0], 0.0
    fields = [record.fields for record in log.records("compile")]
    told = [str(f["reason"]) for f in fields if "reason" in f] or [f["flags"] for f in fields if "flags" in f][-1:]
    return told[0] if told else "direct", time.process_time() - started


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.routes")
    parser.add_argument("names", nargs="*", help="parts of the names of functions")
    parser.add_argument("--dtype", default="float32", help="of the arrays")
    options = parser.parse_args()
    stagec.config.update("enable_x64", options.dtype in ("float64", "complex128", "int64"))
    warnings.simplefilter("ignore")
    count = others = 0
    for name in names():
        if name.startswith(("array.", "calls.")) or not any(part in name for part in options.names or [""]):
            continue
        found = calls(name, options.dtype)
        for form, function, arrays in forms(*found) if found else ():
            told = route(function, arrays)
            if told is None:
                continue
            count += 1
            others += told[0] != "direct"
            if told[0] != "direct" or told[1] > LONG_SECONDS:
                print(f"{name}, {form}: {told[0]}, {told[1]:.1f} s", flush=True)
    print(f"{options.dtype}: {count} programs, of which {others} are not compiled directly")


if __name__ == "__main__":
    sys.exit(main())
