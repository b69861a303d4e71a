"""Calls of Python functions: `pure_callback`, `io_callback`, `debug_callback`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import state
from stagec.core.graph import Literal
from stagec.core.host import HostCallback
from stagec.core.primitive import NOT_LINEAR, MissingRule, MultiplePrimitive, Primitive
from stagec.core.trace import current
from stagec.primitives.broadcast import moveaxis_to_front
from stagec.primitives.checks import check_dtype
from stagec.primitives.convert import as_array
from stagec.primitives.operand import aval_of


def _shape(*avals: ShapedArray, result_avals: tuple[ShapedArray, ...], **params: Any) -> list[ShapedArray]:
    for aval in (*avals, *result_avals):
        check_dtype("a callback", aval.dtype, dtypes.ELEMENTS)
    return list(result_avals)


def _eval(*arrays: Any, callback: HostCallback, **params: Any) -> list[np.ndarray[Any, Any]]:
    with current(None):
        leaves = [_array(x, a) for x, a in zip(arrays, callback.in_avals, strict=True)]
    # Evaluation turns NumPy's warnings off; the user's function runs with NumPy's default setting.
    with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        return [np.array(r) for r in callback(leaves)]


def _array(value: Any, aval: ShapedArray) -> Any:
    """A private copy, as what runs outside of programs makes arrays."""
    copy = np.array(value)
    copy.flags.writeable = False
    return as_array(Literal(copy, aval))


def _lower(cx: Any, *values: Any, callback: HostCallback, **params: Any) -> Any:
    return cx.call_host(callback, values)


def _batched_avals(avals: Sequence[ShapedArray], size: int) -> tuple[ShapedArray, ...]:
    return tuple([a.update(shape=(size, *a.shape)) for a in avals])


def _call_batched(
    row: Primitive, callback: HostCallback, args: Sequence[Any], size: int, params: dict[str, Any]
) -> Any:
    """A call on a whole batch."""
    results = _batched_avals(params["result_avals"], size)
    return row(*args, **{**params, "callback": callback, "result_avals": results}), [0] * len(results)


def _of_batch(
    callback: HostCallback, function: Callable[..., Any], args: Sequence[Any], tree: pytree.PyTreeDef, size: int
) -> HostCallback:
    results = None if callback.out_avals is None else _batched_avals(callback.out_avals, size)
    made = HostCallback(callback.name, function, [aval_of(a) for a in args], tree, results)
    made.location = callback.location
    return made


def _sequential(row: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    """The user's function, called for one element of the batch after the other."""
    callback: HostCallback = params["callback"]
    moved = [moveaxis_to_front(a, d) for a, d in zip(args, dims)]

    def calls(*leaves: Any) -> Any:
        # The function gets private copies of its elements, as it does without a batch.
        values = [np.asarray(x) for x in leaves]
        found = []
        for i in range(size):
            elements = [v if d is None else v[i] for v, d in zip(values, dims)]
            with current(None):
                given = [_array(x, a) for x, a in zip(elements, callback.in_avals, strict=True)]
            found.append(callback(given))
        shapes = callback.out_avals or ()
        return [np.stack([f[k] for f in found]) if size else np.zeros((0, *a.shape)) for k, a in enumerate(shapes)]

    calls.__name__ = repr(callback)
    tree = pytree.structure((tuple(range(len(args))), {}))
    return _call_batched(row, _of_batch(callback, calls, moved, tree, size), moved, size, params)


def _is_of_devices(size: Any) -> bool:
    """Whether a batch is of the devices that a `shard_map` maps, which call functions one after the other."""
    return state.mesh is not None and getattr(size, "name", None) in state.mesh.manual_axes


def _pure_batch(row: Primitive, args: Any, dims: Any, size: Any, params: dict[str, Any]) -> Any:
    method, callback = params["vmap_method"], params["callback"]
    if (method is None and _is_of_devices(size)) or method in ("sequential", "sequential_unrolled"):
        return _sequential(row, args, dims, size, params)
    if method in ("expand_dims", "broadcast_all"):
        repeated = size if method == "broadcast_all" else 1
        moved = [moveaxis_to_front(a, d, repeated) for a, d in zip(args, dims)]
    elif method == "legacy_vectorized":
        moved = [moveaxis_to_front(a, d) for a, d in zip(args, dims)]
    else:
        raise location.error(
            errors.UnsupportedError,
            f"vmap is only supported for the pure_callback primitive with a vmap_method, got vmap_method={method!r}",
            fix="say how to call the function, with vmap_method='sequential', or 'expand_dims' or 'broadcast_all' "
            "if it takes arrays with more leading axes",
        )
    return _call_batched(
        row, _of_batch(callback, callback.function, moved, callback.in_tree, size), moved, size, params
    )


def _io_batch(row: Primitive, args: Any, dims: Any, size: int, params: dict[str, Any]) -> Any:
    if params["ordered"] and not _is_of_devices(size):
        raise location.error(
            errors.UnsupportedError,
            "cannot vmap an ordered io_callback: a batch has no order",
            fix="leave out ordered=True, or go through the elements with stagec.lax.map",
        )
    return _sequential(row, args, dims, size, params)


def _debug_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
    # It sees the values, and has no results.
    return primitive(*primals, **params), []


_NO_DERIVATIVE = MissingRule(
    "what a Python function computes is not known",
    "decorate the function around the call with stagec.custom_jvp and give it a derivative with defjvp, or with "
    "stagec.custom_vjp and defvjp; with stagec.lax.stop_gradient around the arguments the derivative is zero",
)


def _row(name: str, effects: bool, jvp: Any, batch: Any) -> MultiplePrimitive:
    return MultiplePrimitive(
        name,
        shape=_shape,
        eval=_eval,
        lower=_lower,
        jvp=jvp,
        transpose=NOT_LINEAR,
        batch=batch,
        effects=effects,
    )


# Parameters: `callback`, `result_avals`; `vmap_method` of the first, `ordered` of the others.
pure_callback_p = _row("pure_callback", False, _NO_DERIVATIVE, _pure_batch)
io_callback_p = _row("io_callback", True, _NO_DERIVATIVE, _io_batch)
debug_callback_p = _row("debug_callback", True, _debug_jvp, _sequential)
