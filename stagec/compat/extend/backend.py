"""`jax.extend.backend`: the devices of a platform."""

import contextlib

from stagec.core.errors import DeviceError
from stagec.runtime.devices import Client as Backend, default as get_default_device, devices, platforms

__all__ = ["Backend", "backends", "get_backend", "get_default_device"]


# Those that exist whatever is asked for.
_backends = {"cpu": Backend("cpu")}


def backends() -> dict[str, Backend]:
    """The platforms that have devices, by their names."""
    found = {}
    for name in platforms():
        with contextlib.suppress(DeviceError):
            found[name] = Backend(devices(name)[0].platform)
    return found


def get_backend(platform: str | None = None) -> Backend:
    """A platform, by default that of the default device.

    Raises:
      DeviceError: there is no such platform, or it has no device.
    """
    return Backend(devices(platform)[0].platform)
