"""What `fast_math` lets the passes assume, by the names that LLVM gives it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeAlias

from passes.errors import PipelineError, message

FLAGS = {
    "nnan": "no operand and no result is NaN",
    "ninf": "no operand and no result is infinite",
    "nsz": "the sign of zero does not matter",
    "arcp": "x / y may be x * (1 / y)",
    "contract": "a product and a sum may be rounded together",
    "afn": "a function may be replaced by one that is equal for real numbers",
    "reassoc": "sums and products may be formed in another order, and factors taken out",
}

# True for all, False for none, a name, names with commas between them, or several names.
FastMath: TypeAlias = bool | str | Iterable[str]


def flags(granted: FastMath) -> frozenset[str]:
    """The names that a setting of `fast_math` grants.

    Raises:
      PipelineError: there is no assumption of that name.

    >>> sorted(flags("nnan,nsz")), flags(False), flags(True) == frozenset(FLAGS)
    (['nnan', 'nsz'], frozenset(), True)
    """
    if isinstance(granted, bool):
        return frozenset(FLAGS) if granted else frozenset()
    words = granted.split(",") if isinstance(granted, str) else granted
    names = frozenset(word.strip() for word in words) - {""}
    for name in sorted(names - set(FLAGS)):
        close = difflib.get_close_matches(name, FLAGS, n=1)
        fix = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(FLAGS)}, or True for all"
        raise PipelineError(message(f"fast_math: there is no assumption named {name!r}", fix=fix))
    return names
