"""Functions compiled ahead of time, and the files that hold them."""

from __future__ import annotations

import dataclasses
import functools
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from stagec.api import spmd
from stagec.api.arguments import ArgumentRules
from stagec.api.open_dimensions import is_full, taken_for_granted
from stagec.api.parameters import parameters_of
from stagec.api.program import RunnableGraph, runnable_graph
from stagec.api.settings import JitSettings
from stagec.api.traces import TracedSignature
from stagec.artifact import container, manifest, trees, variants
from stagec.backends import Target
from stagec.backends.cpu import portable_host
from stagec.compiler import build, key, reproducible
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.cached import cached_property
from stagec.core.copying import OwnCopy
from stagec.core.graph import host_calls
from stagec.core.open_graph import is_open


class Exported(OwnCopy):
    """A function compiled for one signature and any number of targets.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: structures of `(args, kwargs)` and of the result.
      in_avals, out_avals: shapes and dtypes of their leaves.
      targets: what it is compiled for.
    """

    def __init__(
        self,
        trace: TracedSignature,
        runnable: RunnableGraph,
        targets: Sequence[Target],
        rules: ArgumentRules,
        weights: bool,
    ) -> None:
        for target in targets:
            mesh = spmd.mesh_of(trace.graph, target)
            if mesh is not None:
                what = f"{trace.name} cannot be exported for {target}: it is a program of {mesh.size} devices"
                fix = "lower(...).as_text(stage) shows the program that each of them runs"
                raise errors.UnsupportedError(errors.message(what, fix=fix))
        self.fun_name = trace.name
        self.in_tree = trace.in_tree
        self.out_tree = trace.returned()
        self.in_avals: list[ShapedArray] = trace.graph.in_avals[len(trace.captured) :]
        self.out_avals: list[ShapedArray] = list(trace.graph.out_avals)
        self.targets = tuple(map(str, targets))
        self._trace = trace
        self._rules = rules
        self._weights = weights
        self._runnable = runnable
        self._programs: list[tuple[Target, build.Program]] = []
        if runnable.code.graph.outputs or runnable.code.graph.equations:
            if runnable.trivial or (is_open(trace.graph) and not is_full(trace.graph)):
                raise _empty_arrays(trace)
            for equation in host_calls(runnable.code.graph):
                what = f"{trace.name} cannot be exported: it calls Python functions, which a file does not hold"
                fix = "leave stagec.debug.print and the callbacks out of what is exported, and call them around it"
                raise errors.UnsupportedError(errors.message(what, str(equation.location), fix=fix))
            for target in targets:
                if not self._has_program(target):
                    continue  # a C library needs no program of the runtime's
                options = runnable.code.options_for(target)
                program = build.obtain(
                    runnable.code.graph, options, trace.name, runnable.code.used_names, trace.definition
                )
                self._programs.append((target, program))

    def _has_program(self, target: Target) -> bool:
        """Whether the runtime has a program for a target."""
        has_code = not self._runnable.code.options.reproducible or reproducible.has_code(target)
        return target.on.has_runtime(target) and has_code

    def mlir_module(self) -> str:
        """The StableHLO that the modules were compiled from, as text."""
        return self._stablehlo

    @cached_property
    def _stablehlo(self) -> str:
        runnable = self._runnable
        module = build.lower_graph(runnable.code.graph, runnable.code.options, self.fun_name, runnable.code.used_names)
        if runnable.code.options.passes:
            # The loading side does not have the user's passes: it gets what they made.
            build.optimize(module, runnable.code.options)
        return str(module)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run here, by way of the file's content; static arguments are left out."""
        return self._loaded(*args, **kwargs)

    @cached_property
    def _loaded(self) -> Any:
        from stagec.api.load import load  # needs nothing of this module

        return load(self.serialize())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for `stagec.load`; as `stagec.save(path, self)`."""
        save(path, self)

    def serialize(self) -> bytes:
        """What `save` would write."""
        return b"".join(_parts(_by_name(self)))

    def to_c(
        self, folder: str | os.PathLike[str], *, name: str = "", weights: Literal["object", "file"] = "object"
    ) -> list[str]:
        """Write a C library: the function as C99 and machine code for Linux, which needs neither Python nor a runtime.

        There are headers for C and C++, the host part as readable C, an object file for each target, and
        `CMakeLists.txt`. Of several levels of x86-64, a call takes the highest that the processor has. Open
        sizes are the first arguments in C: those of independent rows, and others that have bounds.

        Args:
          folder: where the files are written; it is made if need be.
          name: of the function in C, instead of its own.
          weights: where the arrays that the function closes over are: in an object file, or in a file of their own,
            which the caller maps into memory and passes.

        Returns:
          The paths of the files.

        Raises:
          ArgumentTypeError: `name` is no text.
          ArgumentValueError: `weights` is neither.
          UnsupportedError: the function needs a runtime, sizes without bounds are open that do not number independent
            rows, or a target is none of the levels of x86-64, aarch64, riscv64 and armv7.
          OSError: a file cannot be written.

        >>> import os, stagec, stagec.numpy as snp, tempfile
        >>> def scale(x):
        ...     return x * 2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = stagec.export(scale, "cpu:x86-64-v3")("f32[3]").to_c(folder)
        ...     sorted(map(os.path.basename, files))
        ['CMakeLists.txt', 'scale-x86-64-v3.o', 'scale.c', 'scale.h', 'scale.hpp']
        """
        from stagec.standalone import c_library  # which needs the compiler

        if weights not in ("object", "file"):
            fix = "use weights='object' or weights='file'"
            raise location.error(errors.ArgumentValueError, f"to_c: {weights!r} says not where weights are", fix=fix)
        targets = tuple(map(Target.parse, self.targets))
        c_library.check_targets(self.fun_name, targets)
        return c_library.write(os.fspath(folder), self._standalone(name, targets, weights == "file"))

    def to_wasm(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str = "",
        weights: Literal["module", "file"] = "module",
        threads: bool = False,
    ) -> list[str]:
        """Write a WebAssembly module of the function, and an ES module that loads it, with its types.

        The targets do not matter: the module runs in browsers and in Node, with vectors of 128 bits.

        Args:
          folder: where the files are written; it is made if need be.
          name: of the function and the files, instead of its own.
          weights: where the arrays that the function closes over are: in the module, or in a file of their own, which
            is loaded beside it.
          threads: whether workers share the work, for which pages have to be isolated from other origins; else the
            calling thread does all of it.

        Returns:
          The paths of the files.

        Raises:
          ArgumentTypeError: `name` is no text.
          ArgumentValueError: `weights` is neither.
          UnsupportedError: the function needs a runtime or the C library, or sizes without bounds are open that do not
            number independent rows.
          OSError: a file cannot be written.

        >>> import os, stagec, stagec.numpy as snp, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = stagec.export(lambda x: x * 2)("f32[3]").to_wasm(folder, name="doubled")
        ...     [os.path.basename(file) for file in files]
        ['doubled.wasm', 'doubled.js', 'doubled.d.ts']
        """
        from stagec.standalone import web  # which needs the compiler

        if weights not in ("module", "file"):
            fix = "use weights='module' or weights='file'"
            raise location.error(errors.ArgumentValueError, f"to_wasm: {weights!r} says not where weights are", fix=fix)
        return web.write(os.fspath(folder), self._standalone(name, [web.TARGET], weights == "file"), threads)

    def to_html(self, path: str | os.PathLike[str], *, name: str = "") -> None:
        """Write a page that runs the function in a browser: one file, which asks no server for anything.

        A number is typed, an array of two axes is drawn or read from a picture, and what else there is is a list of
        numbers. Results are numbers, bars or pictures. As for `to_wasm`, the targets do not matter.

        Args:
          path: a file name; by custom it ends in `.html`.
          name: of the function in JavaScript, instead of its own.

        Raises:
          ArgumentTypeError: `name` is no text.
          UnsupportedError: the function needs a runtime or the C library, or an array has open dimensions.
          OSError: the file cannot be written.

        >>> import os, stagec, stagec.numpy as snp, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stagec.export(snp.sqrt)("f32[]").to_html(os.path.join(folder, "root.html"))
        ...     os.listdir(folder)
        ['root.html']
        """
        from stagec.standalone import web  # which needs the compiler

        text = web.page(self._standalone(name, [web.TARGET]))
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)

    def _standalone(self, name: str, targets: Sequence[Target], in_file: bool = False) -> Any:
        """The function as `stagec.standalone` compiles it."""
        from stagec.standalone import function  # which needs the compiler

        if not isinstance(name, str):
            what = f"{self.fun_name} cannot have the name {name!r}, of type {type(name).__name__}"
            raise location.error(errors.ArgumentTypeError, what, fix="pass a name as a str, such as name='f'")
        trace, code = self._trace, self._runnable.code
        results = [f"out{pytree.keystr(path)}" for path in pytree.leaf_paths(self.out_tree)]
        source = function.Source(
            self.fun_name,
            code.graph,
            {target: dataclasses.replace(code.options_for(target), donated=()) for target in targets},
            trace.captured,
            self._runnable.used,
            self._runnable.plan,
            list(zip(trace.leaf_names, self.in_avals)),
            list(zip(results, self.out_avals)),
            trace.conditions().fit,
        )
        return function.compiled(source, name, in_file)

    def _instead_of_pickling(self) -> str:
        return "write it with x.save(path), and pickle stagec.load(path); x.serialize() returns bytes for stagec.load"

    def __repr__(self) -> str:
        shown = ", ".join(a.short() for a in self.in_avals)
        return f"<stagec.Exported {self.fun_name}({shown}) for {', '.join(self.targets)}>"


def _empty_arrays(trace: TracedSignature) -> errors.StagecError:
    shown = ", ".join(a.short() for a in trace.graph.in_avals[len(trace.captured) :]) or "no arrays"
    return location.error(
        errors.UnsupportedError,
        f"{trace.name} cannot be exported for {shown}: an array in it has no elements, "
        "and such programs are evaluated without being compiled",
        fix="export it for sizes from 1 on, and treat the empty case outside",
    )


def parse_targets(targets: str | Target | Iterable[str | Target]) -> list[Target]:
    """Targets without repeats; `cpu` becomes this machine's level."""
    rows = [targets] if isinstance(targets, (str, Target)) else list(targets)
    found = [Target.parse(t) for t in rows or ["cpu"]]
    portable = [Target.parse(portable_host()) if t.is_host else t for t in found]
    return list(dict.fromkeys(portable))


