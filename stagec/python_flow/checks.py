"""`assert` and `raise` that depend on traced values: the program returns the number of the first that fails."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from stagec import numpy as snp
from stagec.core.config import state
from stagec.primitives import references
from stagec.primitives.references import Ref, new_ref


class Session:
    """One trace of a function by `jit(python=True)`."""

    def __init__(self) -> None:
        self.trace = state.trace
        self.exceptions: list[BaseException] = []
        # The numbers of rounds of loops, and how many rounds there are.
        self.rounds: dict[Any, int] = {}
        self.failed: Ref = new_ref(np.int32(0))


class _Local(threading.local):
    session: Session | None = None


local = _Local()


def is_certain() -> bool:
    """Whether what is traced now runs in each call, at least as far as Python knows."""
    return local.session is None or state.trace is local.session.trace


def require(condition: Any, exception: BaseException) -> None:
    """Let the call raise, if a traced condition does not hold and nothing before it failed."""
    session = local.session
    assert session is not None, "operators run in a session"
    session.exceptions.append(exception)
    failed = references.read(session.failed)
    number = len(session.exceptions)
    first = snp.logical_and(failed == 0, snp.logical_not(condition))
    references.write(session.failed, snp.where(first, snp.int32(number), failed))
