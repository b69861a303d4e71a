"""How long a call of a program may take, as far as it is known before the call."""

from __future__ import annotations

import enum

# A bounded program whose call has taken no longer keeps the calling thread from then on.
SHORT_SECONDS = 0.002


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