def from_trace(settings: JitSettings, trace: TracedSignature, targets: Sequence[Target], weights: bool) -> Exported:
    """A traced signature, compiled for the targets."""
    return Exported(trace, _runnable(settings, trace, targets[0], weights), targets, settings.rules, weights)


def page_of_trace(settings: JitSettings, trace: TracedSignature) -> str:
    """The page that `to_html` writes of a traced signature; no target is compiled for.

    Raises:
      UnsupportedError: as `to_html`.
    """
    from stagec.standalone import web  # which needs the compiler

    exported = Exported(trace, _runnable(settings, trace, web.TARGET, True), (), settings.rules, True)
    return web.page(exported._standalone("", [web.TARGET]))


def _runnable(settings: JitSettings, trace: TracedSignature, target: Target, weights: bool) -> RunnableGraph:
    options = settings.options(graph=trace.graph)
    return runnable_graph(
        trace.graph,
        trace.captured,
        # A file calls no library of the machine that makes it, and other tools run its programs, too.
        dataclasses.replace(options, target=target, libraries="never", limits=False),
        name=trace.name,
        definition=trace.definition,
        argument_names=trace.leaf_names,
        donated=trace.donated,
        keep_unused=settings.keep_unused,
        packs=weights,
    )


def save(path: str | os.PathLike[str], exported: Any) -> None:
    """Write exported functions to one file, at once: readers see all of it or what was there before.

    Args:
      path: a file name; by custom it ends in `.stagec`.
      exported: an `Exported`; a list of them, the same function for several
        signatures; or a dict of names to either.

    Raises:
      ArtifactError: two signatures of a function take the same arguments.
      OSError: the file cannot be written.

    >>> import os, stagec, stagec.numpy as snp, tempfile
    >>> double = stagec.export(lambda x: x * 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "double.stagec")
    ...     stagec.save(path, {"double": [double(snp.ones(2)), double(snp.ones(3))]})
    ...     stagec.load(path)(snp.ones(3))
    Array([2., 2., 2.], dtype=float32)
    """
    container.write(path, _parts(_by_name(exported)))


