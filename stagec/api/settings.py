"""How a jitted function compiles: the arguments of `jit`, and what a compile under them runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from stagec.api.arguments import ArgumentRules
from stagec.api.open_dimensions import OpenDimensions
from stagec.api.program import RunnableGraph, runnable_graph
from stagec.api.targets import device_for
from stagec.api.traces import TracedSignature
from stagec.backends import Target
from stagec.compiler.build import ProgramOptions
from stagec.control.call import is_reproducible
from stagec.core import errors, location
from stagec.core.config import config
from stagec.core.graph import Graph
from stagec.runtime.devices import Device, cpu, default
from stagec.runtime.placement import placement, target_for


def check_compiler_options(options: Mapping[str, Any] | None, function: str) -> None:
    """Refuse what is not a mapping of names of XLA's options."""
    if not isinstance(options, Mapping | None):
        kind = errors.a_kind(type(options))
        raise location.error(
            errors.ArgumentTypeError, f"{function}: compiler_options is {kind}", fix="give a dict, or leave it out"
        )
    for name in options or ():
        if not (isinstance(name, str) and name.startswith("xla_")):
            raise location.error(
                errors.CompileError,
                f"{function}: compiler_options has {errors.brief(name)}, which is no option of XLA",
                fix="leave it out, or correct it: the names of XLA's options begin with xla_",
            )


@dataclasses.dataclass(frozen=True, eq=False)
class JitSettings:
    """The arguments of one `jit`, checked.

    Jitted functions and the stages of their compilation share these, so that neither needs the other's module.

    Attributes:
      rules: which arguments are static or donated.
      keep_unused: programs take the arguments that they do not use.
      inline: a call inside another function becomes the equations of this one.
      target, device: what to compile for, at most one of them; by default, what the arguments and options say.
      fast_math: what inexact rewrites may assume, as `passes.fast_math.setting` writes it; None for the option.
      passes: the user's.
      tiered: whether NumPy evaluates while the compiler works: True, False or "exact"; None for the option.
      dynamic: the dimensions of arguments that are open.
      reproducible: results have the same bits on all processors.
      in_shardings: how arguments are split, as the user says.
    """

    rules: ArgumentRules
    keep_unused: bool = False
    inline: bool = False
    target: Target | None = None
    device: Device | None = None
    fast_math: bool | str | None = None
    passes: tuple[Any, ...] = ()
    tiered: bool | str | None = None
    dynamic: OpenDimensions | None = None
    reproducible: bool = False
    in_shardings: Any = None

    @property
    def of_calls(self) -> dict[str, bool]:
        """Parameters of a call inside another function, besides its name and graph."""
        return {"reproducible": True} if self.reproducible else {}

    def placement(self, trace: TracedSignature, values: list[Any]) -> tuple[Device, bool]:
        """Where a call with these values runs, and whether its results are committed to that device."""
        if self.device is not None:
            return self.device, True
        if self.target is not None:
            return device_for(self.target), True
        hidden = len(trace.captured)
        names = trace.leaf_names
        return placement(
            [*trace.captured, *values],
            trace.name,
            lambda i: f"a value that {trace.name} closes over" if i < hidden else names[i - hidden],
        )

    def followed(self, values: list[Any]) -> list[Any]:
        """The values that say how a call's results are split: with a device of its own, a call has none of these."""
        return values if self.device is None else [None] * len(values)

    def options(self, device: Device | None = None, graph: Graph | None = None) -> ProgramOptions:
        """What a compile for a device, by default the chosen one, depends on now, which a graph may add to."""
        fast_math = config.fast_math if self.fast_math is None else self.fast_math
        target = self.target
        if target is None:
            device = device or self.device or (default() if config.default_device else None)
            target = Target.parse(config.target) if device is None else target_for(device)
        if self.reproducible or config.reproduces() or (graph is not None and is_reproducible(graph)):
            return ProgramOptions(target, fast_math, self.passes, libraries="never", reproducible=True)
        return ProgramOptions(target, fast_math, self.passes)

    def runnable(self, trace: TracedSignature, device: Device | None = None) -> RunnableGraph:
        """The runnable form of a trace under the current options."""
        options = self.options(device, trace.graph)
        if device is None and options.target.on.is_host:
            device = cpu()
        found = trace.runnables.get((options, device))
        if found is None:
            found = trace.runnables.setdefault(
                (options, device),
                runnable_graph(
                    trace.graph,
                    trace.captured,
                    options,
                    name=trace.name,
                    definition=trace.definition,
                    device=device,
                    argument_names=trace.leaf_names,
                    donated=trace.donated,
                    keep_unused=self.keep_unused,
                ),
            )
        return found
