"""Which laws are proven: what `python -m tests.proving` found, as it is kept in `verdicts.txt`."""

from __future__ import annotations

import functools
from pathlib import Path

from passes.patterns import Pattern

FILE = Path(__file__).with_suffix(".txt")
_WORDS = {"proven": "proven", "partly": "proven in part", "tested": "tested"}


@functools.cache
def verdicts() -> dict[str, str]:
    """By the names of the exact laws, `proven`, `partly`, `tested`, or `rank-` and a number."""
    return dict(line.split() for line in FILE.read_text("utf-8").splitlines())


def described(law: Pattern) -> str:
    """What is known of a law in words; empty for one that is not exact, or not of this package.

    >>> from passes.simplify.algebra import xor_itself
    >>> described(xor_itself)
    'proven for all sizes (rank <= 4)'
    """
    is_own = law.fn.__module__.partition(".")[0] == __package__
    word = verdicts().get(law.name, "") if law.exact and is_own else ""
    rank = word.removeprefix("rank-")
    return f"proven for all sizes (rank <= {rank})" if rank != word else _WORDS.get(word, "")
