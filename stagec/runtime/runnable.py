"""Runs a program, compiled or loaded: supplies hidden arguments and results without computation, and donates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from stagec.core import errors, forking, location
from stagec.core.aval import ShapedArray
from stagec.core.cached import cached_property
from stagec.core.dims_terms import Symbol
from stagec.core.duration import Duration
from stagec.runtime import interruptible, recording
from stagec.runtime.array import Array, borrow
from stagec.runtime.devices import Device, cpu
from stagec.runtime.executable import Executable
from stagec.runtime.packing import packed
from stagec.runtime.placement import placed

# Messages of the runtime for programs in which the compiler lost a buffer of a loop's state. They stop before
# they write to an argument.
_COMPILER_FAULTS = ("indirect buffer reference", "ref is null")

# Computes the results of inputs without the program; returns None if it does not.
Instead: TypeAlias = Callable[[list[Any]], list[Array] | None]


class Code(Protocol):
    """The program of a `Runnable`: compiled, or read from a file, when it is first needed.

    Attributes:
      device: where it runs.
      evaluates: whether NumPy can compute the results instead.
    """

    @property
    def device(self) -> Device: ...
    @property
    def evaluates(self) -> bool: ...
    def at_hand(self) -> Executable | None:
        """The program, if it is in memory."""
        ...

    def load(self) -> Executable:
        """Compile or load the program."""
        ...

    def effort(self, values: Mapping[Symbol, int]) -> tuple[bool, Duration]:
        """For sizes of open dimensions: whether threads should share the work, and how long a call may take."""
        ...

    def evaluate(self, inputs: list[Any]) -> list[Array]:
        """The results, by NumPy."""
        ...


C_co = TypeVar("C_co", bound=Code, covariant=True)


@dataclass(eq=False, repr=False)
class Runnable(Generic[C_co]):
    """Runs a program on arrays, and supplies what the program does not compute.

    Args:
      code: the program.
      name: the function's name in messages.
      captured: hidden arguments, which lead the inputs.
      donated: positions among all inputs of those whose buffers may be reused.
      used: the inputs that the program takes.
      plan: where each result comes from: `("computed", i)`, `("input", i)` or `("constant", Array)`.
      in_avals: avals of the arguments that are not hidden.
      out_avals: avals of the results, which also give the results' weak types.
      trivial: there is no program to run.
    """

    code: C_co
    name: str
    captured: list[Any]
    donated: tuple[int, ...]
    used: list[int]
    plan: list[tuple[str, Any]]
    in_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]
    trivial: bool

    def __post_init__(self) -> None:
        # The program's arguments and results are those of the call.
        own = not self.captured and not self.donated and len(self.used) == len(self.in_avals)
        self.direct = own and self.plan == [("computed", i) for i in range(len(self.plan))]
        self._executable: Executable | None = None
        self._packed: dict[int, Array] = {}
        self._lock = forking.lock()

    @cached_property
    def device(self) -> Device:
        """Where it runs."""
        return self.code.device

    def at(self, values: Mapping[Symbol, int]) -> Runnable[Any]:
        """For a program with open dimensions: what runs it on arrays of given sizes."""
        in_avals, out_avals = ([a.at(values) for a in avals] for avals in (self.in_avals, self.out_avals))
        whole: Runnable[Any] = self
        return replace(whole, code=_Sized(self, values), in_avals=in_avals, out_avals=out_avals)

    @cached_property
    def hidden(self) -> list[Array]:
        """The captured values on the device."""
        return [a.on(self.device, a.committed) if type(a) is Array else a for a in self.captured]

    @property
    def is_constant(self) -> bool:
        """Whether the results depend on no argument, and nothing happens besides."""
        return self.trivial and not (self.used or self.donated or any(kind == "input" for kind, _ in self.plan))

    @property
    def is_ready(self) -> bool:
        """Whether the program is there."""
        return self._executable is not None

    def executable(self, committed: bool = False) -> Executable:
        """The program, compiled or loaded on first use.

        Args:
          committed: the results stay on the device.
        """
        found = self._executable
        if found is None:
            # Loading may take long, and goes on after an interrupt: the next call waits for it and finds the program.
            found = self._executable = self.code.at_hand() or interruptible.call(self._loaded)
        found = found.usable()
        active = recording.active  # another thread may end it
        if active is not None:
            active.codes[id(found.payload)] = self.code
        return found.committed() if committed else found

    def _loaded(self) -> Executable:
        with self._lock:
            found = self._executable
            if found is None:
                found = self._executable = self.code.load()
            return found

    def _recovered(self, inputs: list[Any], error: Exception) -> list[Array]:
        """The results by NumPy, for this call and all later ones, because the compiled program is broken."""
        if not self.code.evaluates:
            raise location.error(
                errors.ExecutionError,
                f"{self.name} failed while it ran: {error}",
                fix="IREE miscompiled its loops; call the jitted function, which falls back on NumPy",
            ) from error
        location.warn(
            f"{self.name} is evaluated by NumPy, which is slow, because IREE miscompiled its loops: {error}",
            errors.CompilerWarning,
        )
        self.trivial = True
        self.direct = False
        return self.code.evaluate(inputs)

    def run(self, args: Sequence[Any], committed: bool = False, instead: Instead | None = None) -> list[Array]:
        """Run on flat arrays; donated ones are deleted afterwards.

        Args:
          committed: the results stay on the device.
          instead: asked for the results first.
        """
        device = self.device
        everything = [*self.hidden, *args]
        inputs = [everything[i] for i in self.used]
        executable: Executable | None = None
        compute = self.code.evaluate if self.trivial else instead
        results = None if compute is None else compute(inputs)
        if results is None:
            executable = self.executable(committed)
            if not device.is_cpu:
                inputs = [placed(a, device) for a in inputs]
            self._make_private(executable.in_place, inputs)
        try:
            if executable is not None:
                results = self._run(executable, inputs)
            assert results is not None, "results come from NumPy or from the program"
            outs = [self._output(kind, index, everything, results) for kind, index in self.plan]
            earlier: set[int] = set()
            for n, (out, aval) in enumerate(zip(outs, self.out_avals)):
                # Two results never share memory: one of them may be donated later.
                if id(out) in earlier:
                    outs[n] = out = out.private_copy()
                earlier.add(id(out))
                if out.aval is not aval:
                    outs[n] = out = out.with_aval(aval)
                outs[n] = out.on(device, committed)
        finally:
            # A callback may raise when the program has written over donated memory; after an interrupt it still runs.
            self._take_donated(everything)
        return outs

    def arranged(self) -> Callable[[Sequence[Array]], list[Array]] | None:
        """`run` for uncommitted arrays on the CPU, with less around the program; None where it needs all of it."""
        computed = [index for kind, index in self.plan if kind == "computed"]
        if self.trivial or self.device is not cpu() or len(set(computed)) < len(computed):
            return None
        executable = self.executable()
        if executable.mutated or executable.may_alias or executable.packed:
            return None
        hidden, used, run, in_place = self.hidden, self.used, executable.run_plain, executable.in_place
        results_from = [
            (kind == "computed", kind, index, aval) for (kind, index), aval in zip(self.plan, self.out_avals)
        ]

        def call(args: Sequence[Array]) -> list[Array]:
            everything = [*hidden, *args]
            inputs = [everything[i] for i in used]
            self._make_private(in_place, inputs)
            try:
                results = run(inputs)
                outs = []
                for is_result, kind, index, aval in results_from:
                    out = results[index] if is_result else self._output(kind, index, everything, results)
                    outs.append(out if out.aval is aval else out.with_aval(aval))
                return outs
            finally:
                self._take_donated(everything)

        return call

    def _run(self, executable: Executable, inputs: list[Any]) -> list[Array]:
        try:
            return executable.run([*inputs, *self._copies(executable, inputs)] if executable.packed else inputs)
        except (IndexError, ValueError) as error:
            if executable.in_place or not any(text in str(error) for text in _COMPILER_FAULTS):
                raise
            return self._recovered(inputs, error)

    def _copies(self, executable: Executable, inputs: list[Any]) -> list[Array]:
        """The packed copies of captured arrays that a program takes, which they share with other programs."""
        for number, packing in enumerate(executable.packed):
            if number not in self._packed:
                self._packed[number] = packed(inputs[packing.argument], packing).on(self.device, committed=False)
        return [self._packed[number] for number in range(len(executable.packed))]

    def _take_donated(self, everything: list[Any]) -> None:
        if self.donated:
            by = f"{self.name}, called at {location.capture()}"
            for i in self.donated:
                if type(everything[i]) is Array:
                    everything[i]._give_up(by)

    def _make_private(self, in_place: Collection[int], inputs: list[Any]) -> None:
        """Replace donated arguments by memory that the program may write to."""
        if not in_place:
            return
        # Memory that other threads still read must not be written to either.
        exposed = self.device.is_cpu and self.device.has_abandoned()
        if self.device.is_cpu and not exposed:
            self.device.drain()
        # An array may be another argument too.
        times = Counter(map(id, inputs))
        for i in in_place:
            value = inputs[i]
            array = value if type(value) is Array else borrow(value)
            inputs[i] = array.owned_copy() if exposed or array._exposed or times[id(value)] > 1 else array

    def _output(self, kind: str, index: Any, everything: list[Any], results: list[Array]) -> Array:
        if kind == "computed":
            return results[index]
        if kind == "constant":
            return index.private_copy()
        value = everything[index]
        if type(value) is not Array:
            return borrow(value).private_copy()
        if index in self.donated or index < len(self.captured):
            return value.private_copy()
        # An array of its own: it may be deleted without its argument, and a donation of one of them does not write.
        return value.with_aval(value.aval)


class _Sized:
    """The code of a program with open dimensions, for given sizes."""

    evaluates = False

    def __init__(self, base: Runnable[Any], values: Mapping[Symbol, int]) -> None:
        self._base = base
        self._values = dict(values)

    @property
    def device(self) -> Device:
        return self._base.device

    def at_hand(self) -> Executable | None:
        return None

    def load(self) -> Executable:
        return self._base.executable().at(self._values, *self._base.code.effort(self._values))

    def effort(self, values: Mapping[Symbol, int]) -> tuple[bool, Duration]:
        effort: tuple[bool, Duration] = self._base.code.effort(values)
        return effort

    def evaluate(self, inputs: list[Any]) -> list[Array]:
        results: list[Array] = self._base.code.evaluate(inputs)
        return results


def as_array(value: Any) -> Any:
    """A captured value as something that an executable takes."""
    if isinstance(value, np.ndarray):
        return Array.of(np.array(value), ShapedArray.of(value.shape, value.dtype))
    return value
