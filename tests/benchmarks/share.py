"""How much of a compile is stagec's own code, rather than the compiler's."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any
from unittest import mock

from tests.benchmarks.case import Call


def own_share(call: Call) -> float:
    """The share of a compile's processor time that is not spent in IREE's pipelines or in LLVM.

    Libraries of one program may be made in several threads. What stagec does in the others, which is little, counts
    as the compiler's.
    """
    # Imported in stagec's process alone.
    import llvmlite.binding as llvm

    from stagec.compiler.invocation import Invocation

    inside, found = [0.0], [0.0]

    def timed(function: Any) -> Any:
        def run(*args: Any, **options: Any) -> Any:
            started = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                if threading.current_thread() is thread:
                    inside[0] += time.thread_time() - started

        return run

    def measure() -> None:
        own, everything = time.thread_time(), time.process_time()
        call()
        own, everything = time.thread_time() - own - inside[0], time.process_time() - everything
        found[0] = own / everything

    # The main thread would leave the work to another one, whose time it does not see.
    thread = threading.Thread(target=measure, name="share")
    with contextlib.ExitStack() as patched:
        for owner, name in ((Invocation, "execute"), (llvm, "parse_assembly"), (llvm.TargetMachine, "emit_object")):
            patched.enter_context(mock.patch.object(owner, name, timed(getattr(owner, name))))
        thread.start()
        thread.join()
    return found[0]
