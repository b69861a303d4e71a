"""A loaded program, and the fast paths that run it."""

from __future__ import annotations

import copy
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from stagec.core import forking, location
from stagec.core.aval import ShapedArray
from stagec.core.dims_terms import Symbol
from stagec.core.duration import LIMITED_SECONDS, SHORT_SECONDS, Duration
from stagec.core.host import HostCallback
from stagec.core.weak import WeakSet
from stagec.runtime import interruptible, recording
from stagec.runtime.array import Array, borrow, is_lent, signature
from stagec.runtime.callbacks import CallingContexts
from stagec.runtime.contexts import Pool
from stagec.runtime.device import binding, instance
from stagec.runtime.devices import Device, cpu
from stagec.runtime.exhausted import check_memory
from stagec.runtime.timeline import TimelineSemaphore
from stagec.runtime.traits import Traits

T = TypeVar("T")
_new = object.__new__
_all: WeakSet[Executable] = WeakSet()
_starting = forking.lock()
# Limits of element operations: more than any program reaches, the most of a call that keeps its thread, tenths of a
# second at worst, and the least.
_UNLIMITED, _MOST, _LEAST = 1 << 60, 1 << 26, 1 << 12
_LIMIT = ShapedArray.of((), np.dtype(np.int64))
_read_limit = struct.Struct("q").unpack_from


def _limit_of(operations: int) -> Array:
    return Array.of(np.array(operations, np.int64), _LIMIT)


def _context(hal: Any, *modules: Any) -> Any:
    return binding().VmContext(instance(), [hal, *modules])


