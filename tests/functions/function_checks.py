"""What is checked of one row of the table, for one number."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from function_rows.drawing import Call, Draw
from function_rows.row import Row, found

import stagec
import stagec.numpy as snp
from stagec import tree

FUZZ = int(os.environ.get("STAGEC_FUZZ", "1"))
REFUSED = (TypeError, ValueError, NotImplementedError, IndexError, OverflowError, ZeroDivisionError)
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "complex64": 3e-5}


# The same calls at every run: a new one that fails is for a hunt.
_FIRST = 0 if FUZZ == 1 else int(time.time())


def draws(count: int) -> range:
    return range(_FIRST, _FIRST + count * FUZZ)


class Difference(AssertionError):
    """Two ways to the same result disagree."""


def seeds(row: Row, k: int) -> tuple[int, int]:
    return zlib.crc32(f"{row.name} {k}".encode()), zlib.crc32(f"values {row.name} {k}".encode())


def drawn(row: Row, k: int, wide: bool = False, smooth: bool = False, other: int = 0) -> Call:
    structure, values = seeds(row, k)
    return row.draw(Draw(structure, values + 7919 * other, wide, smooth))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def split(made: Call) -> tuple[list[Any], Callable[[Callable[..., Any], list[Any]], Any]]:
    """The arrays of a call, and how to make the call with others in their place."""
    leaves, structure = tree.flatten((made.args, made.kwargs), is_leaf=lambda v: v is None)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray)]

    def apply(function: Callable[..., Any], arrays: list[Any]) -> Any:
        filled = list(leaves)
        for i, array in zip(places, arrays, strict=True):
            filled[i] = array
        args, kwargs = structure.unflatten(filled)
        return function(*args, **kwargs)

    return [leaves[i] for i in places], apply


def flat(result: Any) -> list[Any]:
    """The arrays of a result, which may be a named tuple, a list, or a dictionary."""
    return [leaf for leaf in tree.leaves(result) if leaf is not None]


def compare(found: Any, expected: Any, row: Row, exact_shape: bool = True, factor: float = 1.0) -> None:
    """Raise where two results differ by more than rounding."""
    found, expected = np.asarray(found), np.asarray(expected)
    if exact_shape and found.shape != expected.shape:
        raise Difference(f"shape {found.shape}, expected {expected.shape}")
    if found.dtype.kind in "biu":
        if expected.dtype.kind in "biu":
            if found.dtype.kind in "iu" and expected.dtype.itemsize > found.dtype.itemsize:
                # NumPy sums in 64 bits; here integers wrap in their own dtype.
                expected = expected.astype(found.dtype)
            same = np.array_equal(found.astype(object), expected.astype(object))
        else:
            same = np.allclose(found.astype(float), expected, rtol=1e-6, atol=1e-6)
        if not same:
            raise Difference(f"{found.tolist()}, expected {expected.tolist()}")
        return
    tolerance = TOLERANCES.get(found.dtype.name, 1e-9) * row.loose * factor
    if found.dtype.kind == "c" or expected.dtype.kind == "c":
        dtype = found.dtype if found.dtype.kind == "c" else np.complex128
        with np.errstate(all="ignore"):
            found, expected = (v.astype(dtype).astype(np.complex128) for v in (found, expected))
        # A complex number with a part that is not finite is compared as a whole: its other part is a matter of style.
        finite = np.isfinite(found) & np.isfinite(expected)
        if not np.array_equal(np.isfinite(found), np.isfinite(expected)):
            raise Difference(f"{found.tolist()}, expected {expected.tolist()}")
        found, expected = np.where(finite, found, 0), np.where(finite, expected, 0)
    else:
        with np.errstate(all="ignore"):
            # What is too large for the dtype of the result is infinite there.
            expected = expected.astype(found.dtype).astype(np.float64)
            found = found.astype(np.float64)
        zeros = (found == 0) & (expected == 0)
        if row.zeros and (zeros & (np.signbit(found) != np.signbit(expected))).any():
            raise Difference(f"{found.tolist()}, expected {expected.tolist()}: zeros of the other sign")
    absolute = tolerance
    if row.scaled:
        finite = expected[np.isfinite(expected)]
        absolute *= max(1.0, float(np.abs(finite).max(initial=0)))
    if not np.allclose(found, expected, rtol=tolerance, atol=absolute, equal_nan=True):
        raise Difference(f"{found.tolist()}, expected {expected.tolist()}")


def same(row: Row, found: Any, expected: Any, made: Call, what: str, dtypes: bool = False, factor: float = 1.0) -> None:
    """Raise unless two results, of which `expected` decides, have the same leaves."""
    if row.invariant is not None:
        found, expected = row.invariant(made, found), row.invariant(made, expected)
    ours, theirs = flat(found), flat(expected)
    try:
        if len(ours) != len(theirs):
            raise Difference(f"{len(ours)} results, expected {len(theirs)}")
        for f, e in zip(ours, theirs):
            if dtypes and np.asarray(f).dtype != np.asarray(e).dtype:
                raise Difference(f"dtype {np.asarray(f).dtype}, expected {np.asarray(e).dtype}")
            compare(f, e, row, factor=factor)
    except Difference as difference:
        raise Difference(f"{row.name}({made}), {what}: {difference}") from None


def by_numpy(alone: bool = True) -> Any:
    """A block in which calls are evaluated, outside of hunts: most of their time goes into compiling each of them."""
    return stagec.disable_jit(alone and FUZZ == 1)


@dataclasses.dataclass
class Outcome:
    """Results outside jit, or that the function refused."""

    value: Any
    refused: Exception | None = None


def evaluated(row: Row, made: Call) -> Outcome:
    arrays, apply = split(made)
    try:
        with quiet():
            return Outcome(apply(row.function(), [snp.asarray(a) for a in arrays]))
    except REFUSED as error:
        return Outcome(None, error)


def check_values(row: Row, k: int, wide: bool) -> bool:
    """Outside jit against the oracle, three times, the third one by a plan. Whether the call was accepted."""
    made = drawn(row, k, wide)
    outcome = evaluated(row, made)
    if outcome.refused is not None:
        return False
    if row.oracle is not None:
        try:
            with quiet():
                expected = row.oracle(*made.args, **made.kwargs)
        except REFUSED:
            return False
        for turn in ("first call", "second call", "third call"):
            same(row, outcome.value, expected, made, f"{turn}, wide={wide}")
            if row.concrete:
                break
            outcome = evaluated(row, made)
    return True


def check_trace(row: Row, k: int, wide: bool) -> None:
    """The traced graph, evaluated, is what the function computes outside jit, in dtypes too."""
    made = drawn(row, k, wide)
    outcome = evaluated(row, made)
    if outcome.refused is not None or row.concrete or row.static:
        return
    arrays, apply = split(made)
    with quiet():
        traced = stagec.jit(lambda *a: apply(row.function(), list(a))).trace(*arrays)._trace
        values = [snp.asarray(a) for a in arrays]
        found = traced.out_tree.unflatten(evaluate(traced, values))
    same(row, found, outcome.value, made, f"traced, wide={wide}", dtypes=True)


def evaluate(traced: Any, values: list[Any]) -> list[Any]:
    from stagec.core.graph import replay

    return [getattr(v, "value", v) for v in replay(traced.graph, [*traced.captured, *values])]


def check_vmap(row: Row, k: int) -> None:
    """`vmap` is a loop."""
    rng = np.random.default_rng(seeds(row, k)[1])
    size = int(rng.integers(1, 4))
    calls = [drawn(row, k, other=i) for i in range(size)]
    if row.concrete or row.static or not row.batched:
        return
    _, apply = split(calls[0])
    columns = list(zip(*(split(c)[0] for c in calls)))
    if not columns:
        return
    mapped = [bool(rng.random() < 0.7) for _ in columns]
    mapped[int(rng.integers(len(mapped)))] = True
    axes = [int(rng.integers(0, c[0].ndim + 1)) if m else None for c, m in zip(columns, mapped)]
    rows = [[c[i] if m else c[0] for c, m in zip(columns, mapped)] for i in range(size)]
    function = lambda *a: apply(row.function(), list(a))  # noqa: E731
    expected = []
    with quiet(), by_numpy():
        for line in rows:
            try:
                expected.append(flat(function(*map(snp.asarray, line))))
            except REFUSED:
                return
    with quiet():
        stacks = [snp.asarray(np.stack(c, d)) if m else c[0] for c, m, d in zip(columns, mapped, axes)]
        found = stagec.vmap(function, in_axes=tuple(axes))(*stacks)
    whole = [np.stack([np.asarray(e[i]) for e in expected]) for i in range(len(expected[0]))]
    if row.invariant is not None:
        for i in range(size):
            part = tree.map(lambda v, i=i: v[i], found)
            base = Call(*_filled(calls[0], rows[i]))
            same(row, part, function(*map(snp.asarray, rows[i])), base, f"vmapped {axes}, row {i}")
        return
    for f, e in zip(flat(found), whole, strict=True):
        try:
            if np.asarray(f).dtype != e.dtype:
                raise Difference(f"dtype {np.asarray(f).dtype}, expected {e.dtype}")
            compare(f, e, row)
        except Difference as difference:
            lines = [str(Call(*_filled(calls[0], line))) for line in rows]
            raise Difference(f"{row.name}, vmapped {axes} over {lines}: {difference}") from None


def _filled(made: Call, arrays: list[Any]) -> tuple[Any, Any]:
    _, apply = split(made)
    return apply(lambda *args, **kwargs: (args, kwargs), arrays)  # type: ignore[no-any-return]


def check_derivative(row: Row, k: int) -> bool | None:
    """jvp against differences, and vjp against jvp. Whether they could be compared; None where all are integers."""
    with stagec.enable_x64():
        made = drawn(row, k, wide=True, smooth=True)
        arrays, apply = split(made)
        rng = np.random.default_rng(seeds(row, k)[1])
        moving = [i for i, a in enumerate(arrays) if a.dtype.kind in "fc" and i not in row.fixed]
        outcome = evaluated(row, made)
        if outcome.refused is not None:
            return False
        if not moving or not any(np.asarray(v).dtype.kind in "fc" for v in flat(outcome.value)):
            return None

        def function(*xs: Any) -> list[Any]:
            filled = list(map(snp.asarray, arrays))
            for i, x in zip(moving, xs):
                filled[i] = x
            result = apply(row.function(), filled)
            if row.invariant is not None:
                result = row.invariant(made, result)
            return [r for r in flat(result) if r.dtype.kind in "fc"]

        def like(a: Any) -> Any:
            real = rng.normal(size=a.shape)
            return real + 1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else real

        points = [arrays[i] for i in moving]
        if row.derivative == "refused":
            try:
                values, pull = stagec.vjp(function, *points)
                pull(values)
            except (stagec.errors.UnsupportedError, stagec.errors.ConcretizationError):
                return True
            raise Difference(f"{row.name}({made}): its derivative is not refused")
        directions = [like(p) for p in points]
        with quiet():
            values, tangents = stagec.jvp(function, tuple(points), tuple(directions))
            if not all(np.isfinite(np.asarray(v)).all() for v in values):
                return False
            h = 1e-6
            up, down = (
                [np.asarray(v) for v in function(*(p + sign * h * d for p, d in zip(points, directions)))]
                for sign in (1, -1)
            )
            for t, u, d in zip(tangents, up, down):
                slope = (u - d) / (2 * h)
                scale = max(1.0, float(np.abs(slope).max(initial=0)))
                if not np.allclose(np.asarray(t), slope, rtol=1e-4 * row.loose, atol=2e-5 * scale * row.loose):
                    raise Difference(
                        f"{row.name}({made}), tangents along {[d.tolist() for d in directions]}: "
                        f"{np.asarray(t).tolist()}, differences give {slope.tolist()}"
                    )
            cotangents = [like(np.asarray(v)) for v in values]
            pulled = stagec.vjp(function, *points)[1]([snp.asarray(c) for c in cotangents])
            one = sum(float(np.sum(np.asarray(p) * d).real) for p, d in zip(pulled, directions))
            two = sum(float(np.sum(c * np.asarray(t)).real) for c, t in zip(cotangents, tangents))
            size = max(1.0, *(float(np.abs(np.asarray(t)).max(initial=0)) for t in tangents))
            if not abs(one - two) <= 1e-8 * size * row.loose * max(1, sum(c.size for c in cotangents)):
                raise Difference(f"{row.name}({made}): cotangents give {one}, tangents {two}")
    return True


def check_dtypes(row: Row, k: int, wide: bool) -> None:
    """Shapes, dtypes and weak types are those of JAX's function, and what it takes is taken."""
    import jax

    made = drawn(row, k, wide)
    arrays, apply = split(made)
    outcome = evaluated(row, made)
    with jax.enable_x64(wide), quiet():
        try:
            function = row.function("jax")
            if row.concrete:
                theirs = apply(function, [jax.numpy.asarray(a) for a in arrays])
            else:
                structs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
                theirs = jax.eval_shape(lambda *a: apply(function, list(a)), *structs)
        except REFUSED:  # of lists and unequal parts, for example, which NumPy takes
            return
    if outcome.refused is not None:
        raise Difference(f"{row.name}({made}), wide={wide}: refused, JAX accepts: {outcome.refused}")
    ours, theirs = flat(outcome.value), [t for t in jax.tree.leaves(theirs) if t is not None]
    if row.static:
        # Numbers of Python are arrays where JAX evaluates shapes.
        ours = [o if hasattr(o, "dtype") else snp.asarray(o) for o in ours]
    mine = [(np.shape(o), np.dtype(o.dtype)) if hasattr(o, "dtype") else type(o) for o in ours]
    other = [(tuple(t.shape), np.dtype(t.dtype)) if hasattr(t, "dtype") else type(t) for t in theirs]
    if mine != other:
        raise Difference(f"{row.name}({made}), wide={wide}: {mine}, JAX has {other}")
    if any(isinstance(v, (bool, int, float, complex)) for v in (*made.args, *made.kwargs.values())):
        return  # what comes of Python's numbers is weak in JAX by and large
    weak = [_is_weak(o) for o in ours]
    if weak != [_is_weak(t) for t in theirs]:
        raise Difference(f"{row.name}({made}), wide={wide}: weak types {weak}, JAX has the others")


