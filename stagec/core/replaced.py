"""Restores errors of tracers that NumPy and the standard library replace by their own, as `np.zeros(n)` does."""

from __future__ import annotations

import threading
from types import CodeType
from typing import TypeVar

from stagec.core import errors, location

E = TypeVar("E", bound=errors.StagecError)


class _Last(threading.local):
    # Text instead of the error itself, whose traceback would keep the frames of the user's function.
    error: tuple[type[errors.StagecError], str] | None = None
    instruction: tuple[CodeType, int] | None = None


_last = _Last()


def remember(error: E) -> E:
    """Remember an error that is about to be raised about the instruction that the user's code is at; returns it."""
    frame = location.user_frame()
    _last.error = type(error), str(error)
    _last.instruction = None if frame is None else (frame.f_code, frame.f_lasti)
    return error


def original(error: Exception) -> errors.StagecError | None:
    """The remembered error, with the traceback of `error`, if that was raised by the same instruction in its place."""
    found, _last.error = _last.error, None
    instruction, traceback = None, error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not location.is_hidden(code.co_filename):
            instruction = code, traceback.tb_lasti
        traceback = traceback.tb_next
    if found is None or isinstance(error, errors.StagecError) or instruction != _last.instruction:
        return None
    return found[0](found[1]).with_traceback(error.__traceback__)
