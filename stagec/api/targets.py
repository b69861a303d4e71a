"""Devices and targets: what a program for a device is compiled for, and moving data to it."""

from __future__ import annotations

from typing import Any

from stagec.backends import Target
from stagec.core import errors, location
from stagec.runtime.devices import Device, devices, find


def device_for(target: Target) -> Device:
    """The device that runs programs for a target."""
    return devices(target.backend)[0]


def chosen_target(target: Any, backend: Any, device: Any) -> tuple[Target | None, Device | None]:
    """What `jit(target=, backend=, device=)` asks for: a target, a device, or neither.

    Raises:
      TargetError, DeviceError: it is not known.
    """
    if sum(x is not None for x in (target, backend, device)) > 1:
        raise location.error(
            errors.TargetError, "jit takes one of target, backend and device", fix="leave all but one out"
        )
    if target is not None:
        return Target.parse(target), None
    if device is None and backend is None:
        return None, None
    asked = device if device is not None else backend
    return None, find(asked)
