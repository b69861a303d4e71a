"""The ways in which a graph can be computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stagec.api.program import runnable_graph
from stagec.api.settings import JitSettings
from stagec.backends import BACKENDS
from stagec.compiler.build import ProgramOptions
from stagec.core import errors
from stagec.core.graph import Graph
from stagec.runtime.device import Device, cpu, devices, platforms
from stagec.runtime.placement import target_for

# From operands to results.
Program = Callable[[Sequence[Any]], list[np.ndarray[Any, Any]]]


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to compute a graph: what it is compiled with, and where it runs."""

    name: str
    options: ProgramOptions
    device: Device

    def program(self, graph: Graph, name: str) -> Program:
        """The compiled program, which may raise `StagecError` when it runs.

        Raises:
          StagecError: it cannot be compiled.
        """
        runnable = runnable_graph(graph, (), self.options, name=name, device=self.device, packs=False)
        if not runnable.trivial:
            runnable.executable()  # raise if the compiler refuses the program, which NumPy would run instead
        return lambda values: [np.array(result) for result in runnable.run(list(values), True)]


def ways(settings: JitSettings, device: Device | None) -> Iterator[Way]:
    """The ways that this machine has: as asked for, without laws and kernels, and on each other device."""
    options = settings.options(device)
    here = device or (cpu() if options.target.on.is_host else devices(options.target.backend)[0])
    plain = dataclasses.replace(
        options, passes=(), fast_math=False, simplify=False, kernels=False, straight=False, libraries="never"
    )
    yield Way("compiled", options, here)
    yield Way("compiled without laws and kernels", plain, here)
    for platform in BACKENDS:
        if platform not in platforms():
            continue
        try:
            present = devices(platform)
        except errors.DeviceError:
            continue
        for other in present:
            if other is not here:
                name = platform if len(present) == 1 else f"{platform}:{other.id}"
                yield Way(f"compiled for {name}", dataclasses.replace(options, target=target_for(other)), other)
