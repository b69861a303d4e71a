"""Features of Vulkan devices that IREE's runtime does not report."""

from __future__ import annotations

import ctypes
import functools
import os

_FEATURE_COUNT = 55  # booleans in VkPhysicalDeviceFeatures
_FLOAT64 = 39  # the index of shaderFloat64 among them
_NAME_OFFSET, _NAME_BYTES = 20, 256  # of deviceName in VkPhysicalDeviceProperties
_PROPERTIES_BYTES = 4096  # more than the structure has
_LIBRARIES = ("vulkan-1.dll",) if os.name == "nt" else ("libvulkan.so.1", "libvulkan.dylib", "libMoltenVK.dylib")


class _InstanceCreateInfo(ctypes.Structure):
    _fields_ = (
        ("sType", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("pApplicationInfo", ctypes.c_void_p),
        ("enabledLayerCount", ctypes.c_uint32),
        ("ppEnabledLayerNames", ctypes.c_void_p),
        ("enabledExtensionCount", ctypes.c_uint32),
        ("ppEnabledExtensionNames", ctypes.c_void_p),
    )


def has_float64(name: str) -> bool:
    """Whether a device computes in float64, by its name, which may be followed by its driver's."""
    return any(has for device, has in _float64().items() if name.startswith(device))


@functools.cache
def _float64() -> dict[str, bool]:
    """Device name -> its shaderFloat64 feature."""
    for library in _LIBRARIES:
        try:
            vulkan = ctypes.CDLL(library)
            break
        except OSError:
            continue
    else:
        return {}
    instance = ctypes.c_void_p()
    info = _InstanceCreateInfo(sType=1)
    if vulkan.vkCreateInstance(ctypes.byref(info), None, ctypes.byref(instance)):
        return {}
    try:
        count = ctypes.c_uint32()
        if vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None):
            return {}
        handles = (ctypes.c_void_p * count.value)()
        if vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles):
            return {}
        found = {}
        for handle in handles[: count.value]:
            features = (ctypes.c_uint32 * _FEATURE_COUNT)()
            properties = ctypes.create_string_buffer(_PROPERTIES_BYTES)
            vulkan.vkGetPhysicalDeviceFeatures(ctypes.c_void_p(handle), features)
            vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(handle), properties)
            name = properties.raw[_NAME_OFFSET : _NAME_OFFSET + _NAME_BYTES].partition(b"\0")[0]
            found[name.decode(errors="replace")] = bool(features[_FLOAT64])
        return found
    finally:
        vulkan.vkDestroyInstance(instance, None)
