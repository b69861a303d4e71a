"""Functions that JAX has and stagec has not: they can be imported and looked up, and calling them is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from stagec.core import errors, location

ONE_DEVICE = "stagec runs a program on one device"
VMAP = "leave it out, or use stagec.vmap, which maps over an axis"


def refused(name: str, why: str, fix: str) -> Callable[..., NoReturn]:
    """A function that only raises `UnsupportedError`."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise location.error(errors.UnsupportedError, f"{name}: {why}", fix=fix)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises `UnsupportedError`: {why}."
    return function


def pmap(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., NoReturn]:
    """A function that raises `UnsupportedError`: libraries call `pmap` when they are imported."""
    return refused("jax.pmap", ONE_DEVICE, VMAP)


# Of the module `jax` itself.
OF_JAX: dict[str, Callable[..., Any]] = {
    "pmap": pmap,
    **{
        name: refused(f"jax.{name}", ONE_DEVICE, VMAP)
        for name in ("make_mesh", "reshard", "set_mesh", "shard_map", "smap")
    },
}
