"""Public functions outside `jit`, and JAX's: `python -m tests.benchmarks outside [part of a name ...] [--size N ...]
[--dtype D ...] [--form F ...] [--inside] [--quick] [--memory]`.

Every public function of arrays is called with each of a few kinds of arguments until both libraries take one: an array
of N elements, two, a matrix of about N elements, a random key and a shape, and so on. So the table is generated, and a
new function has a row. The dtype, the shape (`--size 7x100003`) and the form in which arrays are handed over (NumPy's,
with strides, lists, numbers) can be chosen; after `--dtype all` or `--form all`, each is compared with stagec's own
time for float32 arrays, too. `array` are the methods of arrays, and what Python and NumPy do with one; `calls` are
transformations, loops and the like (`outside_calls`).

Each library has a process of its own, without a cache on disk. The first call is measured once, in the time of all
processors, which another process on the machine does not lengthen; the following ones in turns, the fastest of which
counts. Ratios are stagec's time over JAX's: below 1, stagec is the faster one. The column
`over jit` is stagec's time over its own inside `jit`. `--inside` measures the jitted functions of both libraries.
`--quick` measures later calls alone, in short turns, and gives up a function that takes long: all functions of 20,000
elements take about five minutes. `--memory` counts pages instead of time: those that 200 calls leave in use, and page
faults.
"""

from __future__ import annotations

import argparse
import copy
import gc
import importlib
import inspect
import itertools
import json
import math
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from rich.console import Console
from rich.table import Table

from tests.benchmarks.loops import geometric_mean
from tests.benchmarks.outside_calls import CALLS
from tests.benchmarks.workers import Worker, serve

LIBRARIES = ("stagec", "jax")
SIZES = ((10,), (1000,), (1_000_000,))
# How long a turn lasts, and the processor time that the calls of one may take: carefully, and quickly.
_SECONDS, _LONGEST = (0.02, 0.005), (20, 4)
_FEWEST = 10  # calls of a turn, if they are short: other processes lengthen single ones
_CALLS = 200  # whose memory is counted
DTYPES = ("float32", "float64", "complex64", "float16", "bfloat16", "int8", "int32", "uint8", "bool")
# Modules by their names in stagec and in JAX.
MODULES = {
    "numpy": "jax.numpy",
    "numpy.linalg": "jax.numpy.linalg",
    "numpy.fft": "jax.numpy.fft",
    "lax": "jax.lax",
    "lax.linalg": "jax.lax.linalg",
    "nn": "jax.nn",
    "random": "jax.random",
    "image": "jax.image",
    "scipy.special": "jax.scipy.special",
    "scipy.linalg": "jax.scipy.linalg",
    "scipy.signal": "jax.scipy.signal",
    "scipy.fft": "jax.scipy.fft",
    **{
        f"scipy.stats.{name}": f"jax.scipy.stats.{name}"
        for name in (
            *("bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm"),
            *("geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial", "nbinom", "norm", "pareto"),
            *("poisson", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy"),
        )
    },
}
# How a NumPy array is handed over.
FORMS: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "array": lambda m, x: m["numpy"].asarray(x),
    "numpy": lambda m, x: x,
    "strided": lambda m, x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda m, x: x[..., ::-1],
    "columns": lambda m, x: np.asfortranarray(x),
    "list": lambda m, x: x.tolist(),
    "number": lambda m, x: x.flat[0].item(),
    "scalar": lambda m, x: np.float64(x.flat[0]) if x.dtype.kind == "f" else x.flat[0],
}
# What Python and NumPy do with an array.
PROTOCOLS: dict[str, Callable[..., Any]] = {
    "iterate": lambda x: list(x[:10]),
    "unpack": lambda x: [*x[:3]],
    "index": lambda x: [x[i] for i in range(10)],
    "index from the end": lambda x: x[-1],
    "slice": lambda x: x[1:5],
    "index by an array": lambda x: x[np.arange(5)],
    "mask": lambda x: x[x > 0.5],
    "set an element": lambda x: x.at[3].set(1),
    "add to a slice": lambda x: x.at[2:5].add(1),
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "bool": lambda x: bool(x[0] > 0),
    "format": lambda x: f"{x[0]:.3f}",
    "repr": lambda x: repr(x[:10]),
    "len": len,
    "NumPy array": np.asarray,
    "NumPy copy": lambda x: np.array(x),
    "NumPy function": lambda x: np.sum(x),
    "with NumPy array": lambda x: x + np.ones(x.shape, np.float32),
    "after NumPy array": lambda x: np.ones(x.shape, np.float32) + x,
    "with number": lambda x: 2.5 * x - 1,
    "with NumPy number": lambda x: np.float32(2.5) * x,
    "compare": lambda x: x == x,
    "contains": lambda x: 0.25 in x[:10],
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "transpose": lambda x: x.reshape(2, -1).T,
    "new axis": lambda x: x[:, None],
}
# They take files, change options, or hand an array on as it is.
_LEFT_OUT = frozenset(
    "load save savez fromfile fromfunction frompyfunc from_dlpack printoptions set_printoptions block_until_ready "
    "array_repr array_str array2string get_printoptions bartlett permute_dims".split()
)


