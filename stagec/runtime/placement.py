"""Where a computation runs: on the device that its data is committed to, else on the default one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stagec.backends import Target
from stagec.core import errors, location
from stagec.core.config import config
from stagec.core.graph import Literal
from stagec.runtime.array import Array, borrow
from stagec.runtime.device import Device, default


def target_for(device: Device) -> Target:
    """What programs for a device are compiled for: the option `target` if it is for its platform."""
    target = Target.parse(config.target)
    if target.backend == device.platform:
        return target
    return Target.parse(f"{device.platform}:{device.architecture}" if device.architecture else device.platform)


def committed_device(values: Iterable[Any], function: str, names: Callable[[int], str]) -> Device | None:
    """The device that some of the arrays are committed to, or None.

    Args:
      function: what is called, for the error.
      names: position -> what the user calls that value.

    Raises:
      DeviceError: they are committed to different devices.
    """
    found: Device | None = None
    first = 0
    for i, value in enumerate(values):
        if type(value) is Array and value.signature is not value.aval and value.committed:
            if found is None:
                found, first = value.device, i
                aval = value.aval
            elif value.device is not found:
                raise location.error(
                    errors.DeviceError,
                    f"Received incompatible devices for {function}: its arguments are committed to different ones",
                    [
                        (names(first), aval.long(), f"on {found!r}"),
                        (names(i), value.aval.long(), f"on {value.device!r}"),
                    ],
                    f"move one of them: stagec.device_put(x, {value.device.platform!r})",
                )
    return found


def placement(values: Iterable[Any], function: str, names: Callable[[int], str]) -> tuple[Device, bool]:
    """The device of a computation, and whether its results are committed to it."""
    device = committed_device(values, function, names)
    return (default(), False) if device is None else (device, True)


def placed(value: Any, device: Device) -> Array:
    """An operand as an array on a device."""
    if type(value) is not Array:
        value = borrow(value if isinstance(value, (Literal, np.ndarray)) else np.asarray(value))
    return value if value.device is device else value.on(device, False)
