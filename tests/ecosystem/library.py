"""A library, as the script that runs its tests knows it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Library:
    """A library: its requirement, what to import, where its source distribution has tests, and a short program.

    `omit` gives for each file or folder of tests that is left out the reason. With `examples`, those in docstrings are
    the tests. `part` is the name of what is run, where it is a part of the library. `select` is an expression for the
    option `-k` of pytest. `reasons` says, without backquotes, why tests fail on stagec whose names begin as its keys.
    """

    requirement: str
    module: str
    quickstart: str
    tests: tuple[str, ...] = ()
    omit: dict[str, str] = dataclasses.field(default_factory=dict)
    needs: tuple[str, ...] = ()
    variables: dict[str, str] = dataclasses.field(default_factory=dict)
    examples: bool = False
    part: str = ""
    select: str = ""
    reasons: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.part or self.distribution

    @property
    def distribution(self) -> str:
        return self.requirement.partition("==")[0]

    @property
    def version(self) -> str:
        return self.requirement.partition("==")[2]
