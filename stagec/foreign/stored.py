"""Foreign modules in the disk cache: a process that finds one there imports no compiler to call it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from stagec.api.export import file_of_call
from stagec.api.jit import JitFunction
from stagec.api.load import Loaded, load
from stagec.compiler import cache, key
from stagec.core import errors
from stagec.core.config import config
from stagec.runtime.array import Array
from stagec.runtime.devices import Device
from stagec.runtime.placement import placement

# What a program embeds is stored once more; a module with larger constants is imported at each start.
_LARGEST = 64 << 20
_instances: weakref.WeakSet[StoredModule] = weakref.WeakSet()


class StoredModule:
    """What the disk cache has of a function of a module: a description of its parameters, and its programs.

    Programs are files as `stagec.export` makes them, for the CPU and the options of the call.

    Args:
      content: the module, or the file that it is a part of.
      function: which function of the module.
    """

    def __init__(self, content: bytes, function: str) -> None:
        self._function = function
        self._of = {"foreign module": hashlib.sha256(content).hexdigest(), "function": function}
        # By the types of the arguments; None where the module itself is traced.
        self._programs: dict[Any, Loaded | None] = {}
        # Signatures whose programs may be stored once they have run.
        self._unstored: set[Any] = set()
        _instances.add(self)

    def description(self) -> Any:
        """What `describe` stored; None if there is nothing."""
        store = _readable()
        entry = None if store is None else store.get(key.digest(self._contributors("parameters")))
        return None if entry is None else json.loads(bytes(entry.payload))

    def describe(self, description: Any) -> None:
        """Store what JSON can hold."""
        store = cache.default_cache()
        if store is not None:
            contributors = self._contributors("parameters")
            content = json.dumps(description).encode()
            store.put(key.digest(contributors), contributors, {"name": self._function}, content)

    def program(self, jitted: JitFunction[..., Any], values: Sequence[Any]) -> Loaded | None:
        """The program for a call with these values, if it is stored, and the call only runs it."""
        signature = _signature(values)
        if signature is None:
            return None
        if signature not in self._programs:
            self._programs[signature] = self._found(jitted, values)
            self._unstored.add(signature)
        return self._programs[signature]

    def keep(self, jitted: JitFunction[..., Any], values: Sequence[Any]) -> None:
        """Store the program of a call that has just run, unless it needs more than a file holds."""
        signature = _signature(values)
        if signature not in self._unstored:
            return
        self._unstored.discard(signature)
        store, device = cache.default_cache(), _cpu(values)
        if store is None or device is None or config.tiered:
            return
        contributors = self._contributors_of_call(jitted, values, device)
        with contextlib.suppress(errors.StagecError):
            content = file_of_call(jitted, values, device)
            if len(content) <= min(_LARGEST, store.max_bytes // 8):
                store.put(key.digest(contributors), contributors, {"name": self._function}, content)

    def forget(self) -> None:
        """Forget what was found: an option has changed."""
        self._programs.clear()
        self._unstored.clear()

    def _found(self, jitted: JitFunction[..., Any], values: Sequence[Any]) -> Loaded | None:
        store, device = _readable(), _cpu(values)
        if store is None or device is None:
            return None
        entry = store.get(key.digest(self._contributors_of_call(jitted, values, device)))
        return None if entry is None else load(entry.payload)

    def _contributors(self, kind: str) -> dict[str, str]:
        return {**self._of, "stores": kind, **key.environment_contributors()}

    def _contributors_of_call(
        self, jitted: JitFunction[..., Any], values: Sequence[Any], device: Device
    ) -> dict[str, str]:
        return {
            **self._contributors("program"),
            "arguments": " ".join(f"{v.dtype.name}{list(v.shape)}" for v in values),
            "tracing": repr(config.trace_key()),
            **jitted._settings.options(device).environment(),
        }


def _readable() -> cache.DiskCache | None:
    """The cache, if programs may be read from it: a dump needs a compile."""
    return None if config.dump else cache.default_cache()


def _signature(values: Sequence[Any]) -> Any:
    """The types of arrays, and where they are; None for other values, such as tracers, and for weak types."""
    found: list[Any] = []
    for value in values:
        if type(value) is Array and not value.aval.weak_type:
            found.append(value.signature)
        elif type(value) is np.ndarray or isinstance(value, np.generic):
            found.append((value.shape, value.dtype))
        else:
            return None
    return tuple(found)


def _cpu(values: Sequence[Any]) -> Device | None:
    """The CPU, if a call with these arrays runs a program there, and nothing is traced, evaluated or looked at."""
    if config.disable_jit or config.checks_values():
        return None
    try:
        device, _ = placement(values, "", lambda i: "")
    except errors.StagecError:  # the call itself says what is wrong
        return None
    return device if device.is_cpu else None


def _forget() -> None:
    for module in list(_instances):
        module.forget()


config.on_update(_forget)