def _by_name(exported: Any) -> dict[str, list[Exported]]:
    fix = "pass what stagec.export(f)(...) returned, a list of these, or a dict of names to either"
    if isinstance(exported, Mapping):
        found = {name: _rows(value) for name, value in exported.items()}
        if not found:
            raise location.error(TypeError, "save takes exported functions, and was given none", fix=fix)
        for name, rows in found.items():
            if not rows or not isinstance(name, str) or not name or not name.isprintable():
                raise location.error(
                    TypeError, f"save takes exported functions, not what it was given for {name!r}", fix=fix
                )
        return found
    rows = _rows(exported)
    names = list(dict.fromkeys(row.fun_name for row in rows))
    if not rows:
        raise location.error(TypeError, f"save takes exported functions, not {type(exported).__name__}", fix=fix)
    if len(names) > 1:
        fix = "pass a dict of names to functions"
        raise location.error(TypeError, f"save was given a list of several functions ({', '.join(names)})", fix=fix)
    return {_printable(names[0]): rows}


def _rows(value: Any) -> list[Exported]:
    """The exported functions in a value; empty where it holds anything else."""
    rows = list(value) if isinstance(value, (list, tuple)) else [value]
    return rows if all(isinstance(row, Exported) for row in rows) else []


class _Writer:
    """Collects what the functions of one file share."""

    def __init__(self) -> None:
        self.sections = container.SectionTable()
        self.weights: list[manifest.Weight] = []
        self._by_identity: dict[int, int] = {}
        # Identities are those of living arrays only.
        self._kept: list[Any] = []

    def weight(self, value: Any, keep: bool) -> int:
        known = self._by_identity.get(id(value))
        if known is None:
            host = np.asarray(value)
            aval = ShapedArray.of(host.shape, host.dtype)
            section = self.sections.add(np.ascontiguousarray(host).reshape(-1).view(np.uint8)) if keep else None
            known = self._by_identity[id(value)] = len(self.weights)
            self.weights.append(manifest.Weight(aval, section))
            self._kept.append(value)
        return known

    def signature(self, exported: Exported) -> manifest.Signature:
        runnable, trace = exported._runnable, exported._trace
        for target in map(Target.parse, exported.targets):
            if not exported._has_program(target):
                what = "no runtime" if not target.on.has_runtime(target) else "no reproducible code in files"
                raise location.error(
                    errors.UnsupportedError,
                    f"{trace.name} was exported for {target}, for which there is {what}",
                    fix="write a C library, with to_c, or export it for other targets",
                )
        for tree in (trace.in_tree, exported.out_tree):
            trees.check_depth(tree)
        # Weights are known by the user's own arrays, which several functions may share.
        weights = tuple([self.weight(value, exported._weights) for value in trace.captured])
        hidden = len(weights)
        text: manifest.Text | None = None
        # Where no variant fits, the machine that loads the file would compile the text, to other bits.
        if exported._programs and not runnable.code.options.reproducible:
            source = exported.mlir_module().encode()
            queue = build.choose_driver(runnable.code.graph, Target.parse("cpu"))
            text = manifest.Text(
                self.sections.add(zlib.compress(source, 9)),
                len(source),
                queue,
                exported._programs[0][1].traits.branches,
                build.duration(runnable.code.graph, queue),
            )
        return manifest.Signature(
            trees.encode(trace.in_tree),
            trees.encode(exported.out_tree),
            tuple(map(_printable, trace.leaf_names)),
            tuple(parameters_of(exported._rules, trace)),
            tuple(exported.in_avals),
            tuple(exported.out_avals),
            weights,
            tuple(runnable.used),
            tuple(runnable.plan),
            tuple(sorted(i - hidden for i in runnable.donated)),
            runnable.code.options.donated,
            tuple(a.strip_weak_type() for a in runnable.code.graph.out_avals),
            runnable.code.options.fast_math,
            text,
            tuple([self._variant(target, program, runnable) for target, program in exported._programs]),
            tuple(taken_for_granted(trace.graph)) if is_open(trace.graph) else (),
            _doc(exported._rules.function),
        )

    def _variant(self, target: Target, program: build.Program, runnable: RunnableGraph) -> manifest.Variant:
        # What is reused is overwritten anyway.
        reused = {i for i, _ in runnable.code.options.donated}
        traits = program.traits
        traits = traits._replace(mutated=tuple([i for i in traits.mutated if i not in reused]))
        return variants.compiled(target, traits, program.meta["flags"], self.sections.add(program.payload))


