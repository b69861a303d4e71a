"""The division of a kernel's work among workgroups, which is fixed at compile time."""

from __future__ import annotations

from collections.abc import Sequence

from passes.kernels.cost import MAX_WORKGROUPS
from passes.kernels.linear import ZERO, Linear
from passes.kernels.straight.prepared import Prepared

# The least additions of vectors of a workgroup.
SHARE = 20_000


class Shares(Prepared):
    """A group whose work is divided among workgroups."""

    def _workgroups(self, units: int) -> int:
        """The number of workgroups that share some units."""
        wanted = self.work // self.lanes // SHARE
        # A power of two, because the number of cores often is, so that they have equal shares.
        each = -(-units // max(1, min(MAX_WORKGROUPS, 1 << max(0, wanted - 1).bit_length(), units)))
        count = -(-units // each) if units else 1
        if count > 1:
            self.number = self.k.symbols.new(str(self.k.writer.workgroup(0, count)), 0, count - 1)
        return count

    def _part_of(self, units: int, step: int, count: int) -> tuple[Linear, Linear]:
        """The range of the current workgroup's units, each of which is `step` long."""
        if count == 1:
            return ZERO, Linear(units * step)
        return self.code.portion(self.number, count, units, step)

    def _unfolded(self, r: Linear, axes: Sequence[int]) -> dict[int, Linear]:
        at: dict[int, Linear] = {}
        for axis in reversed(axes[1:]):
            r, at[axis] = self.code.divided(r, self.sizes[axis])
        if axes:
            at[axes[0]] = r
        return at
