"""`jax.experimental.colocated_python`: Python that runs where devices are, which is this process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stagec.compat.refusals import Absent
from stagec.runtime.devices import Device, devices

__all__ = ["DeviceList", "colocated_cpu_devices", "colocated_python", "colocated_python_class"]

C = TypeVar("C", bound=type)


class DeviceList(Absent):
    """The devices of a sharding, in annotations."""


def colocated_cpu_devices(of: Sequence[Device]) -> tuple[Device, ...]:
    """For each device, the CPU of the process that it belongs to."""
    (cpu, *_) = devices("cpu")
    return tuple([d if d.is_cpu else cpu for d in of])


def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs in Python when it is called, with arrays.

    >>> colocated_python(lambda x: x + 1).specialize(devices=[])(2)
    3
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)

    call.specialize = lambda **specs: call  # type: ignore[attr-defined]
    return call


def colocated_python_class(cls: C) -> C:
    """The class itself, whose instances are in this process."""
    return cls