def _is_weak(value: Any) -> bool:
    # All other dtypes win over bool, weak or not.
    return bool(getattr(value, "weak_type", False)) and value.dtype != bool


def check_jax(row: Row, k: int, wide: bool) -> bool:
    """Values are JAX's. Whether both accepted the call."""
    import jax

    made = drawn(row, k, wide)
    outcome = evaluated(row, made)
    if outcome.refused is not None:
        return False
    arrays, apply = split(made)
    with jax.enable_x64(wide), quiet():
        try:
            theirs = apply(row.function("jax"), [jax.numpy.asarray(a) for a in arrays])
        except REFUSED:
            return False
        theirs = jax.tree.map(np.asarray, theirs)
        same(row, outcome.value, theirs, made, f"against JAX, wide={wide}", factor=3.0)
    return True


def compilable(row: Row, k: int) -> tuple[Call, Any] | None:
    """A call and its results, where the call is accepted and all arrays have elements."""
    made = drawn(row, k)
    outcome = evaluated(row, made)
    arrays, _ = split(made)
    if outcome.refused is not None or not arrays or not all(np.size(v) for v in [*arrays, *flat(outcome.value)]):
        return None
    return made, outcome.value


def check_compiled(chosen: list[tuple[Row, Call, Any]]) -> None:
    """Calls compiled as one program return what they do outside jit."""
    parts = [split(made) for _, made, _ in chosen]

    @stagec.jit
    def run(groups: list[list[Any]]) -> list[Any]:
        return [apply(row.function(), list(arrays)) for (row, _, _), (_, apply), arrays in zip(chosen, parts, groups)]

    with quiet():
        found = run([arrays for arrays, _ in parts])
    for (row, made, expected), one in zip(chosen, found):
        same(row, one, expected, made, "compiled", dtypes=True, factor=4.0)


@functools.cache
def has_jax(name: str) -> bool:
    try:
        found(f"jax.{name}")
    except (AttributeError, ModuleNotFoundError):
        return False
    return True
