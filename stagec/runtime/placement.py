"""Where a computation runs: on the device that its data is committed to, else on the default one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from stagec.backends import Target
from stagec.core import errors, location
from stagec.core.config import config, state
from stagec.core.graph import Literal
from stagec.runtime.array import Array, Split, borrow
from stagec.runtime.devices import Device, default
from stagec.runtime.mesh import spread_mesh


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
    mesh = None if state.plain or state.trace is not None else spread_mesh()
    found: tuple[Device, ...] | None = None if mesh is None else tuple(mesh.devices.flat)
    first = -1
    for i, value in enumerate(values):
        if type(value) is Array and value.signature is not value.aval and value.committed:
            signed = value.signature
            devices = signed.sharding.assignment if type(signed) is Split else (signed.device,)
            if found is None:
                found, first = devices, i
                aval = value.aval
            elif devices != found:
                raise location.error(
                    errors.DeviceError,
                    f"Received incompatible devices for {function}: its arguments are committed to different ones",
                    [
                        ("the mesh in force", "", f"on {_shown(found)}")
                        if first < 0
                        else (names(first), aval.long(), f"on {_shown(found)}"),
                        (names(i), value.aval.long(), f"on {_shown(devices)}"),
                    ],
                    f"move one of them: stagec.device_put(x, {value.home.platform!r})"
                    if len(devices) == len(found) == 1
                    else "give both a sharding of one mesh, with stagec.device_put(x, NamedSharding(mesh, spec))",
                )
    return None if found is None else found[0]


def _shown(devices: tuple[Device, ...]) -> str:
    return repr(devices[0]) if len(devices) == 1 else f"{len(devices)} devices, {devices[0]!r} first"


def placement(values: Iterable[Any], function: str, names: Callable[[int], str]) -> tuple[Device, bool]:
    """The device of a computation, and whether its results are committed to it."""
    device = committed_device(values, function, names)
    return (default(), False) if device is None else (device, True)


def placed(value: Any, device: Device) -> Array:
    """An operand as an array on a device."""
    if type(value) is not Array:
        value = borrow(value if isinstance(value, (Literal, np.ndarray)) else np.asarray(value))
    return value if value.home is device.home else value.on(device, False)
