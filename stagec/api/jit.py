"""`jit`: trace once for each signature, compile once for each program, then run."""

from __future__ import annotations

import functools
import inspect
import time
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from passes.errors import PipelineError
from passes.fast_math import FLAGS, FastMath, setting
from stagec.api import spanning
from stagec.api.arguments import ArgumentRules, ShapeDtypeStruct, leaf_aval, leaf_value, leaf_values
from stagec.api.calls import FastPathDispatch, forget_fast_paths, runner
from stagec.api.checking import run_checked
from stagec.api.differences import why_again
from stagec.api.open_dimensions import OpenDimensions, solve, suggestion, unified
from stagec.api.pickling import reduced
from stagec.api.program import clear_executables
from stagec.api.references import (
    TracedReferences,
    all_references,
    only_called,
    passed_references,
    per_value,
    structures,
    write_back,
)
from stagec.api.settings import JitSettings, check_compiler_options
from stagec.api.sharded import refuse_others, single_device, with_shardings
from stagec.api.stage import struct
from stagec.api.stages import Lowered, Traced
from stagec.api.targets import chosen_target
from stagec.api.tiers import evaluation
from stagec.api.traces import TracedSignature, all_traces, traces_of
from stagec.compiler import kernel_cache, log
from stagec.compiler.build import user_passes
from stagec.control.call import jit_p
from stagec.core import errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.axis import named_axes
from stagec.core.callables import Function, P, R, R_co
from stagec.core.config import config, state
from stagec.core.dims_terms import Symbol
from stagec.core.frames import Frame
from stagec.core.graph import replay
from stagec.core.recording import trace_flat
from stagec.core.wrapping import shown_name, update_wrapper
from stagec.primitives.hitypes import as_reference, is_mutable
from stagec.primitives.references import Ref, inner_references, read, returned
from stagec.python_flow.outcome import result_of
from stagec.runtime import plans
from stagec.runtime.devices import Device
from stagec.runtime.mesh import AbstractMesh, Mesh, PartitionSpec
from stagec.runtime.placement import committed_device
from stagec.runtime.propagation import explicit_mesh, sign_results, spec_of, split_inputs
from stagec.runtime.runnable import Runnable

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class JitFunction(Function[P, R_co], FastPathDispatch):
    """A function that runs compiled. Made by `stagec.jit`."""

    def __init__(self, function: Callable[P, R_co], settings: JitSettings) -> None:
        update_wrapper(self, function)
        rules = settings.rules
        # After `update_wrapper`, which copies the attributes of a jitted `function`.
        super().__init__(rules.static_nums, rules.static_names)
        self._function = function
        self._settings = settings
        self._suggested: set[str] = set()
        self._name = self._stagec_shown_name = shown_name(function)
        self._cache = traces_of(
            function,
            (rules.static_nums, rules.static_names, rules.donate_nums, rules.donate_names)
            + (settings.keep_unused, settings.inline),
        )

    def _shown_name(self) -> str:
        return self._name

    @property
    def __signature__(self) -> inspect.Signature:
        try:
            return inspect.signature(self._function)
        except (TypeError, ValueError):  # of what is no Python function
            raise AttributeError("__signature__") from None

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tables = self._tables()
        if config.disable_jit:
            return self._function(*args, **kwargs)
        if self._settings.dynamic is not None and state.trace is None and not config.checks_values():
            found = self._open(args, kwargs)
            if found is not None:
                self._refuse_shapes(found[1], args, kwargs)
                return self._run_open(tables, *found, args, kwargs)
        if self._settings.in_shardings is not None and state.trace is None:
            refuse_others(self._settings.in_shardings, self._settings.rules, args, kwargs)
        trace, values, refs = self._traced_with_references(args, kwargs)
        self._refuse_shapes(values, args, kwargs)
        outs: Sequence[Any]
        everything = [*trace.captured, *values]
        mesh = spanning.mesh_of(trace.graph, everything) if state.trace is None else None
        if mesh is not None:
            options = self._settings.options(graph=trace.graph)
            part = spanning.Part(trace.graph, everything, mesh, options, trace.name)
            outs = part.run(everything)
            if state.has_fast_paths and not refs:
                arrange = self._settings.rules.arranger(args, kwargs)
                run_of = functools.partial(part.runner, trace.captured, trace.out_tree)
                self._remember(tables, trace.name, run_of, args, kwargs, arrange, trace.reads_mesh)
        elif state.trace is None:
            device, committed = self._settings.placement(trace, values)
            runnable = self._settings.runnable(trace, device)
            checked = config.checks_values()
            run = run_checked if checked else Runnable.run
            outs = run(runnable, values, committed, evaluation(runnable, self._settings.tiered))
            shardings = sign_results(trace.graph, self._settings.followed(everything), outs)
            known = state.has_fast_paths and not checked and not refs
            if known and (runnable.is_ready or runnable.trivial):
                arrange = self._settings.rules.arranger(args, kwargs)
                run_of = functools.partial(runner, runnable, committed, trace.out_tree, shardings)
                self._remember(tables, runnable.name, run_of, args, kwargs, arrange, trace.reads_mesh)
        elif self._settings.inline and not self._settings.reproducible:
            outs = replay(trace.graph, everything)
        else:
            outs = jit_p(*everything, name=trace.name, graph=trace.graph, **self._settings.of_calls)
        if refs:
            outs = write_back(trace, refs, outs)
        return trace.out_tree.unflatten(outs)

    def _refuse_shapes(self, values: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for i, value in enumerate(values):
            if type(value) is ShapeDtypeStruct:
                rules = self._settings.rules
                raise location.error(
                    errors.ArgumentTypeError,
                    f"argument {rules.leaf_names(*rules.bind(args, kwargs))[i]} of "
                    f"{location.of_function(self._function)} has a shape and a dtype, but no elements: {value}",
                    fix="pass an array; stagec.eval_shape, and the methods trace and lower, take shapes",
                )

    def _open(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[TracedSignature, list[Any], dict[Symbol, int]] | None:
        """The program for open dimensions, the leaves of a call, and the sizes that it has there.

        None where it does not run: arrays without elements, and functions of references, are for the static program.
        """
        settings, rules = self._settings, self._settings.rules
        assert settings.dynamic is not None, "only functions with open dimensions are asked"
        bound, named = rules.bind(args, kwargs)
        dynamic, dynamic_kwargs, static = rules.split(bound, named)
        leaves, in_tree = rules.flatten(bound, named, dynamic, dynamic_kwargs)
        if any(type(x) is Ref or is_mutable(x) for x in leaves):
            return None
        names = rules.leaf_names(bound, named)
        values = leaf_values(rules, leaves, lambda: names)
        avals = tuple([leaf_aval(v) for v in values])
        opened = settings.dynamic.avals(names, avals)
        if any(0 in a.shape and b.is_open for a, b in zip(avals, opened)):
            return None
        if any(a.is_open for a in avals):  # described with symbols
            return None
        key: Any = (in_tree, opened, static, config.trace_key())
        sizes = solve(self._name, names, opened, avals)
        trace = self._cache.get(key)
        if trace is None:
            trace = self._cache.made(key, lambda: self._record(rules, in_tree, opened, static, bound, named, {}))
        if trace.references is not None:
            return None
        return (trace, values, sizes) if trace.conditions().hold(sizes) else None

    def _run_open(
        self,
        tables: Any,
        trace: TracedSignature,
        values: list[Any],
        sizes: dict[Symbol, int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        device, committed = self._settings.placement(trace, values)
        runnable = self._settings.runnable(trace, device).at(sizes)
        outs = runnable.run(values, committed)
        if state.has_fast_paths:
            arrange = self._settings.rules.arranger(args, kwargs)
            run_of = functools.partial(runner, runnable, committed, trace.out_tree, None)
            self._remember(tables, runnable.name, run_of, args, kwargs, arrange)
        return trace.out_tree.unflatten(outs)

    def _traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], any_references: bool = False
    ) -> tuple[TracedSignature, list[Any]]:
        """The trace for these arguments, recorded if new, and the leaves as operands.

        Raises:
          UnsupportedError: the function reads or writes references.
        """
        trace, values, refs = self._traced_with_references(args, kwargs)
        if refs and not any_references:
            raise only_called(trace)
        return trace, values

    def _traced_with_references(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[TracedSignature, list[Any], list[Any]]:
        """The same, and the references whose values are among the operands: arguments first, then those closed over."""
        rules = self._settings.rules
        args, kwargs = rules.bind(args, kwargs)
        dynamic, dynamic_kwargs, static = rules.split(args, kwargs)
        leaves, in_tree = rules.flatten(args, kwargs, dynamic, dynamic_kwargs)
        leaves = [as_reference(leaf) for leaf in leaves]
        values = leaf_values(rules, leaves, lambda: rules.leaf_names(args, kwargs))
        avals = unified([leaf_aval(v) for v in values])
        key: Any = (in_tree, avals, static, config.trace_key())
        splits: tuple[Any, ...] = ()
        mesh: Mesh | AbstractMesh | None = state.mesh
        mesh = mesh or next((m for v in values if (m := explicit_mesh(v)) is not None), None)
        if mesh is not None:
            if mesh.explicit_axes:
                splits = tuple(map(spec_of, values))
            key = (*key, mesh, splits)
        passed = passed_references(leaves, lambda: rules.leaf_names(args, kwargs))
        inner = dict(zip(passed, structures(passed.values())))
        if passed:
            key = (*key, tuple(inner.items()))
        axes = named_axes() if state.trace is not None else ()
        if axes:
            key = (*key, axes)
        outer: tuple[pytree.PyTreeDef, ...] = ()
        while True:
            found = self._cache.get(key)
            if found is None:
                found = self._cache.made(
                    key, lambda: self._record(rules, in_tree, avals, static, args, kwargs, inner, splits, mesh)
                )
            if found.references is None:
                return found, values, []
            refs = all_references(found, passed)
            before, outer = outer, structures(found.references.outer)
            if outer in (before, found.references.begin):
                return found, values + pytree.leaves([read(r) for r in refs[len(passed) :]]), refs
            key = (*key, outer)  # what a reference from outside holds has another structure now

    def _record(
        self,
        rules: ArgumentRules,
        in_tree: pytree.PyTreeDef,
        avals: tuple[ShapedArray, ...],
        static: tuple[Any, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        passed: dict[int, pytree.PyTreeDef],
        splits: tuple[Any, ...] = (),
        mesh: Mesh | AbstractMesh | None = None,
    ) -> TracedSignature:
        names = per_value(rules.leaf_names(args, kwargs), passed)
        out_tree: pytree.PyTreeDef | None = None
        end: tuple[pytree.PyTreeDef, ...] = ()
        frame = Frame(own_inputs=True)

        def flat(*tracers: Any) -> list[Any]:
            nonlocal out_tree, end
            if mesh is not None:  # along axes that are not explicit, types say nothing
                split_inputs(tracers, splits or [PartitionSpec()] * len(tracers), mesh)
            given, inner = inner_references(tracers, passed)
            dynamic, dynamic_kwargs = in_tree.unflatten(given)
            call_args, call_kwargs = rules.join(dynamic, dynamic_kwargs, static)
            result = self._function(*call_args, **call_kwargs)
            leaves, out_tree = pytree.flatten(result)
            try:
                values = [None if type(leaf) is Ref or is_mutable(leaf) else leaf_value(leaf) for leaf in leaves]
            except errors.ArgumentTypeError as error:
                raise errors.about(f"the result of {location.of_function(self._function)}", error) from None
            for value, leaf in zip(values, leaves):
                if isinstance(value, (type(None), ShapeDtypeStruct)) or not (
                    hasattr(value, "dtype") or hasattr(value, "aval")
                ):
                    raise self._bad_output(result, leaf)
            last = [read(r) for r in (*inner, *frame.used)]
            end = tuple(map(pytree.structure, last))
            return values + pytree.leaves(last)

        donated = rules.donated_leaves(args, kwargs)
        started = time.perf_counter()
        mesh_reads = state.mesh_reads
        graph, captured = trace_flat(flat, avals, names, self._name, frame=frame)
        assert out_tree is not None, "the traced function ran"
        log.event(
            "trace",
            f"{self._name}: traced for {', '.join(a.short() for a in avals) or 'no arrays'}",
            equations=len(graph.equations),
            seconds=time.perf_counter() - started,
            **why_again(rules, names, (in_tree, avals, static, config.trace_key()), self._cache.traces),
        )
        if self._settings.dynamic is None and not any(a.is_open for a in avals):
            known = [key[1] for key in list(self._cache.traces) if key[0] == in_tree and key[2] == static]
            advice = suggestion(names, [*known, avals])
            if advice and advice not in self._suggested:
                self._suggested.add(advice)
                log.event("trace", f"{self._name}: sizes vary; jit({advice}) would compile once for all of them")
        references = None
        if passed or frame.used:
            names = names + ["a reference"] * (len(graph.inputs) - len(captured) - len(names))
            used, written = tuple(frame.used), tuple(frame.written)
            references = TracedReferences(len(passed), used, written, structures(used), end)
        return TracedSignature(
            graph,
            captured,
            in_tree,
            out_tree,
            self._name,
            location.of_function(self._function),
            names,
            [i for i, leaf in enumerate(per_value(range(in_tree.num_leaves), passed)) if leaf in donated],
            static,
            references,
            state.mesh_reads > mesh_reads,
        )

    def _bad_output(self, result: Any, leaf: Any) -> errors.OutputTypeError:
        paths, _ = pytree.flatten_with_path(result)
        path = next((p for p, v in paths if v is leaf), ())
        where = f"result{pytree.keystr(path)}"
        return location.error(
            errors.OutputTypeError,
            f"{location.of_function(self._function)} returned something that is not an array or a number",
            [(where, errors.brief(leaf), errors.a_kind(type(leaf)))],
            returned(leaf)
            or "return arrays, numbers, or containers of them; return other values from a function without jit",
        )

    def __reduce__(self) -> str | tuple[Any, ...]:
        settings = self._settings
        rules = settings.rules
        arguments = dict(
            static_argnums=sorted(rules.static_nums),
            static_argnames=sorted(rules.static_names),
            donate_argnums=sorted(rules.donate_nums),
            donate_argnames=sorted(rules.donate_names),
            keep_unused=settings.keep_unused,
            inline=settings.inline,
            device=settings.device,
            target=None if settings.target is None else str(settings.target),
            fast_math=settings.fast_math,
            passes=settings.passes,
            tiered=settings.tiered,
            dynamic=None if settings.dynamic is None else settings.dynamic.given,
            reproducible=settings.reproducible,
        )
        function, more = self._given()
        return reduced(self, function, _jitted, {**arguments, **more})

    def _given(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The function that `jit` was given, and arguments that no setting holds."""
        return self._function, {}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        text = location.of_function(self._function)
        if self._name.endswith(")"):  # a derivative, which has the attributes of its function
            text = self._name + "".join(text.partition(" at ")[1:])
        return f"<stagec.jit of {text}>"

    # Stages.

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for these arguments (arrays or `ShapeDtypeStruct`s); returns a `stages.Traced`."""
        return self._stage(args, kwargs)

    def _stage(self, args: tuple[Any, ...], kwargs: dict[str, Any], any_references: bool = False) -> Traced:
        opened = None
        if self._settings.dynamic is not None and state.trace is None:
            opened = self._open(args, kwargs)
        trace, values = self._traced(args, kwargs, any_references) if opened is None else opened[:2]
        device = self._settings.device or committed_device(values, trace.name, trace.leaf_names.__getitem__)
        return Traced(self._settings, trace, device, values)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower to StableHLO; returns a `stages.Lowered`."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the result, without computing it."""
        return self._stage(args, kwargs, True).out_info

    def clear_cache(self) -> None:
        """Forget the traces of this function, and what runs them."""
        self._cache.traces.clear()
        self._forget()

    def _cache_size(self) -> int:
        return len(self._cache.traces)


class PythonFunction(JitFunction[P, R_co]):
    """A function that runs compiled, with Python's own control flow."""

    def __init__(self, function: Callable[P, R_co], settings: JitSettings) -> None:
        from stagec.python_flow import entry  # few functions need it

        self._python_function = function
        self._finish = entry.finish
        super().__init__(entry.python_function(function), settings)

    def _given(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        return self._python_function, {"python": True}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._finish(self._settings.rules, super().__call__(*args, **kwargs), args, kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        trace = self.trace(*args, **kwargs)._trace
        return result_of(trace.out_tree.unflatten(list(map(struct, trace.graph.out_avals))))


def _jitted(function: Any, arguments: dict[str, Any]) -> Any:
    """Restore a jitted function that was pickled by value."""
    return jit(function, **arguments)


def as_jitted(fun: Any, args: tuple[Any, ...]) -> tuple[JitFunction[..., Any], tuple[Any, ...]]:
    """A function as a jitted one, and its arguments with the object that a method is bound to."""
    if isinstance(fun, types.MethodType) and isinstance(fun.__func__, JitFunction):
        return fun.__func__, (fun.__self__, *args)
    if isinstance(fun, JitFunction):
        return fun, args
    return jit(fun), args


def clear_caches() -> None:
    """Forget all traces and loaded programs of this process. The disk cache stays."""
    for cache in all_traces():
        cache.traces.clear()
    forget_fast_paths()
    plans.forget()
    clear_executables()
    kernel_cache.forget()


class _Options(TypedDict, total=False):
    """The options of `jit`, for type checkers."""

    static_argnums: int | Iterable[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Iterable[int] | None
    donate_argnames: str | Iterable[str] | None
    keep_unused: bool
    inline: bool
    device: Device | str | None
    backend: str | None
    target: str | None
    fast_math: FastMath | None
    passes: Any
    tiered: bool | Literal["exact"] | None
    dynamic: Mapping[str, str] | None
    in_shardings: Any
    out_shardings: Any
    compiler_options: Mapping[str, Any] | None
    python: bool
    reproducible: bool


@overload
def jit(fun: Callable[P, R], /, **options: Unpack[_Options]) -> JitFunction[P, R]: ...
@overload
def jit(fun: None = None, /, **options: Unpack[_Options]) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...
def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
    device: Device | str | None = None,
    backend: str | None = None,
    target: str | None = None,
    fast_math: FastMath | None = None,
    passes: Any = (),
    tiered: bool | Literal["exact"] | None = None,
    dynamic: Mapping[str, str] | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
    python: bool = False,
    reproducible: bool = False,
) -> Any:
    """Compile a function: it is traced once for each signature, and runs as machine code.

    Args:
      fun: a function of arrays and pytrees of arrays. Its side effects happen
        while tracing only. Without it, `jit` returns a decorator.
      static_argnums, static_argnames: arguments that are Python values and part
        of the signature; they must be hashable.
      donate_argnums, donate_argnames: arguments whose memory results may reuse;
        the arrays must not be used afterwards.
      keep_unused: pass arguments to the program that it does not read.
      inline: inside another traced function, insert the equations instead of a call.
      device, backend: where to run, such as `"vulkan"` or one of `stagec.devices()`; by default,
        where the arguments are.
      target: what to compile for, such as `"cpu:x86-64-v3"` or `"cuda:sm_80"`.
      fast_math: True allows rewrites that change rounding; a string such as `"nnan,nsz"` allows only those that assume
        the flags named (`passes.fast_math.FLAGS`).
      passes: your own patterns and passes, one or a list of them, run before the built-in ones.
      tiered: True has NumPy evaluate calls until the compiler, which works in the background, is done; `"exact"` does
        so for programs only of which both compute the same bits. By default, the option `tiered` decides.
      dynamic: arguments whose dimensions are open, such as `{"x": "b, _"}`: the function is traced and compiled once
        for all sizes that a name such as `b` may have. `_` is the size of the first call, `...` all axes between.
      in_shardings: how the positional arguments that are not static are split among devices: a `NamedSharding`, a
        `PartitionSpec` for the mesh in force, or a pytree prefix of these; None for what stays as it is.
      out_shardings: how the results are split; by default, as follows from the arguments.
      compiler_options: options of XLA by name, which have no effect; for code written for JAX.
      python: Python's own `if`, `for`, `while`, `break` and `return` may depend on traced values, and arrays may be
        written in place; the function is rewritten from its source.
      reproducible: results have the same bits on every CPU, in C libraries and in WebAssembly; NaN may have other bits.

    Returns:
      A `JitFunction` with the same signature, and `lower`, `trace`,
      `eval_shape` and `clear_cache`.

    Raises:
      StaticArgumentError: a static argument does not exist or is not hashable.
      ArgumentTypeError: an argument is not an array, a number, or a pytree of these.
      ConcretizationError: the function needs a value while it is traced.
      DeviceError: arguments are committed to different devices.
      ValueError: `tiered` is something else, or an argument is committed and otherwise split than `in_shardings` says.
      CompileError: `compiler_options` has a name that no option of XLA has.
      DimensionError: the function cannot be compiled for every size, or sizes at a call do not agree.
      PipelineError: an item of `passes` is not a pass, or `fast_math` is not a setting (`passes.PipelineError`).

    >>> import stagec, stagec.numpy as snp
    >>> @stagec.jit
    ... def selu(x, alpha=1.67, lmbda=1.05):
    ...     return lmbda * snp.where(x > 0, x, alpha * snp.exp(x) - alpha)
    >>> selu(snp.array([1.0, 2.0]))
    Array([1.05, 2.1 ], dtype=float32)
    """
    options = {name: value for name, value in locals().items() if name != "fun"}
    if fun is None:
        return functools.partial(jit, **options)
    if not callable(fun):
        raise location.error(
            TypeError,
            f"jit takes a function, got {type(fun).__name__}",
            fix="write stagec.jit(f)(x), not stagec.jit(f(x))",
        )
    if device is None:
        device = single_device(in_shardings, out_shardings)
    chosen, on_device = chosen_target(target, backend, device)
    rules = ArgumentRules(fun, static_argnums, static_argnames, donate_argnums, donate_argnames)
    granted = _granted(fast_math)
    if tiered not in (None, True, False, "exact"):
        raise location.error(
            ValueError, f"jit: tiered={errors.brief(tiered)} is not a setting", fix="give True, False or 'exact'"
        )
    check_compiler_options(compiler_options, "jit")
    extra = user_passes(passes)
    opened = None if dynamic is None else OpenDimensions(location.of_function(fun), dynamic)
    if in_shardings is not None or out_shardings is not None:
        fun = with_shardings(fun, rules, in_shardings, out_shardings)
    arguments = JitSettings(
        rules, keep_unused, inline, chosen, on_device, granted, extra, tiered, opened, reproducible, in_shardings
    )
    return PythonFunction(fun, arguments) if python else JitFunction(fun, arguments)


def _granted(fast_math: FastMath | None) -> bool | str | None:
    try:
        return None if fast_math is None else setting(fast_math)
    except PipelineError:
        raise location.error(
            PipelineError,
            f"jit: fast_math={errors.brief(fast_math)} is not a setting",
            fix=f"give True, False, or names of {', '.join(FLAGS)}, such as 'nnan,nsz'",
        ) from None
