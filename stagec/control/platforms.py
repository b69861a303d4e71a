"""`platform_dependent`: code selected by the target; `composite`: a call that keeps its name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stagec.control import bodies
from stagec.control.call import jit_p
from stagec.control.cond import choose
from stagec.core import dtypes, errors, location
from stagec.core.aval import ShapedArray
from stagec.core.callables import R
from stagec.core.primitive import NO_OPERANDS, SinglePrimitive
from stagec.primitives.operand import aval_of

__all__ = ["composite", "platform_dependent"]


def _index(platform: str, platforms: tuple[str, ...], default: bool) -> int:
    if platform in platforms:
        return platforms.index(platform)
    if default:
        return len(platforms)
    raise location.error(
        errors.UnsupportedError,
        f"platform_dependent: the program is for {platform}, and there are functions for {', '.join(platforms)} only",
        fix=f"give a function for {platform}=, or one for default=",
    )


def _shape(*, platforms: tuple[str, ...], default: bool) -> ShapedArray:
    return ShapedArray.of((), dtypes.int32)


def _eval(*, platforms: tuple[str, ...], default: bool) -> Any:
    # Outside of programs, NumPy computes for all devices.
    return np.asarray(_index("cpu", platforms, default), np.int32)


def _lower(cx: Any, *, platforms: tuple[str, ...], default: bool) -> Any:
    return cx.constant(_index(cx.backend.name, platforms, default), cx.out_avals[0])


platform_index_p = SinglePrimitive(
    "platform_index",
    shape=_shape,
    eval=_eval,
    lower=_lower,
    jvp=NO_OPERANDS,
    transpose=NO_OPERANDS,
    batch=NO_OPERANDS,
)


def platform_dependent(*args: Any, default: Callable[..., R] | None = None, **per_platform: Callable[..., R]) -> R:
    """The result of the function for the platform that the program is compiled for.

    All functions are traced; the other ones are dropped when the program is lowered. Outside of `jit`, NumPy
    computes, and the platform is `cpu`.

    Args:
      args: pytrees.
      default: for the platforms that are not named.
      per_platform: functions for `cpu`, `vulkan`, `rocm` and `cuda`. Other platforms of JAX may be named, and are never
        chosen.

    Raises:
      UnsupportedError: there is no function for the platform.
      ShapeError, DtypeError, PytreeError: the functions return different types.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> @stagec.jit
    ... def f(x):
    ...     return lax.platform_dependent(x, cpu=snp.sin, tpu=snp.cos, default=snp.tan)
    >>> float(f(0.0))
    0.0
    """
    functions = [*per_platform.values(), *([default] if default is not None else [])]
    wrong = [errors.brief(f) for f in functions if not callable(f)] if functions else ["no function"]
    if wrong:
        raise location.error(
            TypeError,
            "platform_dependent takes functions by the names of platforms",
            [("got", wrong[0], "")],
            "pass them by name, as in stagec.lax.platform_dependent(x, cpu=f, default=g)",
        )
    index = platform_index_p(platforms=tuple(per_platform), default=default is not None)
    return choose("platform_dependent", index, functions, args)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """`decomposition` as one step of the graph, under a name.

    No compiler here knows an operation by that name: the decomposition is what runs.

    Args:
      decomposition: a function of pytrees; keyword arguments are Python values.
      name: of the step.
      version: accepted for JAX's sake.

    >>> import stagec, stagec.numpy as snp
    >>> from stagec import lax
    >>> tangent = lax.composite(lambda x: snp.sin(x) / snp.cos(x), name="my.tangent")
    >>> [e.params["name"] for e in stagec.make_graph(tangent)(1.0).eqns]
    ['my.tangent']
    """

    @functools.wraps(decomposition)
    def call(*args: Any, **kwargs: Any) -> Any:
        flat, trees = [], []
        for i, arg in enumerate(args):
            leaves, tree = bodies.flatten(arg, f"{name}: argument {i}")
            flat += leaves
            trees.append(tree)
        body = bodies.record(functools.partial(decomposition, **kwargs), trees, [aval_of(v) for v in flat])
        return body.out_tree.unflatten(jit_p(*body.captured, *flat, name=name, graph=body.graph))

    return call
