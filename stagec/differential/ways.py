"""The ways in which a graph can be computed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stagec.api.program import runnable_graph
from stagec.api.settings import JitSettings
from stagec.backends import BACKENDS
from stagec.compiler.build import ProgramOptions
from stagec.core import errors
from stagec.core.graph import Graph
from stagec.runtime import interruptible
from stagec.runtime.devices import Device, cpu, devices, platforms
from stagec.runtime.placement import target_for

# Time limit in seconds of one compile, in all ways except that of `jit`.
SECONDS = 30.0
# From operands to results.
Program = Callable[[Sequence[Any]], list[np.ndarray[Any, Any]]]


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to compute a graph: what it is compiled with, where it runs, and the time limit of a compile."""

    name: str
    options: ProgramOptions
    device: Device
    seconds: float = math.inf

    def program(self, graph: Graph, name: str) -> Program:
        """The compiled program, which may raise `StagecError` when it runs.

        Raises:
          StagecError: it cannot be compiled.
          TimeoutError: that takes too long.
        """
        runnable = runnable_graph(graph, (), self.options, name=name, device=self.device, packs=False)
        if not runnable.trivial:
            # Raise if the compiler refuses the program, which NumPy would run instead.
            interruptible.call(runnable.executable, self.seconds)
        return lambda values: [np.array(result) for result in runnable.run(list(values), True)]


def ways(settings: JitSettings, device: Device | None, graph: Graph) -> Iterator[Way]:
    """The ways that this machine has: as asked for, without laws and kernels, and on each other device."""
    options = settings.options(device, graph)
    here = device or (cpu() if options.target.on.is_host else devices(options.target.backend)[0])
    plain = dataclasses.replace(
        options, passes=(), fast_math=False, simplify=False, kernels=False, straight=False, libraries="never"
    )
    yield Way("compiled", options, here)
    yield Way("compiled without laws and kernels", plain, here, SECONDS)
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
                yield Way(
                    f"compiled for {name}", dataclasses.replace(options, target=target_for(other)), other, SECONDS
                )
