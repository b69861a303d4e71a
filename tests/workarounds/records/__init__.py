"""Records of the faults of IREE and of drivers that stagec works around.

Nothing here runs when a program is compiled: a record only names the objects that apply its workaround. `python -m
tests.workarounds` writes the tables of `docs/explanation/iree.md` from the records.
"""

from tests.workarounds.records import amd, control_flow, fusion, graphics, limits, memory, numbers, process
from tests.workarounds.records.record import Program, Script, Symptom, Workaround

__all__ = ["ALL", "Program", "Script", "Symptom", "Workaround"]

ALL: tuple[Workaround, ...] = (
    *memory.WORKAROUNDS,
    *fusion.WORKAROUNDS,
    *control_flow.WORKAROUNDS,
    *numbers.WORKAROUNDS,
    *process.WORKAROUNDS,
    *graphics.WORKAROUNDS,
    *amd.WORKAROUNDS,
    *limits.WORKAROUNDS,
)
