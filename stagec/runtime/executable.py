"""A loaded program, and the shortest way to run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stagec.core.aval import ShapedArray
from stagec.runtime import device as _device
from stagec.runtime.array import Array, borrow, from_view

_new = object.__new__


class Executable:
    """One compiled function on one device.

    Args:
      payload: the compiled module; must stay valid and 64-byte aligned.
      in_avals, out_avals: its signature.
      driver: `local-sync` or `local-task`.
      clobbered: arguments that the program may overwrite; copies of them are passed.
      in_place: arguments whose memory results take over.
      may_alias: a result may be an argument's own memory; such results are copied.
    """

    __slots__ = (
        "_count", "_function", "_invoke", "_list", "_out", "_view_type",
        "clobbered", "driver", "in_avals", "in_place", "may_alias", "name", "out_avals", "payload",
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
        self.name = name
        hal = b.create_hal_module(instance, _device.cpu().hal_device(driver))
        module = b.VmModule.wrap_buffer(instance, payload)
        context = b.VmContext(instance, [hal, module])
        self._invoke = context.invoke
        self._function = module.lookup_function("main")
        self._list = b.VmVariantList
        self._view_type = b.HalBufferView
        self._count = len(self.out_avals)
        self._out = self.out_avals[0] if self.out_avals else None

    def run(self, args: Sequence[Any]) -> list[Array]:
        """Run on arrays, NumPy arrays or literals that match `in_avals`."""
        given = [a if type(a) is Array else borrow(a) for a in args]
        for i in self.clobbered:
            given[i] = given[i].private_copy()
        inputs = self._list(len(given))
        for a in given:
            view = a._view
            inputs.push_ref(view if view is not None else a.buffer_view())
        outputs = self._list(self._count)
        self._invoke(self._function, inputs, outputs)
        view_type = self._view_type
        results = [from_view(outputs.get_as_object(i, view_type), a) for i, a in enumerate(self.out_avals)]
        return self._unshared(given, results) if self.may_alias else results

    def run_one(self, args: Sequence[Array]) -> Array:
        """`run(args)[0]` for programs with one result and nothing to guard against: the hot path."""
        inputs = self._list(len(args))
        push = inputs.push_ref
        for a in args:
            view = a._view
            push(view if view is not None else a.buffer_view())
        outputs = self._list(1)
        self._invoke(self._function, inputs, outputs)
        result = _new(Array)
        result.aval = self._out
        result._view = outputs.get_as_object(0, self._view_type)
        result._numpy = None
        result._taken = None
        result._exposed = False
        return result

    def _unshared(self, args: Sequence[Array], results: list[Array]) -> list[Array]:
        """Copy results that are the memory of an argument, or of an earlier result."""
        used = {a.address() for i, a in enumerate(args) if i not in self.in_place and a.aval.size}
        for i, r in enumerate(results):
            if r.address() in used:
                results[i] = r.private_copy()
            used.add(r.address())
        return results
