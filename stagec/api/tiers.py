"""Tiers of execution: NumPy evaluates a program's graph until the compiler, which works in the background, is done."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from stagec.api.program import RunnableGraph, is_loaded
from stagec.compiler import build, capabilities, log
from stagec.compiler.exact import has_subnormals
from stagec.core import errors, forking, location
from stagec.core.config import config
from stagec.runtime import interruptible
from stagec.runtime.array import Array
from stagec.runtime.evaluation import Evaluation, Stopped
from stagec.runtime.runnable import Instead

# How long an evaluation goes on before the compiler begins.
_HEAD_START_SECONDS = 0.02
# An evaluation that takes longer than the former hands the interpreter over to the compiler after each of the latter.
_LONG_SECONDS = 0.1
_TURN_SECONDS = 0.001
_HANDOVER_SECONDS = 5e-5

# Compiles that work at the same time: each takes memory, and a share of the interpreter.
_AT_ONCE = 2

_guard = forking.lock()
# Another object in each forked child, which has none of the parent's threads.
_process = object()


class Background:
    """A compile on a helper thread.

    Attributes:
      over: whether nothing has to be evaluated any more: the program is there, or loading it raises an error that a
        call has to raise.
      done: whether the compiler works no more.
      evaluated: set when an evaluation has ended.
      start: begins to compile.
    """

    def __init__(self, runnable: RunnableGraph) -> None:
        self.process = _process
        self.over = self.done = False
        self._name = runnable.name
        self._refusal: errors.CompileError | None = None
        self._warned = False
        self.evaluated = threading.Event()
        self.start = interruptible.detached(lambda: self._compile(runnable))

    def _compile(self, runnable: RunnableGraph) -> None:
        # Imports of the compiler would keep the interpreter from a short evaluation.
        self.evaluated.wait(_HEAD_START_SECONDS)
        try:
            runnable.executable()
        except errors.CompileError as error:
            self._refusal = error
        except Exception:
            self.over = True  # a call loads the program again, and raises the error with its own line
        else:
            self.over = True
        finally:
            self.done = True
            if not interruptible.is_left():
                _begin(ended=True)

    def refused(self) -> bool:
        """Whether the compiler refused the program, of which the first call that asks warns."""
        if self._refusal is None:
            return False
        with _guard:
            first, self._warned = not self._warned, True
        if first:
            location.warn(
                f"{self._name} is evaluated by NumPy, which is slow: {self._refusal}",
                errors.CompilerWarning,
            )
        return True


# Those that wait for others to end, the one that was called last at the end; and how many compile.
_waiting: list[Background] = []
_working = 0


def _begin(wanted: Background | None = None, ended: bool = False) -> None:
    """Start compiles of the programs that were called last.

    Args:
      wanted: is called now.
      ended: a compile has ended.
    """
    global _working
    with _guard:
        if wanted in _waiting:
            _waiting.remove(wanted)
            _waiting.append(wanted)
        _working -= ended
        started = _waiting.pop() if _waiting and _working < _AT_ONCE else None
        _working += started is not None
    if started is not None:
        started.start()


class _Turns:
    """An evaluation's turns at the interpreter, which it shares with a compile."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._next = time.perf_counter() + _LONG_SECONDS

    def is_over(self) -> bool:
        """Whether the evaluation may end."""
        background = self._background
        if not background.done and time.perf_counter() > self._next:
            time.sleep(_HANDOVER_SECONDS)
            self._next = time.perf_counter() + _TURN_SECONDS
        return background.over


def evaluation(runnable: RunnableGraph, tiered: bool | str | None = None) -> Instead | None:
    """What computes a program's results until it is compiled; None where calls wait for the compiler.

    Args:
      tiered: `jit`'s argument; by default, the option of the same name.
    """
    code = runnable.code
    if runnable.trivial or runnable.is_ready:
        return None
    if tiered is None:
        tiered = config.tiered
    unasked = tiered is None
    if not (_is_interactive() if unasked else tiered):
        return None
    # A user's functions must be called once, also where an evaluation is stopped. What a user's passes make of the
    # program is not what NumPy computes, whose bits depend on the processor, too.
    if not code.evaluates or code.options.passes or code.options.reproducible:
        return None
    if tiered == "exact" and not code.is_exact:
        return None
    return lambda inputs: _evaluated(runnable, inputs, has_subnormals if tiered == "exact" else None, unasked)


def _is_interactive() -> bool:
    """Whether a person waits for results: at Python's prompt, or at IPython's, that of notebooks included."""
    shell = sys.modules.get("IPython")
    return hasattr(sys, "ps1") or (shell is not None and shell.get_ipython() is not None)


def _say_once(name: str) -> None:
    """Tell the person who did not ask for tiers that there are two."""
    global _has_said
    if not _has_said:
        _has_said = True
        print(
            f"stagec: NumPy computes {name} until it is compiled, as for other functions in this session; last digits "
            "may differ. stagec.config.update('tiered', False) waits for the compiler instead.",
            file=sys.stderr,
        )


_has_said = False


def _evaluated(runnable: RunnableGraph, inputs: list[Any], refuses: Any, unasked: bool) -> list[Array] | None:
    """The results by NumPy, or None if the program came first, or a value was refused."""
    code = runnable.code
    background: Background | None = code.background
    if background is None or background.process is not _process:
        code.check_target()
        capabilities.check(code.graph, code.options.target)
        if is_loaded(runnable) or build.is_stored(code.key):
            return None
        with _guard:
            if code.background is background:  # no other thread was faster
                code.background = Background(runnable)
                _waiting.append(code.background)
            background = code.background
    if background.over:
        return None
    _begin(background)
    refused = background.refused()
    if unasked:
        _say_once(runnable.name)
    started = time.perf_counter()
    try:
        results = Evaluation(_Turns(background).is_over, refuses).run(code.graph, inputs)
    except Stopped:
        _note(runnable, "the compiled program replaces an evaluation", started)
        return None
    except MemoryError as error:
        if refused:
            raise
        # The program needs less.
        _note(runnable, f"not evaluated: {error}", started)
        return None
    finally:
        background.evaluated.set()
    _note(runnable, "evaluated by NumPy", started)
    background.refused()
    return results


def _note(runnable: RunnableGraph, what: str, started: float) -> None:
    log.event("tier", what, name=runnable.name, seconds=time.perf_counter() - started)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    global _process, _working
    _process, _working = object(), 0
    _waiting.clear()
