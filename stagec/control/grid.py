"""How arrays are divided into parts along names, such as those of a mesh's axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


class Grid:
    """The parts into which arrays are divided, along one name or several.

    Attributes:
      counts: how many there are along each name.
    """

    def __init__(self, counts: Mapping[Any, int]) -> None:
        self.counts = counts

    @property
    def names(self) -> tuple[Any, ...]:
        """The names, in their order."""
        return tuple(self.counts)

    def spanning(self, names: Sequence[Any]) -> tuple[Any, ...]:
        """Those of an axis's names that divide it."""
        return tuple([n for n in names if self.counts.get(n, 1) > 1])

    def parts(self, names: Sequence[Any]) -> int:
        """Into how many parts names divide an axis."""
        return math.prod([self.counts[n] for n in names])