def names() -> Iterator[str]:
    """All public functions that both libraries have, as `module.name`; then other calls, as `calls.name`."""
    for ours, theirs in MODULES.items():
        module, other = importlib.import_module(f"stagec.{ours}"), importlib.import_module(theirs)
        for name in dir(module):
            function = getattr(module, name)
            if name in _LEFT_OUT or not callable(function) or inspect.isclass(function):
                continue
            if callable(getattr(other, name, None)):
                yield f"{ours}.{name}"
    yield from (f"array.{name}" for name in (*_methods(), *PROTOCOLS))
    yield from (f"calls.{name}" for name in CALLS)


def _methods() -> Iterator[str]:
    """The methods and attributes that arrays of both libraries have."""
    ours, theirs = (importlib.import_module(library).Array for library in LIBRARIES)
    return (name for name in dir(theirs) if not name.startswith("_") and hasattr(ours, name))


def _method(name: str) -> Callable[..., Any]:
    def call(x: Any, *given: Any) -> Any:
        found = getattr(x, name)
        return found(*given) if callable(found) else found

    return call


def _values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Numbers between 0.1 and 0.9, or small integers, of a dtype."""
    if dtype.kind in "iu":
        return rng.integers(1, 9, shape).astype(dtype)
    drawn = rng.uniform(0.1, 0.9, shape)
    if dtype.kind == "c":
        return (drawn + 1j * rng.uniform(0.1, 0.9, shape)).astype(dtype)
    return drawn > 0.5 if dtype.kind == "b" else drawn.astype(dtype)


def arguments(
    shape: tuple[int, ...], dtype: str = "float32", form: str = "array"
) -> dict[str, Callable[[Any], tuple[Any, ...]]]:
    """Kinds of arguments, in the order in which they are tried; each is made for a library's modules."""
    rng, kind = np.random.default_rng(0), np.dtype(getattr(ml_dtypes, dtype, dtype))
    size = math.prod(shape)
    side = max(int(math.sqrt(size)), 2)
    x, y, z = (_values(rng, shape, kind) for _ in range(3))
    matrix = (_values(rng, (side, side), kind) + (side * np.eye(side)).astype(kind)).astype(kind)
    integers, others = rng.integers(0, 100, shape).astype(np.int32), rng.integers(1, 9, shape).astype(np.int32)
    counts = rng.integers(1, 9, shape).astype(kind)
    give = FORMS[form]
    arrays = lambda *given: lambda m: tuple(give(m, a) for a in given)  # noqa: E731
    return {
        "key, shape": lambda m: (m["random"].key(0), shape),
        "key, array, shape": lambda m: (m["random"].key(0), give(m, x), shape),
        "key, 2 arrays, shape": lambda m: (m["random"].key(0), give(m, x), give(m, y), shape),
        "key, array": lambda m: (m["random"].key(0), give(m, x)),
        "key, shape, 2 numbers": lambda m: (m["random"].key(0), shape, 1, 9),
        "array": arrays(x),
        "2 arrays": arrays(x, y),
        "3 arrays": arrays(x, y, z),
        "matrix": arrays(matrix),
        "2 matrices": arrays(matrix, matrix),
        "integers": arrays(integers),
        "2 integers": arrays(integers, others),
        "counts, array": arrays(counts, x),
        "counts, counts, array": arrays(counts, (counts + 9).astype(kind), x),
        "array, 3 numbers": lambda m: (give(m, x), 0.1, 0.2, 0.7),
        "array, number": lambda m: (give(m, x), 3),
        "list of arrays": lambda m: ([give(m, x), give(m, y)],),
        "array, shape": lambda m: (give(m, x), shape),
        "matrix, shape, method": lambda m: (give(m, matrix), (side // 2 + 1, side // 2 + 1), "linear"),
        "shape": lambda m: (shape,),
        "size": lambda m: (size,),
        "2 numbers, size": lambda m: (1.0, 2.0, size),
        "none": lambda m: (),
    }


def kinds(name: str) -> list[str]:
    """The kinds of arguments that a function may take: only those of `stagec.random` take keys."""
    found = [k for k in arguments((2,)) if (k == "none") == name.startswith("calls.")]
    return found if name.startswith("random.") else [k for k in found if not k.startswith("key")]


class Library:
    """The modules of a library by stagec's names for them, and its functions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._modules: dict[str, Any] = {}
        self.jit = importlib.import_module(name).jit
        self.clear_caches = importlib.import_module(name).clear_caches

    def __getitem__(self, module: str) -> Any:
        if module not in self._modules:
            path = MODULES[module] if self.name == "jax" else f"stagec.{module}"
            self._modules[module] = importlib.import_module(path)
        return self._modules[module]

    def function(self, name: str) -> Callable[..., Any]:
        module, _, last = name.rpartition(".")
        if module == "array":
            return PROTOCOLS.get(last) or _method(last)
        found: Callable[..., Any] = getattr(self[module], last)
        return found

    def leaves(self, result: Any) -> list[Any]:
        tree = importlib.import_module(f"{self.name}.tree")
        found = [leaf for leaf in tree.leaves(result) if hasattr(leaf, "block_until_ready")]
        for leaf in found:
            leaf.block_until_ready()
        return found


class Case(NamedTuple):
    """What functions are called with, and how."""

    shape: Sequence[int]
    dtype: str
    form: str
    inside: bool = False  # jitted
    quick: bool = False

    def call(self, library: Library, name: str, kind: str) -> Callable[[], list[Any]]:
        """A call that returns the arrays of its result."""
        module, _, last = name.partition(".")
        function = CALLS[last](library, math.prod(self.shape)) if module == "calls" else library.function(name)
        given = arguments(tuple(self.shape), self.dtype, self.form)[kind](library)
        if self.inside:
            static = tuple(i for i, a in enumerate(given) if isinstance(a, (tuple, str)) or type(a) is int)
            function = library.jit(function, static_argnums=static)
        return lambda: library.leaves(function(*given))


def measured(library: Library, name: str, kind: str, case: Case, new: bool) -> dict[str, float]:
    """Seconds of the first call, if this is it, and of a later one."""
    call = case.call(library, name, kind)
    if new and not case.quick:
        library.clear_caches()
        gc.collect()  # what earlier calls left
    start = time.process_time()
    if not call() and not name.startswith("array."):
        raise TypeError("it returns no array")
    first, best = max(time.process_time() - start, 1e-6), math.inf  # the clock has steps
    started, calls, longest = time.perf_counter(), 0, _SECONDS[case.quick]
    while (passed := time.perf_counter() - started) < longest or (calls < _FEWEST and passed < _FEWEST * longest):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        calls += 1
    return {"first": first, "steady": best}


def counted(library: Library, name: str, kind: str, case: Case) -> dict[str, float]:
    """Pages that many calls leave in use, and page faults of each, after as many calls."""
    call = case.call(library, name, kind)
    counts = []
    for _ in range(2):
        for _ in range(_CALLS):
            call()
        gc.collect()
        with open("/proc/self/statm") as file:
            counts.append((int(file.read().split()[1]), resource.getrusage(resource.RUSAGE_SELF).ru_minflt))
    (before, earlier), (after, later) = counts
    return {"kept": after - before, "faults": (later - earlier) / _CALLS}


def answer(name: str) -> None:
    """Answer requests with a library, until the input ends."""
    library = Library(name)

    def reply(request: Sequence[Any]) -> dict[str, float]:
        name, kind, handed, new = request
        case = Case(*handed)
        signal.setitimer(signal.ITIMER_PROF, _LONGEST[case.quick])
        return counted(library, name, kind, case) if new is None else measured(library, name, kind, case, new)

    serve(reply, 3 * max(_LONGEST))


def rows(
    wanted: Sequence[str], shapes: Sequence[tuple[int, ...]], how: Case, repeat: int, memory: bool
) -> Iterator[dict[str, Any]]:
    """A row for each function and shape that both libraries compute."""
    environment = dict.fromkeys(("STAGEC_ENABLE_X64", "JAX_ENABLE_X64"), str(int(how.dtype.endswith("t64"))))
    environment["STAGEC_CACHE"] = str(int(how.quick))  # first calls do not count there
    workers = {library: Worker("outside", library, environment) for library in LIBRARIES}
    for name in names():
        if wanted and not any(part in name for part in wanted):
            continue
        for shape in shapes:
            case = how._replace(shape=shape)
            # What JAX takes is found with few elements: it reads a large array as a tuple of numbers for minutes.
            few = how._replace(shape=tuple(min(n, 10) for n in shape))
            for kind in kinds(name):
                if "error" in workers["jax"].ask([name, kind, few, True]):
                    continue
                replies = {}
                for library in reversed(LIBRARIES):
                    replies[library] = workers[library].ask([name, kind, case, True])
                    if "error" in replies[library]:
                        break
                row = {"name": name, "size": "x".join(map(str, shape)), "dtype": how.dtype, "form": how.form}
                row["kind"] = kind
                if len(replies) < len(LIBRARIES) or any("error" in r for r in replies.values()):
                    if len(replies) == len(LIBRARIES):
                        yield {**row, "error": replies["stagec"]["error"]}
                    if any(str(r.get("error")).startswith("the process ended") for r in replies.values()):
                        break
                    continue
                for _ in range(repeat - 1):
                    for library, worker in workers.items():
                        again = worker.ask([name, kind, case, False])
                        replies[library]["steady"] = min(replies[library]["steady"], again.get("steady", math.inf))
                if memory:
                    for library, worker in workers.items():
                        replies[library].update(worker.ask([name, kind, case, None]))
                # Other calls make functions at each call, which would be traced again.
                once = how.inside or how.quick or kind == "none" or name.startswith("array.")
                inside = {} if once else workers["stagec"].ask([name, kind, case._replace(inside=True), False])
                yield {**row, "jit": inside.get("steady"), **replies}
                break
    for worker in workers.values():
        worker.close()


def main(given: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks outside")
    parser.add_argument("names", nargs="*", help="parts of the names to measure")
    shape = lambda text: tuple(map(int, text.split("x")))  # noqa: E731
    parser.add_argument("--size", type=shape, action="append", help="the number of elements, or a shape: 7x100003")
    parser.add_argument("--dtype", action="append", help="of the arrays: float32 unless told; all takes each in turn")
    parser.add_argument("--form", choices=(*FORMS, "all"), action="append", help="how arrays are handed over")
    parser.add_argument("--inside", action="store_true", help="measure the jitted functions")
    parser.add_argument("--quick", action="store_true", help="two short turns, later calls alone")
    parser.add_argument("--memory", action="store_true", help="count the pages that calls keep and take")
    parser.add_argument("--repeat", type=int, help="turns of each function")
    parser.add_argument("--above", type=float, default=0.0, help="print rows whose steady ratio is above this")
    parser.add_argument("--json", action="store_true", help="print a row a line, as it is measured")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.serve:
        answer(options.serve)
        return
    dtypes, forms = options.dtype or ["float32"], options.form or ["array"]
    dtypes, forms = DTYPES if "all" in dtypes else dtypes, tuple(FORMS) if "all" in forms else forms
    found: list[dict[str, Any]] = []
    for dtype, form in itertools.product(dtypes, forms):
        case = Case((), dtype, form, options.inside, options.quick)
        repeat = options.repeat or (2 if options.quick else 3)
        for row in rows(options.names, options.size or SIZES, case, repeat, options.memory):
            found.append(row)
            if options.json:
                print(json.dumps(row), flush=True)
    if not options.json:
        Console(width=170).print(table(found, options.above))


def table(found: Sequence[dict[str, Any]], above: float) -> Table:
    """Ratios, those of the slowest first, and their geometric means by size, dtype and form."""
    title = "stagec's time over JAX's (below 1: stagec is faster)"
    out = Table(title=title)
    shown = ("function", "arguments", "elements", "steady", "first call", "over jit", "stagec us", "over float32")
    for name in (*shown, "kept", "faults"):
        out.add_column(name, justify="left" if name in ("function", "arguments") else "right")
    good = [r for r in found if "error" not in r]
    ratio = lambda r, kind: r["stagec"][kind] / r["jax"][kind]  # noqa: E731
    given = lambda r: f"{r['kind']}, {r['dtype']}, {r['form']}"  # noqa: E731
    plain = {(r["name"], r["kind"], r["size"]): r for r in good if (r["dtype"], r["form"]) == ("float32", "array")}
    for row in sorted(good, key=lambda r: -ratio(r, "steady")):
        if ratio(row, "steady") >= above:
            seconds = row["stagec"]["steady"]
            base = plain.get((row["name"], row["kind"], row["size"]))
            cells = (f"{ratio(row, 'steady'):.2f}", f"{ratio(row, 'first'):.3f}")
            cells += (f"{seconds / row['jit']:.2f}" if row["jit"] else "", f"{seconds * 1e6:.4g}")
            cells += (f"{seconds / base['stagec']['steady']:.2f}" if base else "",)
            cells += tuple(" ".join(f"{row[n].get(k, '')}" for n in LIBRARIES) for k in ("kept", "faults"))
            out.add_row(row["name"], given(row), row["size"], *cells)
    out.add_section()
    group = lambda r: (r["size"], r["dtype"], r["form"])  # noqa: E731
    for size, dtype, form in dict.fromkeys(map(group, good)):
        chosen = [r for r in good if group(r) == (size, dtype, form)]
        steady, first = ([ratio(r, kind) for r in chosen] for kind in ("steady", "first"))
        slow = f"{sum(s > 1.5 for s in steady)} above 1.5, {sum(s > 10 for s in steady)} above 10"
        means = (f"{geometric_mean(steady):.2f}", f"{geometric_mean(first):.3f}")
        out.add_row("geometric mean", f"{dtype}, {form}: {len(chosen)} functions; {slow}", size, *means)
    for row in found:
        if "error" in row:
            out.add_row(row["name"], f"{given(row)}: {row['error']}", row["size"])
    return out


if __name__ == "__main__":
    main(sys.argv[1:])