def _doc(function: Any) -> str:
    while isinstance(function, functools.partial):  # whose own says what partials are
        function = function.func
    doc = function.__doc__
    return doc if isinstance(doc, str) else ""


def _printable(text: str) -> str:
    text = text if text.isprintable() else ascii(text)[1:-1]
    return (text if len(text) <= 200 else text[:197] + "...") or "argument"


def _parts(functions: Mapping[str, Sequence[Exported]]) -> list[Any]:
    writer = _Writer()
    rows: dict[str, tuple[manifest.Signature, ...]] = {}
    for name, exports in functions.items():
        calls = [(e.in_tree, *[(a.shape, a.dtype) for a in e.in_avals]) for e in exports]
        repeated = next((e for i, e in enumerate(exports) if calls[i] in calls[:i]), None)
        if repeated is not None:
            raise location.error(
                errors.ArtifactError,
                f"{name} would be saved twice for the same arguments: "
                f"{', '.join(a.short() for a in repeated.in_avals) or 'none'}",
                fix="leave one out, or save them under different names",
            )
        rows[name] = tuple([writer.signature(e) for e in exports])
    made = manifest.Manifest(key.installed_versions(), rows, tuple(writer.weights))
    try:
        return container.encode(manifest.encode(made), writer.sections)
    except OverflowError as error:
        raise errors.ArtifactError(errors.message(str(error), fix="save the functions to several files")) from None
