"""Operations of a program that several devices run at the same time, each on its parts of arrays.

They are StableHLO's collective operations, which the compiler turns into those of NCCL. Each device is a replica, whose
number is its position in the mesh; `groups` has the numbers of those that communicate, in their order. Elements are of
the dtypes that NCCL has, and parts are along the first axis, as in NCCL: for another axis, the compiler transposes, and
fails where only axes of size 1 move. `api/spmd.py` converts and transposes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from stagec.core import errors
from stagec.core.aval import ShapedArray
from stagec.core.primitive import MissingRule, SinglePrimitive

__all__ = [
    "COMMUNICATING", "device_all_gather_p", "device_all_reduce_p", "device_all_to_all_p", "device_number_p",
    "device_permute_p", "device_reduce_scatter_p",
]  # fmt: skip

_COMPILED = MissingRule("only what is compiled for several devices has it")
_COMBINED = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def _eval(*args: Any, **params: Any) -> NoReturn:
    raise errors.UnsupportedError(errors.message("a program of several devices is not evaluated by one process"))


def _row(name: str, shape: Callable[..., ShapedArray], lower: Callable[..., Any]) -> SinglePrimitive:
    return SinglePrimitive(
        name,
        shape=shape,
        eval=_eval,
        lower=lower,
        jvp=_COMPILED,
        transpose=_COMPILED,
        batch=_COMPILED,
    )


def _groups(groups: tuple[tuple[int, ...], ...], **others: str) -> dict[str, str]:
    rows = ", ".join(str(list(group)) for group in groups)
    return {"replica_groups": f"dense<[{rows}]> : tensor<{len(groups)}x{len(groups[0])}xi64>", **others}


def _resized(x: ShapedArray, size: int) -> ShapedArray:
    return x.update(shape=(size, *x.shape[1:])).strip_weak_type()


def _lower_number(cx: Any) -> Any:
    (out,) = cx.out_avals
    number = cx.emit("stablehlo.replica_id", [], avals=[out.update(dtype=np.dtype(np.uint32))])
    return cx.emit("stablehlo.convert", [number])


def _lower_reduce(cx: Any, x: Any, *, operation: str, groups: Any) -> Any:
    region = cx.combining_region(f"stablehlo.{_COMBINED[operation]}", cx.in_avals[0].update(shape=()))
    return cx.emit("stablehlo.all_reduce", [x], _groups(groups), regions=[region])


def _lower_gather(cx: Any, x: Any, *, groups: Any) -> Any:
    attributes = _groups(groups, all_gather_dim="0 : i64")
    return cx.emit("stablehlo.all_gather", [x], attributes)


def _lower_scatter(cx: Any, x: Any, *, groups: Any) -> Any:
    region = cx.combining_region("stablehlo.add", cx.in_avals[0].update(shape=()))
    attributes = _groups(groups, scatter_dimension="0 : i64")
    return cx.emit("stablehlo.reduce_scatter", [x], attributes, regions=[region])


def _lower_to_all(cx: Any, x: Any, *, groups: Any) -> Any:
    axes = {"split_dimension": "0 : i64", "concat_dimension": "0 : i64"}
    return cx.emit("stablehlo.all_to_all", [x], _groups(groups, split_count=f"{len(groups[0])} : i64", **axes))


def _lower_permute(cx: Any, x: Any, *, pairs: tuple[tuple[int, int], ...]) -> Any:
    rows = ", ".join(str(list(pair)) for pair in pairs)
    attributes = {"source_target_pairs": f"dense<[{rows}]> : tensor<{len(pairs)}x2xi64>"}
    return cx.emit("stablehlo.collective_permute", [x], attributes)


# The number of the device that runs the program.
device_number_p = _row("device_number", lambda: ShapedArray.of((), np.dtype(np.int32)), _lower_number)
# The values of a group combined, in each of it.
device_all_reduce_p = _row("device_all_reduce", lambda x, *, operation, groups: x.strip_weak_type(), _lower_reduce)
# The values of a group joined, in each of it.
device_all_gather_p = _row(
    "device_all_gather", lambda x, *, groups: _resized(x, x.shape[0] * len(groups[0])), _lower_gather
)
# The sum of the values of a group, of which each has a part.
device_reduce_scatter_p = _row(
    "device_reduce_scatter", lambda x, *, groups: _resized(x, x.shape[0] // len(groups[0])), _lower_scatter
)
# Each of a group has its part of all values, joined.
device_all_to_all_p = _row("device_all_to_all", lambda x, *, groups: x.strip_weak_type(), _lower_to_all)
# The value of another device, by pairs of a source and a target; zeros where there is no source.
device_permute_p = _row("device_permute", lambda x, *, pairs: x.strip_weak_type(), _lower_permute)

# Those in which a device waits for others.
COMMUNICATING = frozenset(
    {device_all_reduce_p, device_all_gather_p, device_reduce_scatter_p, device_all_to_all_p, device_permute_p}
)
