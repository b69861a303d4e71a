"""`pjit`: `jit` whose calls have the devices of the mesh that `with mesh:` enters."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from stagec.api.jit import JitFunction, jit
from stagec.core import pytree
from stagec.core.boundary import publish as _publish
from stagec.core.config import state
from stagec.core.wrapping import wraps
from stagec.lax.tokens import with_sharding_constraint
from stagec.numpy.arguments import OUT_SHARDINGS, constrained
from stagec.runtime.mesh import Mesh, PartitionSpec, in_force, spread_mesh

__all__ = ["pjit", "with_sharding_constraint"]


class _PjitFunction(JitFunction[..., Any]):
    """A jitted function that counts a mesh that was entered as one of `set_mesh`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _entered():
            return super().__call__(*args, **kwargs)

    def _stage(self, *args: Any) -> Any:
        with _entered():
            return super()._stage(*args)


def _entered() -> contextlib.AbstractContextManager[None]:
    mesh = state.mesh
    is_new = state.trace is None and isinstance(mesh, Mesh) and spread_mesh() is None and not mesh.manual_axes
    return in_force(mesh) if is_new else contextlib.nullcontext()


def _whole(fun: Any, out_shardings: Any) -> Any:
    """A function whose results are whole, where that is said by None, under a mesh that was entered."""

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = fun(*args, **kwargs)
        if not isinstance(spread_mesh(), Mesh):
            return result
        leaves, tree = pytree.flatten(result)
        wanted = pytree.broadcast_prefix(out_shardings, result, is_leaf=lambda s: s is None)
        whole = PartitionSpec()
        return tree.unflatten(
            [constrained(v, whole, OUT_SHARDINGS) if s is None else v for v, s in zip(leaves, wanted)]
        )

    return call


_DEFAULT: Any = object()


def pjit(fun: Any = None, in_shardings: Any = _DEFAULT, out_shardings: Any = _DEFAULT, **options: Any) -> Any:
    """`jit`, for code that enters meshes by `with mesh:`: its results are on all devices of such a mesh.

    Args:
      fun: a function of arrays and pytrees of arrays; without it, the result is a decorator.
      in_shardings, out_shardings: as of `jit`. Where a mesh is entered, None for a result says that it is whole.
      options: as of `jit`.

    Raises:
      DeviceError: arguments are committed to other devices than those of the mesh.

    >>> import numpy as np
    >>> import stagec
    >>> from stagec.sharding import Mesh, PartitionSpec as P
    >>> with Mesh(np.array(stagec.devices("cpu")), "x"):
    ...     pjit(lambda x: x * 2, out_shardings=P("x"))(np.ones(2)).sharding.spec
    P('x',)
    """
    if fun is None:
        return functools.partial(pjit, in_shardings=in_shardings, out_shardings=out_shardings, **options)
    given = None if in_shardings is _DEFAULT else in_shardings
    wanted = None if out_shardings is _DEFAULT else out_shardings
    if out_shardings is not _DEFAULT and None in pytree.flatten(out_shardings, lambda s: s is None)[0]:
        fun = _whole(fun, out_shardings)
    made = jit(fun, in_shardings=given, out_shardings=wanted, **options)
    return _PjitFunction(made._function, made._settings)


_publish(globals())
