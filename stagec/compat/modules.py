"""Modules under JAX's names, whose attributes are those of stagec's modules."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import types
from collections.abc import Sequence
from typing import Any

from stagec.compat import options, sharding
from stagec.compat.refusals import OF_JAX
from stagec.control.custom import custom_jvp_p, custom_vjp_p
from stagec.core import errors, location
from stagec.runtime.array import Array

# The version of JAX whose names and meaning stagec follows.
VERSION = "0.10.2"
# Modules of JAX whose counterparts here, mostly stand-ins, have other names.
_RENAMED = {
    "jax._src": "stagec.compat.internals",
    "jax._src.ad_util": "stagec.compat.ad_util",
    "jax._src.compiler": "stagec.compat.compiler",
    "jax._src.config": "stagec.compat.options",
    "jax._src.core": "stagec.compat.core",
    "jax._src.dispatch": "stagec.compat.dispatch",
    "jax._src.dtypes": "stagec.compat.dtypes",
    "jax._src.traceback_util": "stagec.compat.traceback_util",
    "jax.core": "stagec.compat.core",
    "jax.experimental.checkify": "stagec.compat.checkify",
    "jax.experimental.layout": "stagec.compat.layout",
    "jax.export": "stagec.compat.export",
    "jax.extend": "stagec.compat.extend",
    "jax.extend.core": "stagec.compat.extend.core",
    "jax.extend.linear_util": "stagec.compat.extend.linear_util",
    "jax.extend.source_info_util": "stagec.compat.extend.source_info_util",
    "jax.interpreters": "stagec.compat.interpreters",
    "jax.interpreters.ad": "stagec.compat.interpreters.ad",
    "jax.interpreters.batching": "stagec.compat.interpreters.batching",
    "jax.interpreters.mlir": "stagec.compat.interpreters.mlir",
    "jax.interpreters.partial_eval": "stagec.compat.interpreters.partial_eval",
    "jax.sharding": "stagec.compat.sharding",
    "jax.stages": "stagec.compat.stages",
}

# Attributes of JAX's modules that stagec's modules lack.
_EXTRA: dict[str, dict[str, Any]] = {
    "jax": {
        "__version__": VERSION,
        "__version_info__": tuple(map(int, VERSION.split("."))),
        "NamedSharding": sharding.NamedSharding,
        "P": sharding.PartitionSpec,
        "config": options.config,
        **options.OF_JAX,
        **OF_JAX,
    },
    "jax.custom_derivatives": {"custom_jvp_call_p": custom_jvp_p, "custom_vjp_call_p": custom_vjp_p},
    "jax.numpy": {"ndarray": Array},
}


class Alias(types.ModuleType):
    """A module with the name of one of JAX's, and the attributes of one of stagec's."""

    def __init__(self, name: str, target: types.ModuleType) -> None:
        super().__init__(name, target.__doc__)
        self.__dict__["_target"] = target
        self.__dict__.update(_EXTRA.get(name, {}))

    def __getattr__(self, name: str) -> Any:
        # Not by an import: after the block of `stagec.compat.jax`, that would find JAX.
        own = f"{self.__name__}.{name}"
        if not name.startswith("_") and own in _RENAMED:
            value: Any = alias(own)
        else:
            value = getattr(self._target, name)
            if isinstance(value, types.ModuleType) and not name.startswith("_"):
                value = alias(own)
            elif self.__name__ == "jax.random":
                value = _without_sharding(value)
        # Looked up once: the names of stagec's modules do not change.
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return dir(self._target)


def _without_sharding(function: Any) -> Any:
    """Wrap a function of `jax.random` so that it accepts `out_sharding=None`, as JAX's do."""
    if not isinstance(function, types.FunctionType):
        return function

    @functools.wraps(function)
    def call(*args: Any, out_sharding: None = None, **kwargs: Any) -> Any:
        if out_sharding is not None:
            raise location.error(
                errors.UnsupportedError,
                f"jax.random.{function.__name__}: out_sharding={out_sharding!r}",
                fix="leave out_sharding out; an array is on one device",
            )
        return function(*args, **kwargs)

    return call


_aliases: dict[str, Alias] = {}


def alias(name: str) -> Alias:
    """Return the module for a name of JAX's.

    Raises:
      ModuleNotFoundError: stagec has none for it.
    """
    found = _aliases.get(name)
    if found is None:
        found = _aliases.setdefault(name, Alias(name, _module_of_stagec(name)))
    return found


def _module_of_stagec(name: str) -> types.ModuleType:
    """Import the module of stagec for one of JAX."""
    ours = _RENAMED.get(name, f"stagec{name.removeprefix('jax')}")
    try:
        return importlib.import_module(ours)
    except ModuleNotFoundError as missing:
        # A package that a module of stagec needs has a message of its own.
        if missing.name is None or not ours.startswith(missing.name):
            raise
    raise location.error(
        ModuleNotFoundError,
        f"stagec has no module {name}",
        fix="docs/reference/missing.md lists the modules and names of JAX that stagec lacks",
    )


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `jax` and its modules among stagec's."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "jax":
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return alias(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """The attributes are found when they are asked for."""
