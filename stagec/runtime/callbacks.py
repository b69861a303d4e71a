"""Compiled programs that call Python: contexts with a module `host` in addition to the program's own."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from stagec.core import errors, forking
from stagec.core.aval import ShapedArray
from stagec.core.boundary import hide_frames
from stagec.core.config import config
from stagec.core.host import HostCallback
from stagec.core.weak import WeakSet
from stagec.runtime import interruptible, memory
from stagec.runtime.array import Array
from stagec.runtime.device import binding
from stagec.runtime.devices import Device, cpu

# At most so many idle contexts are kept.
_KEPT = 8
# Seconds that a fork waits for programs that run on other threads.
_REST_SECONDS = 0.5


class CallingContexts:
    """The contexts of one program; every call in progress has its own.

    A callback may call the program that called it, or wait for a thread that
    does, so a lock held meanwhile would cause a deadlock. Where only one thread
    at a time may use a device, other threads may use it while a callback runs.

    Args:
      device: where the program runs.
      make: makes a runtime context from the module `host`.
    """

    def __init__(self, callbacks: Sequence[HostCallback], device: Device, make: Callable[[Any], Any]) -> None:
        self._callbacks = callbacks
        self._device = device
        self._make = make
        self._free = [self._new()]

    def _new(self) -> _CallingContext:
        return _CallingContext(self._callbacks, self._device, self._make)

    def invoke(self, function: Any, inputs: Any, outputs: Any) -> None:
        """Run a function of the program; what a callback raises is raised here."""
        if not self._device.is_cpu:
            # The program does not wait for the device's timeline, on which calls may still read what it overwrites.
            with contextlib.suppress(errors.ExecutionError):  # raised where somebody waits for it
                self._device.drain()
        try:
            context = self._free.pop()
        except IndexError:
            context = self._new()
        try:
            error = context.invoke(function, inputs, outputs)
        finally:
            if len(self._free) < _KEPT:
                self._free.append(context)
        if error is not None:
            hide_frames(error)
            raise error


class _Raised:
    """What a callback of the call in progress raised."""

    error: BaseException | None = None


class _Stop(Exception):
    """Ends a program whose callback raised. The runtime turns it into text."""


class _CallingContext:
    """A runtime context, and what the callbacks of its call in progress raised."""

    def __init__(self, callbacks: Sequence[HostCallback], device: Device, make: Callable[[Any], Any]) -> None:
        _check_room()
        # A separate object: the context refers to it in ways that the garbage collector does not see.
        self._raised = raised = _Raised()
        interface = binding().PyModuleInterface("host", lambda _: raised)
        for i, callback in enumerate(callbacks):
            results = callback.out_avals or ()
            form = f"0{'r' * len(callback.in_avals) or 'v'}_{'r' * len(results) or 'v'}"
            interface.export(callback.symbol(i), form, _entry(callback, device))
        self._context = make(interface.create())
        self._device = device
        # Held while the context runs, for a fork to wait for; a callback may fork itself.
        self._lock = threading.RLock()
        _contexts.add(self)

    def invoke(self, function: Any, inputs: Any, outputs: Any) -> BaseException | None:
        try:
            with self._lock, self._device.turn():
                self._context.invoke(function, inputs, outputs)
        except RuntimeError as failure:
            if self._raised.error is None:
                # Python had no stack left to enter the callback, or handled a signal first.
                if "RecursionError" in str(failure):
                    return RecursionError("maximum recursion depth exceeded in a callback")
                if "KeyboardInterrupt" in str(failure):
                    return KeyboardInterrupt()
                raise
        error, self._raised.error = self._raised.error, None
        return error


def _check_room(frames: int = 20) -> None:
    """Raise RecursionError now if little stack is left: raised in a new context, it would end the process."""
    if frames:
        _check_room(frames - 1)


def _entry(callback: HostCallback, device: Device) -> Callable[..., Any]:
    """The function that the runtime calls: it takes and returns references to buffer views."""
    run = (_in_place if callback.in_place else _of_user)(callback, device)
    count = len(callback.out_avals or ())

    def entry(raised: _Raised, *references: Any) -> Any:
        try:
            results = run(references)
        except BaseException as error:
            raised.error = error
        else:
            return results[0] if count == 1 else results if count else None
        raise _Stop

    return entry


def _of_user(callback: HostCallback, device: Device) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    def called(references: Sequence[Any]) -> tuple[Any, ...]:
        leaves = [_received(device, r, a) for r, a in zip(references, callback.in_avals)]
        with contextlib.nullcontext() if device.is_cpu else config.override(default_device=cpu()):
            return _sent(device, callback(leaves))

    def run(references: Sequence[Any]) -> tuple[Any, ...]:
        with device.turn_of_others():
            # In the thread that called the program, whose state a callback expects.
            return interruptible.on_caller(lambda: called(references))

    return run


def _in_place(callback: HostCallback, device: Device) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    received = [(a.shape, a.dtype) for a in callback.in_avals]

    def run(references: Sequence[Any]) -> tuple[Any, ...]:
        return _sent(device, callback([memory.download(device, r, *of) for r, of in zip(references, received)]))

    return run


def _sent(device: Device, results: Sequence[Any]) -> tuple[Any, ...]:
    """Results as the runtime takes them."""
    return tuple([memory.upload(device, r).__iree_vm_ref__ for r in results])


def _received(device: Device, reference: Any, aval: ShapedArray) -> Array:
    """An argument as an array on the CPU that lasts: the program uses its memory again."""
    value = memory.aligned_empty(aval.shape, aval.dtype)
    value[...] = memory.download(device, reference, aval.shape, aval.dtype)
    return Array.of(value, aval)


_contexts: WeakSet[_CallingContext] = WeakSet()


@forking.before_fork
def _before_fork(held: forking.HeldLocks) -> None:
    deadline = time.monotonic() + _REST_SECONDS
    for context in _contexts:
        held.hold(context._lock, deadline)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    for context in _contexts:
        forking.leak(context)
    _contexts.clear()