class Executable:
    """One compiled function on one device.

    Args:
      payload: the compiled module, used in place where it is aligned to 64 bytes.
      in_avals, out_avals: its signature.
      device: where it runs.
      traits: what else is known of it. Copies are passed of arguments that it may overwrite, and results are copied
        that are an argument's own memory. Calls not known to be quick run on helper threads, so that the main thread
        can be interrupted: of a bounded program until one was short, of a limited one, which takes a limit as a further
        argument and returns what is left of it, where that is not enough.
      in_place: donated arguments, whose memory results reuse.
      callbacks: the Python functions that the program calls.
      waits: it takes no fences, whatever its queue.
    """

    __slots__ = (
        "__weakref__", "_begin", "_bounded", "_callbacks", "_collect", "_committed", "_contexts", "_count", "_end",
        "_function", "_limit", "_limited", "_list", "_out", "_started", "_timeline", "_view_type", "_waits", "_workers",
        "anywhere", "branches", "device", "driver", "in_avals", "in_place", "may_alias", "mutated", "name",
        "out_avals", "packed", "payload", "quick", "run_one", "run_plain",
    )  # fmt: skip

    def __init__(
        self,
        payload: Any,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        *,
        device: Device | None = None,
        traits: Traits,
        in_place: Sequence[int] = (),
        callbacks: Sequence[HostCallback] = (),
        waits: bool = False,
        name: str = "function",
    ) -> None:
        self.payload = payload
        self.in_avals = list(in_avals)
        self.out_avals = list(out_avals)
        self.device = device or cpu()
        self.in_place = frozenset(in_place)
        self.driver, mutated, self.packed, self.may_alias, self.anywhere, self.branches, duration = traits
        self.mutated = tuple([i for i in mutated if i not in self.in_place])
        self.quick = duration is Duration.QUICK
        self._bounded = duration is Duration.BOUNDED
        self._limited = duration is Duration.LIMITED
        self._limit: Array | None = None  # of the next call, if `quick`
        self.name = name
        self._callbacks = callbacks
        self._count = len(self.out_avals) + self._limited
        self._waits = waits
        self._workers: Executable | None = None
        self._start()
        _all.add(self)

    def _start(self) -> None:
        """Load the module; in a forked child, once more."""
        b = binding()
        device, callbacks = self.device, self._callbacks
        hal_device = device.hal_device(self.driver)
        if device.is_cpu:  # what others have freed may be of sizes that nobody asks for again
            hal_device.allocator.trim()
        hal = b.create_hal_module(instance(), hal_device)
        module = b.VmModule.from_buffer(instance(), self.payload, warn_if_copy=False)
        self._list, self._view_type = b.VmVariantList, b.HalBufferView
        if callbacks:
            calling = CallingContexts(callbacks, device, lambda host: _context(hal, host, module)).invoke
            self._contexts = Pool(lambda: calling, settles=False)
        else:
            self._contexts = Pool(lambda: _context(hal, module).invoke)
        # Bound once, for the hot path.
        self._begin, self._end = self._contexts.free.pop, self._contexts.free.append
        self._function = module.lookup_function("main")
        alone = self.driver == "local-sync" or callbacks or self._waits
        self._timeline = None if alone else device.timeline(self.driver)
        self._committed: Executable | None = None
        self._bind_results(committed=False)
        self._started = True

    @property
    def calls_python(self) -> bool:
        """Whether the program calls Python functions."""
        return bool(self._callbacks)

    def usable(self) -> Executable:
        """This program, loaded again where a forked child asks for it first."""
        if not self._started:
            with _starting:
                if not self._started:
                    self._start()
        return self

    def leave_behind(self) -> None:
        """In a forked child: keep what the parent loaded from being used and from being destroyed."""
        forking.leak(self._contexts, self._function)
        self._started = False

    def _bind_results(self, committed: bool) -> None:
        self._out = [(i, a, signature(a, self.device, committed)) for i, a in enumerate(self.out_avals)]
        self._collect = self._results_and_left if self._limited else self._results
        self.run_plain: Callable[[Sequence[Array]], list[Array]]
        self.run_one: Callable[[Sequence[Array]], Array]
        if self._timeline is not None:
            self.run_plain, self.run_one = self._run_queued, lambda args: self._run_queued(args)[0]
        elif self._limited:
            self.run_plain, self.run_one = self._run_limited, lambda args: self._run_limited(args)[0]
        elif self.quick:
            self.run_plain, self.run_one = self._run_quick, self._run_quick_one
        else:
            self.run_plain, self.run_one = self._run_long, lambda args: self._run_long(args)[0]
        if recording.active is not None:
            run = self.run_plain
            self.run_plain, self.run_one = (
                lambda args: self._run_recorded(run, args),
                lambda args: self._run_recorded(run, args)[0],
            )

    def committed(self) -> Executable:
        """The same program, for calls whose results stay on the device."""
        if self._committed is None:
            twin = copy.copy(self)
            twin._bind_results(committed=True)
            twin._committed = twin
            self._committed = twin
        return self._committed

    def at(self, values: Mapping[Symbol, int], parallel: bool, duration: Duration) -> Executable:
        """The same program, for arrays whose open dimensions have these sizes.

        Args:
          parallel: a CPU's worker threads compute.
          duration: how long a call may take.
        """
        sized = copy.copy(self._on_workers() if parallel else self)
        sized.quick = duration is Duration.QUICK
        sized._bounded = duration is Duration.BOUNDED
        sized.in_avals = [a.at(values) for a in self.in_avals]
        sized.out_avals = [a.at(values) for a in self.out_avals]
        sized._committed = None
        sized._bind_results(committed=False)
        _all.add(sized)
        return sized

    def _on_workers(self) -> Executable:
        """The same program on a CPU's worker threads, for which each call waits."""
        if self.driver != "local-sync" or self._callbacks:
            return self
        if self._workers is None:
            made = copy.copy(self)
            made.driver = "local-task"
            made._start()
            _all.add(made)
            self._workers = made
        return self._workers.usable()

    def run(self, args: Sequence[Any]) -> list[Array]:
        """Run on arrays, NumPy arrays or literals that match `in_avals`."""
        given = [a if type(a) is Array else borrow(a) for a in args]
        for i in self.mutated:
            given[i] = given[i].private_copy()
        results = self.run_plain(given)
        return self._unshared(given, results) if self.may_alias else results

    def _run_recorded(self, run: Callable[[Sequence[Array]], list[Array]], args: Sequence[Array]) -> list[Array]:
        """As `run`; the recording gets the time until the results are there."""
        active = recording.active
        if active is None:  # it has just ended, in another thread
            return run(args)
        runs = active.runs(self, lambda: self._measurable_arguments(args))
        start = time.perf_counter_ns()
        results = run(args)
        for result in results:
            result.block_until_ready()
        end = time.perf_counter_ns()
        arguments, made = (sum(a.nbytes for a in avals) for avals in (self.in_avals, self.out_avals))
        span = active.add("run", self.name, start, end, arguments=arguments, results=made, driver=self.driver)
        runs.spans.append(span)
        return results

    def _measurable_arguments(self, args: Sequence[Array]) -> list[Any]:
        """The arguments as NumPy arrays, for a later run; none where the runtime's tools cannot run the program."""
        if self._callbacks or not self.device.backend.has_instrumentation:
            return []
        written = self.in_place.union(self.mutated)
        if self._limited:
            args = [*args[: len(self.in_avals)], _limit_of(_UNLIMITED), *args[len(self.in_avals) :]]
        return [np.array(a.evaluated()) if i in written else a.evaluated() for i, a in enumerate(args)]

    def _call(self, inputs: Any, outputs: Any) -> None:
        """Call the program in this thread."""
        try:
            context = self._begin()
        except IndexError:  # other calls are in progress, perhaps one that was interrupted
            context = self._contexts.another()
        try:
            context.invoke(self._function, inputs, outputs)
        except RuntimeError as error:
            check_memory(self.name, self.out_avals, error)
            raise
        finally:
            self._end(context)

    def _run_quick(self, args: Sequence[Array]) -> list[Array]:
        """`run` for arrays, where no argument is mutated and no result may alias one: the hot path."""
        inputs = self._list(len(args))
        push, anywhere = inputs.push_ref, self.anywhere
        for a in args:
            view = a._view
            push(view if view is not None else a.buffer_view(anywhere))
        outputs = self._list(self._count)
        try:
            context = self._begin()
        except IndexError:
            context = self._contexts.another()
        try:
            context.invoke(self._function, inputs, outputs)
        except RuntimeError as error:
            check_memory(self.name, self.out_avals, error)
            raise
        finally:
            self._end(context)
        return self._collect(outputs)

    def _run_long(self, args: Sequence[Array]) -> list[Array]:
        """As `_run_quick`, on a helper thread, so that the main thread can be interrupted."""
        return self._run_quick(args) if self.quick else self._run_measured(args)[0]  # as an earlier call has shown

    def _run_measured(self, args: Sequence[Array]) -> tuple[list[Any], float]:
        """The results on a helper thread, and the processor's time."""
        inputs, kept = self._listed(args)
        outputs = self._list(self._count)

        def work() -> float:
            started = time.thread_time()
            self._call(inputs, outputs)
            kept.clear()  # the program's arguments had to stay alive until now
            return time.thread_time() - started

        seconds = self._interruptible(work)
        return self._collect(outputs), seconds

    def _run_limited(self, args: Sequence[Array]) -> list[Array]:
        """As `_run_quick`, with a limit of operations; where it is too low, on a helper thread without a limit."""
        own, packed = args[: len(self.in_avals)], args[len(self.in_avals) :]
        if self.quick and self._limit is not None:
            results: list[Any] = self._run_quick([*own, self._limit, *packed])
            if results.pop() > 0:
                return results
            self.quick = False
        results, seconds = self._run_measured([*own, _limit_of(_UNLIMITED), *packed])
        done = _UNLIMITED - results.pop()
        if seconds <= LIMITED_SECONDS and done < _MOST:
            # As many operations as may take this time, as far as this call tells. Some clocks stand still for long.
            self._limit = _limit_of(min(max(int(done * LIMITED_SECONDS / max(seconds, 1e-6)), _LEAST), _MOST))
            self.quick = True
        return results

    def _interruptible(self, work: Callable[[], T]) -> T:
        """The result of `work()` on a helper thread. Notes whether a bounded program is quick."""
        started = time.perf_counter()
        result = interruptible.call(work)
        self.quick = self._bounded and time.perf_counter() - started <= SHORT_SECONDS
        return result

    def _results(self, outputs: Any) -> list[Array]:
        get = outputs.get_as_ref
        results = []
        for i, aval, placed in self._out:
            result = _new(Array)
            result.aval = aval
            result.signature = placed
            result._view = get(i)
            result._numpy = None
            result._state = None
            result._exposed = False
            results.append(result)
        return results

    def _results_and_left(self, outputs: Any) -> list[Any]:
        """The results of a program with a limit, and what is left of it."""
        results: list[Any] = self._results(outputs)
        results += _read_limit(outputs.get_as_object(self._count - 1, self._view_type).map())
        return results

    def _listed(self, args: Sequence[Array], timeline: TimelineSemaphore | None = None) -> tuple[Any, list[Any]]:
        """The arguments for the runtime, with room for two fences, and what must stay alive during the call."""
        inputs = self._list(len(args) + 2)
        kept, anywhere = [], self.anywhere
        for a in args:
            view = a._view
            if view is None:
                view = a.buffer_view(anywhere) if timeline is None else a.queued_view(timeline, anywhere)
            inputs.push_ref(view)
            kept.append((view, a._numpy))
        return inputs, kept

    def _run_queued(self, args: Sequence[Array]) -> list[Array]:
        """As `_run_quick`, on a queue that works while Python goes on; results wait for the call when they are read."""
        timeline = self._timeline
        assert timeline is not None, "programs of the calling thread have no timeline"
        if timeline.left:
            self._timeline = timeline = self.device.timeline(self.driver)
        inputs, kept = self._listed(args, timeline)
        outputs = self._list(self._count)

        def start(before: Any, after: Any) -> None:
            inputs.push_ref(before)
            inputs.push_ref(after)
            self._call(inputs, outputs)

        by = f"{self.name}, called at {location.capture()},"
        if self.quick:
            pending = timeline.submit(start, by, kept)
        else:
            try:
                pending = self._interruptible(lambda: timeline.submit(start, by, kept))
            except BaseException:
                timeline.leave()
                raise
        results = []
        for i, aval, placed in self._out:
            result = _new(Array)
            result.aval = aval
            result.signature = placed
            result._view = result._numpy = None
            result._state = (pending, outputs.get_as_ref(i))
            result._exposed = False
            results.append(result)
        if any(is_lent(a) for a in args):
            pending.wait()
        return results

    def _run_quick_one(self, args: Sequence[Array]) -> Array:
        """`run_plain(args)[0]`, written out: most programs have one result."""
        inputs = self._list(len(args))
        push, anywhere = inputs.push_ref, self.anywhere
        for a in args:
            view = a._view
            push(view if view is not None else a.buffer_view(anywhere))
        outputs = self._list(1)
        try:
            context = self._begin()
        except IndexError:
            context = self._contexts.another()
        try:
            context.invoke(self._function, inputs, outputs)
        except RuntimeError as error:
            check_memory(self.name, self.out_avals, error)
            raise
        finally:
            self._end(context)
        result = _new(Array)
        _, result.aval, result.signature = self._out[0]
        result._view = outputs.get_as_ref(0)
        result._numpy = result._state = None
        result._exposed = False
        return result

    def _unshared(self, args: Sequence[Array], results: list[Array]) -> list[Array]:
        """Copy results that are the memory of an argument, or of an earlier result."""
        if not self.device.is_cpu:  # whose addresses are not known
            return [r.owned_copy() for r in results]
        used = {a.address() for i, a in enumerate(args) if i not in self.in_place and a.aval.size}
        shared = False
        for i, r in enumerate(results):
            if r.address() in used:
                results[i] = r.private_copy()
                shared = True
            used.add(r.address())
        # Without control flow, results alias the same memory at every call: one check is enough.
        self.may_alias = shared or self.branches
        return results


@recording.on_change
def _rebind() -> None:
    """Let each program choose what runs it, now that a recording has begun or ended."""
    for executable in list(_all):
        executable._bind_results(committed=False)
        if executable._committed is not None:
            executable._committed._bind_results(committed=True)


@forking.in_child
def _after_fork_in_child(_: forking.HeldLocks) -> None:
    for executable in _all:
        executable.leave_behind()
