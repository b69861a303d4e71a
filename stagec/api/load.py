"""`load`: functions from a file, without tracing and without the compiler."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stagec.api.arguments import ShapeDtypeStruct, leaf_aval, leaf_value
from stagec.api.calls import FastPathDispatch, runner
from stagec.api.matching import Call, Form, Match, Problem, part_of_another, refusal
from stagec.api.open_dimensions import Conditions, solve
from stagec.artifact import container, trees
from stagec.artifact.container import Container, refuse
from stagec.artifact.manifest import Signature
from stagec.artifact.stored import File, StoredProgram, runnable_signature
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.config import config, state
from stagec.core.dims_terms import Symbol
from stagec.core.trace import Tracer
from stagec.runtime.array import Array
from stagec.runtime.devices import Device, default, find
from stagec.runtime.memory import aligned_empty
from stagec.runtime.placement import placement
from stagec.runtime.runnable import Runnable


class Loaded(FastPathDispatch):
    """What `stagec.load` returns: a function, or several under their names.

    Attributes:
      path: of the file.
      digest: SHA-256 that stands for all of the file's content.
      functions: name -> a `Loaded` that is this function alone.
      fun_name: the function's name, where there is one.

    >>> import stagec, stagec.numpy as snp
    >>> double = stagec.load(stagec.export(lambda x: x * 2, ["cpu:x86-64-v2"])(snp.ones(3)).serialize())
    >>> double(snp.ones(3)), double.modules
    (Array([2., 2., 2.], dtype=float32), [('cpu:x86-64-v2', 'file')])
    """

    functions: Mapping[str, Loaded]

    def __init__(self, file: File, functions: Mapping[str, Sequence[Signature]], device: Device | None) -> None:
        super().__init__(frozenset(), frozenset())
        self.path = file.container.path
        self.digest = file.container.digest
        self._device = device
        self._forms: dict[int, Form] = {}
        self._file = file
        # By the call's structure, for one device; `_elsewhere` has the programs for other devices.
        self._programs: dict[Any, StoredProgram] = {}
        self._elsewhere: dict[tuple[int, Device], StoredProgram] = {}
        if len(functions) > 1:
            self.fun_name = ""
            self.functions = _Functions(file, functions, device)
            return
        ((self.fun_name, signatures),) = functions.items()
        self.functions = {self.fun_name: self}
        self.__doc__ = signatures[0].doc or None
        for signature in signatures:
            try:
                program = runnable_signature(file, self.fun_name, signature, device or default())
            except trees.ClassMissing as missing:
                what, fix = missing.args
                raise refuse(self.path, f"{self.fun_name}: {what}", fix) from None
            self._programs[_call_key(program.code.in_tree, program.in_avals)] = program

    def __getitem__(self, name: str) -> Loaded:
        if name not in self.functions:
            raise KeyError(f"{self.path} has no function {name!r}; it has {', '.join(self.functions)}")
        return self.functions[name]

    @property
    def in_avals(self) -> list[list[ShapedArray]]:
        """Shapes and dtypes of the arguments' leaves, for each signature."""
        return [list(p.in_avals) for p in self._programs.values()]

    @property
    def out_avals(self) -> list[list[ShapedArray]]:
        """Shapes and dtypes of the results' leaves, for each signature."""
        return [list(p.out_avals) for p in self._programs.values()]

    @property
    def modules(self) -> list[tuple[str, str]]:
        """The modules that run: for each signature that was called, the target that it was compiled for, and where
        the module is from: "file", or "compiled" or "disk" where the file has none for this machine.
        """
        programs = [*self._programs.values(), *self._elsewhere.values()]
        return [(p.code.variant.target, p.code.source) for p in programs if p.code.variant is not None]

    def _stored_programs(self) -> list[StoredProgram]:
        """What runs each signature; empty where the file holds several functions."""
        return list(self._programs.values())

    @property
    def __signature__(self) -> inspect.Signature:
        for program in self._programs.values():
            return self._form(program).signature()
        kinds = inspect.Parameter
        return inspect.Signature([kinds("args", kinds.VAR_POSITIONAL), kinds("kwargs", kinds.VAR_KEYWORD)])

    def _shown_name(self) -> str:
        return self.fun_name

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tables = self._tables()
        leaves, tree = pytree.flatten((list(args), kwargs))
        if state.trace is not None or not self._programs or any(isinstance(v, Tracer) for v in leaves):
            raise self._refused()
        stored, match = self._matched(tree, leaves, args, kwargs)
        stored, committed = self._placed(stored, match.values)
        program: Runnable[Any] = stored
        if any(a.is_open for a in stored.in_avals):
            program = stored.at(self._sizes(stored, [leaf_aval(v) for v in match.values]))
        outs = program.run(match.values, committed)
        if config.checks_values():
            self._check(outs)
        elif state.has_fast_paths and match.lasting:
            run_of = functools.partial(runner, program, committed, stored.code.out_tree, None)
            self._remember(tables, program.name, run_of, args, kwargs, match.arrange)
        return stored.code.out_tree.unflatten(outs)

    def _sizes(self, program: StoredProgram, avals: Sequence[ShapedArray]) -> dict[Symbol, int]:
        """The sizes that a call gives the open dimensions of a program; checked."""
        row = program.code.signature
        sizes = solve(self.fun_name, row.names, row.in_avals, avals)
        Conditions(self.fun_name, row.names, row.in_avals, row.sizes).require(sizes)
        return sizes

    def _check(self, outs: Sequence[Array]) -> None:
        """Raise for results that `debug_nans` forbids; the operations of a loaded program are not known."""
        from stagec.runtime.nonfinite import kinds, turn_off  # imports much, for few

        for kind in kinds():
            for i, out in enumerate(outs):
                if kind.count(out):
                    raise location.error(
                        errors.NonFiniteError,
                        f"{self.fun_name} returned {kind.phrase(kind.count(out))} in result {i}",
                        [("file", self.path, "")],
                        f"trace the original function to see which operation made it; {turn_off(kind)}",
                    )

    def _placed(self, program: StoredProgram, values: Sequence[Any]) -> tuple[StoredProgram, bool]:
        """The program for the device of a call, and whether the results are committed to it."""
        names = program.code.signature.names
        device, committed = self._device, True
        if device is None:
            device, committed = placement(values, self.fun_name, lambda i: names[i])
            if not committed:
                device = program.code.preferred_device(device)
        if device is program.device:
            return program, committed
        key = (id(program), device)
        found = self._elsewhere.get(key)
        if found is None:
            made = runnable_signature(program.code.file, program.name, program.code.signature, device)
            found = self._elsewhere.setdefault(key, made)
        return found, committed

    def _matched(
        self, tree: pytree.PyTreeDef, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[StoredProgram, Match]:
        """The program for a call, and its operands."""
        # The usual case: arguments as they were exported.
        with contextlib.suppress(errors.StagecError, OverflowError):  # said below, with the argument's name
            values = [leaf_value(leaf) for leaf in leaves]
            if not any(v is None or isinstance(v, ShapeDtypeStruct) for v in values):
                program = self._programs.get(_call_key(tree, [leaf_aval(v) for v in values]))
                if program is not None:
                    return program, Match(values, None, True)
        call = Call(args, kwargs)
        programs = list(self._programs.values())
        found: list[Match | Problem] = []
        for program in programs:
            result = self._form(program).match(call)
            if isinstance(result, Match) and result.exact:
                return program, result
            found.append(result)
        for program, result in zip(programs, found):
            if isinstance(result, Match):
                return program, result
        problems = [p for p in found if isinstance(p, Problem)]
        raise refusal([self._form(p) for p in programs], problems)

    def _form(self, program: StoredProgram) -> Form:
        """How callers see a program."""
        found = self._forms.get(id(program))
        if found is None:
            row = program.code.signature
            made = Form(self.fun_name, row.parameters, program.code.in_tree, row.in_avals, row.names, "export")
            found = self._forms.setdefault(id(program), made)
        return found

    def _refused(self) -> errors.StagecError:
        if not self._programs:
            shown = ", ".join(self.functions)
            return location.error(
                errors.ArtifactError,
                f"{self.path} holds several functions: {shown}",
                fix=f"call one of them: loaded[{next(iter(self.functions))!r}](...)",
            )
        return part_of_another(f"{self.fun_name} was loaded from {self.path}", "trace the original function instead")

    def __reduce__(self) -> Any:
        opened = self._file.container
        weights = self._file.given_weights()
        return _again, (opened.source or bytes(opened.content()), self.digest, self._device, weights, self.fun_name)

    def __copy__(self) -> Loaded:
        return self

    def __deepcopy__(self, memo: Any) -> Loaded:
        return self

    def __repr__(self) -> str:
        return f"<stagec.Loaded {', '.join(self.functions)} from {self.path}>"


class _Functions(Mapping[str, Loaded]):
    """The functions of a file, each made when it is first asked for."""

    def __init__(self, file: File, functions: Mapping[str, Sequence[Signature]], device: Device | None) -> None:
        self._device = device
        self._file = file
        self._rows = functions
        self._made: dict[str, Loaded] = {}

    def __getitem__(self, name: str) -> Loaded:
        if name not in self._made:
            self._made.setdefault(name, Loaded(self._file, {name: self._rows[name]}, self._device))
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _call_key(tree: pytree.PyTreeDef, avals: Sequence[ShapedArray]) -> tuple[Any, ...]:
    return (tree, *[(a.shape, a.dtype) for a in avals])


def load(
    path: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    device: Device | str | None = None,
    weights: Sequence[Any] | None = None,
    digest: str = "",
) -> Loaded:
    """Load functions from a file that `stagec compile`, `stagec.save` or `.save` made.

    Nothing is traced or compiled. Only large weights of a large file stay mapped from it.
    Where the file has no module for this machine, and iree-base-compiler is
    installed, one is compiled from the StableHLO in the file.

    The file holds machine code. Checksums find damage, not malice: load only
    what you would run as a program, or give the digest that you trust.

    Args:
      path: a file name, or the content of a file.
      device: where to run, such as `"vulkan"` or one of `stagec.devices()`; by
        default where the arguments are, or else on the default device, if the
        file has something for it.
      weights: the arrays that the functions close over, for a file that was
        saved without them; or other ones of the same shapes to use instead.
      digest: what `Loaded.digest` and `stagec inspect` show; another file is refused.

    Returns:
      A `Loaded`: called like the function, or, where the file holds several,
      indexed by their names.

    Raises:
      ArtifactError: the file is damaged, or this machine cannot run it.
      DeviceError: there is no such device.
      OSError: the file cannot be read.

    >>> import stagec, stagec.numpy as snp
    >>> data = stagec.export(lambda x, y: x + y)(snp.ones(2), snp.ones(2)).serialize()
    >>> stagec.load(data)(snp.ones(2), snp.array([1.0, 2.0]))
    Array([2., 3.], dtype=float32)
    """
    opened = open_artifact(path)
    if digest and digest.lower() != opened.digest:
        raise refuse(opened.path, f"its digest is {opened.digest}, not {digest}", "get the file from where it was made")
    file = File(opened)
    rows = file.rows()
    if weights is not None:
        file = File(opened, _checked_weights(opened.path, [w.aval for w in rows], weights))
    elif any(w.section is None for w in rows):
        shown = ", ".join(w.aval.short() for w in rows)
        raise refuse(opened.path, "it was saved without its weights", f"stagec.load(path, weights=[...]): {shown}")
    return Loaded(file, file.manifest.functions, None if device is None else find(device))


def _again(
    source: str | bytes, digest: str, device: Device | None, weights: Sequence[Array] | None, name: str
) -> Loaded:
    """Restore a pickled `Loaded` in another process."""
    loaded = load(source, device=device, weights=weights, digest=digest)
    return loaded[name] if name else loaded


def open_artifact(path: str | os.PathLike[str] | bytes | bytearray | memoryview) -> Container:
    """A file, or the content of one, with its header checked."""
    if not isinstance(path, (bytes, bytearray, memoryview)):
        return container.open_path(path)
    # Code and weights are used in place, where they are aligned.
    memory: Any = aligned_empty((memoryview(path).nbytes,), np.dtype(np.uint8))
    memory[...] = np.frombuffer(path, np.uint8)
    return Container(memoryview(memory), "<bytes>")


def _checked_weights(path: str, wanted: list[ShapedArray], weights: Sequence[Any]) -> list[Array]:
    values = [leaf_value(w) for w in weights]
    avals = [None if v is None else leaf_aval(v) for v in values]
    if [a and (a.shape, a.dtype) for a in avals] != [(a.shape, a.dtype) for a in wanted]:
        rows = [
            ("expected", ", ".join(a.long() for a in wanted) or "none", ""),
            ("given", ", ".join(a.long() if a else "not an array" for a in avals) or "none", ""),
        ]
        raise location.error(
            errors.ArtifactError,
            f"these weights do not fit {path}",
            rows,
            "pass the arrays that the functions close over, in the order that `python -m stagec inspect` shows",
        )
    return [v if type(v) is Array else Array.of(np.array(v), w) for v, w in zip(values, wanted)]
