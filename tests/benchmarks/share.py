"""How much of a compile is stagec's own code, rather than the compiler's."""

from __future__ import annotations

import threading
import time
from typing import Any

from tests.benchmarks.case import Call


def own_share(call: Call) -> float:
    """The share of a compile's processor time that is not spent in the pipelines of the compiler.

    Libraries of one program may be made in several threads. What stagec does in the others, which is little, counts
    as the compiler's.
    """
    from stagec.compiler.invocation import Invocation  # stagec is imported in its own process alone

    execute, pipelines, found = Invocation.execute, [0.0], [0.0]

    def timed(self: Any, *args: Any, **phases: Any) -> Any:
        started = time.thread_time()
        try:
            return execute(self, *args, **phases)
        finally:
            if threading.current_thread() is thread:
                pipelines[0] += time.thread_time() - started

    def measure() -> None:
        own, everything = time.thread_time(), time.process_time()
        call()
        own, everything = time.thread_time() - own - pipelines[0], time.process_time() - everything
        found[0] = own / everything

    # The main thread would leave the work to another one, whose time it does not see.
    thread = threading.Thread(target=measure, name="share")
    Invocation.execute = timed  # type: ignore[method-assign]
    try:
        thread.start()
        thread.join()
    finally:
        Invocation.execute = execute  # type: ignore[method-assign]
    return found[0]
