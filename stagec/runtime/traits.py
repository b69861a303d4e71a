"""What the runtime must know about a compiled module beside its signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stagec.core.duration import Duration
from stagec.runtime.packing import Packing


class Traits(NamedTuple):
    """What the runtime must know about a compiled module; the metadata of stored programs has it, too.

    Attributes:
      driver: the device's queue; programs for any but `local-sync` take fences and run while Python goes on,
        unless they call Python.
      mutated: arguments that it may overwrite.
      packed: the further arguments that it takes: copies of closed-over arrays (`passes.kernels.weights`).
      may_alias: whether a result may be an argument's memory, or another result's.
      anywhere: whether a CPU's program does not rely on an alignment of the arguments' memory beyond that of their
        elements.
      branches: whether it has control flow, so that which results are arguments' memory may vary from call to call.
      duration: how long a call may take.
    """

    driver: str = "local-sync"
    mutated: tuple[int, ...] = ()
    packed: tuple[Packing, ...] = ()
    may_alias: bool = False
    anywhere: bool = False
    branches: bool = False
    duration: Duration = Duration.OPEN

    @classmethod
    def parse(cls, stored: Mapping[str, Any]) -> Traits:
        """The traits among what was stored as JSON."""
        found = {name: stored[name] for name in cls._fields}
        found |= {"mutated": tuple(found["mutated"]), "packed": tuple(map(Packing.parse, found["packed"]))}
        return cls(**found | {"duration": Duration(found["duration"])})

    def stored(self) -> dict[str, Any]:
        """The traits as a JSON value."""
        found = {"mutated": [*self.mutated], "packed": [p._asdict() for p in self.packed]}
        return {**self._asdict(), **found, "duration": self.duration.value}
