"""How long a call of a program may take, as far as it is known before the call."""

from __future__ import annotations

import enum

# A bounded program whose call has taken no longer keeps the calling thread from then on.
SHORT_SECONDS = 0.002
# For how long a program with a limit may keep the calling thread. What it does in this time may be in vain, while
# another thread would delay a longer call by some percent.
LIMITED_SECONDS = 0.0005


class Duration(str, enum.Enum):
    """What is known of a call's duration.

    The values are stored with compiled programs.
    """

    QUICK = "quick"
    """It returns within tenths of a second, by an estimate."""
    BOUNDED = "bounded"
    """It returns within some seconds; arguments decide little, so that a call tells how long the others take."""
    OPEN = "open"
    """It may take very long, or never end: arguments decide."""
    LIMITED = "limited"
    """The same, but it takes a limit of operations as its last argument, after which it returns."""
