"""The backends that programs are compiled for and run on: one file for each.

To add one, write its file and name it here.
"""

from __future__ import annotations

from stagec.backends.cpu import Cpu
from stagec.backends.cuda import Cuda
from stagec.backends.record import REGISTRY, Backend, Target
from stagec.backends.rocm import Rocm
from stagec.backends.vulkan import Vulkan

__all__ = ["BACKENDS", "CPU", "Backend", "Target"]

# In the order in which platforms are tried.
BACKENDS: dict[str, Backend] = {backend.name: backend for backend in (Cpu(), Vulkan(), Rocm(), Cuda())}
REGISTRY.update(BACKENDS)
CPU = BACKENDS["cpu"]
