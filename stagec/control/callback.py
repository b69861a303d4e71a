"""Python functions inside compiled programs: `pure_callback`, `io_callback`, `debug_callback`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, overload

import numpy as np

from stagec.core import dtypes, errors, location, pytree
from stagec.core.array import Array
from stagec.core.aval import ShapedArray
from stagec.core.functions import check_callable
from stagec.core.host import HostCallback
from stagec.primitives.callback import debug_callback_p, io_callback_p, pure_callback_p
from stagec.primitives.operand import Operand, as_operand, aval_of

_VMAP_METHODS = (None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


class Described(Protocol):
    """The shape and dtype of a result, as a `ShapeDtypeStruct` has them."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...


@overload
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Described,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Array: ...
@overload
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any: ...
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function without side effects, inside compiled programs too.

    A call whose results nobody uses may be left out.

    Args:
      callback: takes `args` and `kwargs` with arrays as leaves, and returns
        arrays as `result_shape_dtypes` says: of NumPy, of stagec, or numbers.
      result_shape_dtypes: pytree whose leaves have `shape` and `dtype`.
      args, kwargs: pytrees of arrays and numbers.
      sharding: None; arrays are on one device.
      vmap_method: what `vmap` does with the call.

    Returns:
      The function's results, as a pytree like `result_shape_dtypes`.

    Raises:
      CallbackError: when the program runs; the function returned other shapes or dtypes.
      ArgumentTypeError: an argument is not an array.

    An exception of the function is raised where the program was called.

    >>> import numpy, stagec, stagec.numpy as snp
    >>> @stagec.jit
    ... def interpolated(x):
    ...     y = stagec.pure_callback(lambda v: numpy.interp(v, [0, 1], [5, 7]), x, x)
    ...     return y * 10
    >>> interpolated(snp.array([0.0, 0.5]))
    Array([50., 60.], dtype=float32)
    """
    check_callable("pure_callback", "stagec.pure_callback(f, result, x)", callback)
    if vmap_method not in _VMAP_METHODS:
        known = ", ".join(map(repr, _VMAP_METHODS))
        what = f"pure_callback: vmap_method={vmap_method!r}"
        raise location.error(ValueError, what, fix=f"use one of {known}")
    return _call("pure_callback", callback, result_shape_dtypes, args, kwargs, sharding, vmap_method=vmap_method)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function that has side effects, inside compiled programs too.

    It is called each time that the program gets there, whether its results
    are used or not.

    Args:
      callback, result_shape_dtypes, args, sharding, kwargs: as `pure_callback`
        takes them; `result_shape_dtypes` is None for a function without results.
      ordered: accepted; calls always happen in the order of the program.

    Raises:
      CallbackError: when the program runs; the function returned other shapes or dtypes.
      ArgumentTypeError: an argument is not an array.

    >>> import numpy, stagec
    >>> from stagec.experimental import io_callback
    >>> generator = numpy.random.default_rng(0)
    >>> @stagec.jit
    ... def noisy(x):
    ...     return x + io_callback(lambda: generator.integers(100), stagec.ShapeDtypeStruct((), "int32"))
    >>> noisy(1), noisy(1)
    (Array(86, dtype=int32), Array(64, dtype=int32))
    """
    return _call("io_callback", callback, result_shape_dtypes, args, kwargs, sharding, ordered=bool(ordered))


_ROWS = {"pure_callback": pure_callback_p, "io_callback": io_callback_p}


def _call(
    name: str,
    function: Callable[..., Any],
    result: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sharding: None,
    **params: Any,
) -> Any:
    if sharding is not None:
        raise location.error(
            errors.UnsupportedError,
            f"{name}: sharding={sharding!r}",
            fix="leave sharding out; arrays are on one device",
        )
    promised, out_tree = pytree.flatten_with_path(result)
    avals = tuple([_promised(name, leaf, path) for path, leaf in promised])
    found, in_tree = pytree.flatten_with_path((args, kwargs))
    operands = [as_operand(leaf, f"{name}: {_argument(path)}") for path, leaf in found]
    callback = HostCallback(name, function, [aval_of(o) for o in operands], in_tree, avals)
    return out_tree.unflatten(_ROWS[name](*operands, callback=callback, result_avals=avals, **params))


def _promised(name: str, leaf: Any, path: pytree.Path) -> ShapedArray:
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if shape is None or dtype is None:
        raise location.error(
            errors.ArgumentTypeError,
            f"{name}: a leaf of result_shape_dtypes has no shape and dtype",
            [(f"result_shape_dtypes{pytree.keystr(path)}", errors.brief(leaf), errors.a_kind(type(leaf)))],
            "give stagec.ShapeDtypeStruct(shape, dtype)",
        )
    return ShapedArray.of(tuple(shape), dtypes.canonicalize(dtype))


def _argument(path: pytree.Path) -> str:
    return ("kwargs" if pytree.keystr(path[:1]) == "[1]" else "args") + pytree.keystr(path[1:])


def debug_callback(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], ordered: bool) -> None:
    """Call a function whose results are ignored; leaves that are not arrays are passed to it unchanged."""
    leaves, tree = pytree.flatten((args, kwargs))
    given = [_traced(leaf) for leaf in leaves]
    operands = [o for o in given if o is not None]
    # Only the positions of traced leaves are kept, not the tracers.
    fixed = {i: leaf for i, (leaf, o) in enumerate(zip(leaves, given)) if o is None}

    def call(*arrays: Any) -> None:
        traced = iter(arrays)
        values = [fixed[i] if i in fixed else next(traced) for i in range(tree.num_leaves)]
        args, kwargs = tree.unflatten(values)
        function(*args, **kwargs)

    call.__name__ = getattr(function, "__name__", type(function).__name__)
    in_tree = pytree.structure((tuple(range(len(operands))), {}))
    callback = HostCallback("debug.callback", call, [aval_of(o) for o in operands], in_tree, None)
    debug_callback_p(*operands, callback=callback, result_avals=(), ordered=bool(ordered))


def _traced(leaf: Any) -> Operand | None:
    """The leaf as an operand; None if it is known, and need not go through the program."""
    if type(leaf) in (bool, int, float, complex):
        return None
    try:
        return as_operand(leaf)
    except (errors.ArgumentTypeError, errors.DtypeError, OverflowError):
        return None
