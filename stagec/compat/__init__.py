"""Run code that says `import jax` on stagec.

    with stagec.compat.jax():
        import optax

Inside the block, `jax` and its modules are stagec's. `install()` leaves them in place for the rest of the process,
which libraries need that import modules of JAX when a function runs.

`python -m stagec.compat script.py` and `pytest -p stagec.compat.plugin` install it for a program and for tests that are
not edited.

What stagec lacks raises an error that names it: `MissingNameError` for a name, `ModuleNotFoundError` for a module.
docs/reference/missing.md lists both.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType

from stagec.compat import options
from stagec.compat.modules import VERSION, Finder, alias
from stagec.core import location
from stagec.core.boundary import publish as _publish
from stagec.numpy import namespace

__all__ = ["VERSION", "install", "installed", "jax", "uninstall"]

_finder = Finder()


def _own() -> dict[str, ModuleType]:
    """The modules under JAX's names that are loaded now."""
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] in ("jax", "jaxlib")}


@contextlib.contextmanager
def jax() -> Iterator[None]:
    """Let `import jax` mean stagec in a block.

    Modules that are imported in the block keep stagec's modules. JAX itself, installed or imported, is not changed:
    after the block, `import jax` means JAX again.

    >>> import stagec
    >>> with stagec.compat.jax():
    ...     import jax.numpy as jnp
    >>> jnp.arange(3) * 2
    Array([0, 2, 4], dtype=int32)
    """
    if installed():
        yield
        return
    saved = _own()
    for name in saved:
        del sys.modules[name]
    sys.meta_path.insert(0, _finder)
    try:
        yield
    finally:
        sys.meta_path.remove(_finder)
        for name in _own():
            del sys.modules[name]
        sys.modules.update(saved)


def install() -> None:
    """Let `import jax` mean stagec from here on.

    JAX's environment variables, such as `JAX_ENABLE_X64`, set its options.

    Raises:
      ImportError: JAX itself has been imported, and its users would mix both.

    >>> import stagec
    >>> stagec.compat.install()
    >>> import jax
    >>> jax.jit is stagec.jit
    True
    >>> stagec.compat.uninstall()
    """
    if installed():
        return
    loaded = [name for name in ("jax", "jaxlib") if name in sys.modules]
    if loaded:
        raise location.error(
            ImportError,
            "stagec.compat.install: JAX itself is imported already",
            [(name, str(getattr(sys.modules[name], "__file__", "")), "") for name in loaded],
            "call install before anything imports JAX, or import in a block of `with stagec.compat.jax():`",
        )
    options.config.read_environment()
    sys.meta_path.insert(0, _finder)
    namespace.spoken = alias("jax.numpy")


def uninstall() -> None:
    """Let `import jax` mean JAX again. Modules that were imported keep stagec's modules."""
    if not installed():
        return
    sys.meta_path.remove(_finder)
    namespace.spoken = None
    for name in _own():
        del sys.modules[name]


def installed() -> bool:
    """Whether `import jax` means stagec now."""
    return _finder in sys.meta_path


_publish(globals())
