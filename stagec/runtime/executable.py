"""A loaded program, and the shortest way to run it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from stagec.core.aval import ShapedArray
from stagec.runtime import device as _device
from stagec.runtime.array import Array, borrow

_new = object.__new__


class Executable:
    """One compiled function on one device.

    Args:
      payload: the compiled module, used in place where it is aligned to 64 bytes.
      in_avals, out_avals: its signature.
      driver: `local-sync` or `local-task`.
      clobbered: arguments that the program may overwrite; copies of them are passed.
      in_place: arguments whose memory results take over.
      may_alias: a result may be an argument's own memory; such results are copied.
      branches: which memory that is may differ from call to call.
    """

    __slots__ = (
        "_acquire", "_count", "_function", "_invoke", "_list", "_out", "_release",
        "branches", "clobbered", "driver", "in_avals", "in_place", "may_alias", "name", "out_avals", "payload",
    )  # fmt: skip

    def __init__(
        self,
        payload: Any,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        *,
        driver: str = "local-sync",
        clobbered: Sequence[int] = (),
        in_place: Sequence[int] = (),
        may_alias: bool = False,
        branches: bool = False,
        name: str = "function",
    ) -> None:
        b = _device.binding()
        instance = _device.instance()
        self.payload = payload
        self.in_avals = list(in_avals)
        self.out_avals = list(out_avals)
        self.driver = driver
        self.clobbered = tuple(clobbered)
        self.in_place = frozenset(in_place)
        self.may_alias = may_alias
        self.branches = branches
        self.name = name
        hal = b.create_hal_module(instance, _device.cpu().hal_device(driver))
        module = b.VmModule.from_buffer(instance, payload, warn_if_copy=False)
        context = b.VmContext(instance, [hal, module])
        self._invoke = context.invoke
        self._function = module.lookup_function("main")
        self._list = b.VmVariantList
        self._count = len(self.out_avals)
        self._out = list(enumerate(self.out_avals))
        # A context belongs to one thread at a time. Bound once: `with` costs more than the lock itself.
        lock = threading.Lock()
        self._acquire = lock.acquire
        self._release = lock.release

    def run(self, args: Sequence[Any]) -> list[Array]:
        """Run on arrays, NumPy arrays or literals that match `in_avals`."""
        given = [a if type(a) is Array else borrow(a) for a in args]
        for i in self.clobbered:
            given[i] = given[i].private_copy()
        results = self.run_plain(given)
        return self._unshared(given, results) if self.may_alias else results

    def run_plain(self, args: Sequence[Array]) -> list[Array]:
        """`run` for arrays, where nothing has to be guarded against: the hot path."""
        inputs = self._list(len(args))
        push = inputs.push_ref
        for a in args:
            view = a._view
            push(view if view is not None else a.buffer_view())
        outputs = self._list(self._count)
        self._acquire()
        try:
            self._invoke(self._function, inputs, outputs)
        finally:
            self._release()
        get = outputs.get_as_ref
        results = []
        for i, aval in self._out:
            result = _new(Array)
            result.aval = aval
            result._view = get(i)
            result._numpy = None
            result._taken = None
            result._exposed = False
            results.append(result)
        return results

    def run_one(self, args: Sequence[Array]) -> Array:
        """`run_plain(args)[0]`, written out: most programs have one result."""
        inputs = self._list(len(args))
        push = inputs.push_ref
        for a in args:
            view = a._view
            push(view if view is not None else a.buffer_view())
        outputs = self._list(1)
        self._acquire()
        try:
            self._invoke(self._function, inputs, outputs)
        finally:
            self._release()
        result = _new(Array)
        result.aval = self.out_avals[0]
        result._view = outputs.get_as_ref(0)
        result._numpy = result._taken = None
        result._exposed = False
        return result

    def _unshared(self, args: Sequence[Array], results: list[Array]) -> list[Array]:
        """Copy results that are the memory of an argument, or of an earlier result."""
        used = {a.address() for i, a in enumerate(args) if i not in self.in_place and a.aval.size}
        shared = False
        for i, r in enumerate(results):
            if r.address() in used:
                results[i] = r.private_copy()
                shared = True
            used.add(r.address())
        # Straight-line code does the same with memory at every call: one look is enough.
        self.may_alias = shared or self.branches
        return results
