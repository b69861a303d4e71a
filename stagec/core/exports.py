"""The names that `dir()` and completion show: those for users, without what a module's own code imports."""

from __future__ import annotations

import types
from typing import Any


def exported(namespace: dict[str, Any], *submodules: str) -> list[str]:
    """The names of a module that users may use: `__all__`, or what is no module, and the submodules named.

    >>> import types
    >>> exported({"sin": len, "_helper": len, "elementary": types, "linalg": types}, "linalg")
    ['linalg', 'sin']
    """
    names = namespace.get("__all__")
    if names is None:
        names = [n for n, value in namespace.items() if n[0] != "_" and not isinstance(value, types.ModuleType)]
    return sorted({*names, *submodules})


def without(instance: Any, *internal: str) -> list[str]:
    """What `dir()` shows of an object whose class has names that other parts of stagec call, and users do not."""
    return sorted(set(object.__dir__(instance)) - set(internal))
