"""`jax.extend.backend`: the devices of a platform."""

from __future__ import annotations

from stagec.runtime.device import Device, default as get_default_device, devices

__all__ = ["Backend", "get_backend", "get_default_device"]


class Backend:
    """A platform and its devices."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.platform_version = f"stagec on {platform}"

    def devices(self) -> list[Device]:
        return devices(self.platform)

    local_devices = devices

    def device_count(self) -> int:
        return len(self.devices())

    local_device_count = device_count

    def process_index(self) -> int:
        return 0


# Those that exist whatever is asked for.
_backends = {"cpu": Backend("cpu")}


def get_backend(platform: str | None = None) -> Backend:
    """A platform, by default that of the default device.

    Raises:
      DeviceError: there is no such platform, or it has no device.
    """
    return Backend(devices(platform)[0].platform)
