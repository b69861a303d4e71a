"""The assumptions that `fast_math` grants to the passes, by LLVM's names for them."""

from __future__ import annotations

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

_SWITCHES = {"": False, **dict.fromkeys(("0", "false", "no", "off"), False)}
_SWITCHES.update(dict.fromkeys(("1", "true", "yes", "on"), True))

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
    try:
        names = frozenset(word.strip() for word in words) - {""}
    except (AttributeError, TypeError):
        fix = f"give True, False, or names of {', '.join(FLAGS)}"
        raise PipelineError(message(f"fast_math: {granted!r} is not a setting", fix=fix)) from None
    for name in sorted(names - set(FLAGS)):
        fix = f"choose from {', '.join(FLAGS)}, or True for all"
        raise PipelineError(message(f"fast_math: there is no assumption named {name!r}", fix=fix))
    return names


def setting(given: FastMath) -> bool | str:
    """The canonical form of a setting of `fast_math`: True, False, or names in alphabetical order.

    >>> setting({"nsz", "nnan"}), setting("1"), setting("off"), setting(()), setting(tuple(FLAGS))
    ('nnan,nsz', True, False, False, True)
    """
    if isinstance(given, str) and given.strip().lower() in _SWITCHES:
        return _SWITCHES[given.strip().lower()]
    granted = flags(given)
    return len(granted) == len(FLAGS) or (bool(granted) and ",".join(sorted(granted)))
