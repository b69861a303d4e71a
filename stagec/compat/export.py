"""`jax.export`: functions as files that JAX reads, too, for open dimensions as well, and symbolic dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import stagec.numpy as snp
from stagec import dtypes
from stagec.api.arguments import ShapeDtypeStruct
from stagec.api.derivatives import vjp
from stagec.api.jit import jit
from stagec.api.open_dimensions import shape_fits, solve
from stagec.api.portable import serialize
from stagec.core import errors, location, pytree, treedef
from stagec.core.aval import ShapedArray
from stagec.core.cached import cached_property
from stagec.core.dims import bounds as symbolic_dim_bounds, is_open as is_symbolic_dim
from stagec.core.dims_text import Scope as SymbolicScope
from stagec.core.dtypes import is_inexact
from stagec.foreign import jax_export, jax_trees
from stagec.foreign.flatbuffer import Fields, written
from stagec.foreign.function import Imported, from_stablehlo
from stagec.primitives.operand import aval_of
from stagec.runtime.devices import default

__all__ = [
    "DisabledSafetyCheck", "Exported", "SymbolicScope", "default_export_platform", "deserialize", "export",
    "is_symbolic_dim", "maximum_supported_calling_convention_version", "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization", "register_pytree_node_serialization", "symbolic_args_specs",
    "symbolic_dim_bounds", "symbolic_shape",
]  # fmt: skip
minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = jax_export.CONVENTION


class DisabledSafetyCheck:
    """A check of JAX's that a file asks to leave out; made by `platform` and `custom_call`."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """The file may run on other platforms than those that it was exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """The program may have calls of this target."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The target that the check allows, if it is one of `custom_call`."""
        return self._text.partition(":")[2] or None

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class Exported:
    """A function as `jax.export` has it: StableHLO, and the types and structures of its arguments and results.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the structures of `(args, kwargs)` and of the results.
      in_avals, out_avals: the types of the leaves; sizes may be symbolic dimensions.
      platforms: the platforms that it was exported for.
      disabled_safety_checks: checks that a reader may leave out.
      mlir_module_serialized: the portable artifact of StableHLO.
      module_kept_var_idx: which leaves of the arguments the module takes.
      calling_convention_version, nr_devices, ordered_effects, unordered_effects: as in JAX.
      uses_global_constants: whether sizes are symbolic, or there are several platforms.
    """

    nr_devices = 1
    ordered_effects: tuple[Any, ...] = ()
    unordered_effects: tuple[Any, ...] = ()

    def __init__(self, record: dict[str, Any], derived: Callable[[], Exported] | None) -> None:
        self.fun_name: str = record["name"]
        self.in_tree: pytree.PyTreeDef = record["in_tree"]
        self.out_tree: pytree.PyTreeDef = record["out_tree"]
        self.in_avals: tuple[ShapedArray, ...] = tuple(record["in_avals"])
        self.out_avals: tuple[ShapedArray, ...] = tuple(record["out_avals"])
        self.platforms: tuple[str, ...] = tuple(record["platforms"])
        self.disabled_safety_checks: tuple[DisabledSafetyCheck, ...] = tuple(record["checks"])
        self.mlir_module_serialized: bytes = record["module"]
        self.module_kept_var_idx: tuple[int, ...] = tuple(record["kept"])
        self.calling_convention_version: int = record["convention"]
        self.uses_global_constants = len(self.platforms) > 1 or any(a.is_open for a in self.in_avals)
        self._derived = derived

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def mlir_module(self) -> str:
        """The program as StableHLO's text."""
        from stagec.foreign import parsed  # the compiler, which a program that is stored does not need

        return parsed.text(self.mlir_module_serialized, self.fun_name)

    def in_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """None for each leaf of the arguments, which are on one device."""
        return (None,) * len(self.in_avals)

    def out_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """None for each leaf of the results, which are on one device."""
        return (None,) * len(self.out_avals)

    def has_vjp(self) -> bool:
        """Whether `vjp` returns a function."""
        return self._derived is not None

    def vjp(self) -> Exported:
        """The function from the leaves of the arguments and the cotangents of the results to those of the arguments.

        Raises:
          ValueError: the function was read from a file without it.
        """
        if self._derived is None:
            fix = "serialize the function with vjp_order=1, or differentiate `call`, which is possible here"
            raise location.error(ValueError, f"{self.fun_name} was serialized without its derivative", fix=fix)
        return self._derived()

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes for `deserialize` of stagec and of JAX.

        Args:
          vjp_order: how many orders of `vjp` to include, for JAX, which differentiates by them.
        """
        return bytearray(written(self._fields(vjp_order)))

    def _fields(self, vjp_order: int) -> Fields:
        return jax_export.written(
            self.fun_name,
            self.mlir_module_serialized,
            (self.in_tree, self.out_tree),
            (self.in_avals, self.out_avals),
            self.platforms,
            self.module_kept_var_idx,
            [str(check) for check in self.disabled_safety_checks],
            self.vjp()._fields(vjp_order - 1) if vjp_order > 0 else None,
        )

    @cached_property
    def _function(self) -> Imported:
        return from_stablehlo(self.mlir_module_serialized)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program, in stagec's functions and transformations, too.

        Raises:
          PytreeError: the arguments have another structure.
          ShapeError, DtypeError, DimensionError: an argument has another type.
        """
        leaves = self.in_tree.flatten_up_to((args, kwargs))
        names = [f"argument {i}" for i in range(len(leaves))]
        values = [_checked(self.fun_name, *row) for row in zip(names, leaves, self.in_avals)]
        solve(self.fun_name, names, self.in_avals, [aval_of(x) for x in values])
        results = jax_export.run(self._function, values, self.module_kept_var_idx, self.platforms)
        return self.out_tree.unflatten(
            [np.zeros(r.shape, a.dtype) if a.dtype == dtypes.float0 else r for r, a in zip(results, self.out_avals)]
        )


def _checked(function: str, name: str, value: Any, aval: ShapedArray) -> Any:
    """A leaf as an array of the type that the function takes, whose open sizes may differ."""
    given = getattr(value, "dtype", None)
    if aval.dtype == dtypes.float0:
        return np.zeros(np.shape(value), np.bool_)
    if given is None:
        value = np.asarray(value, aval.dtype)
    found = aval_of(value)
    if found.dtype != aval.dtype:
        what = f"{function} was exported for another dtype of {name}"
        rows = [("given", found.long(), ""), ("exported", aval.long(), "")]
        raise location.error(errors.DtypeError, what, rows, "convert it with `astype`")
    if not shape_fits(aval, found):
        what = f"{function} was exported for another shape of {name}"
        rows = [("given", found.long(), ""), ("exported", aval.long(), "")]
        raise location.error(errors.ShapeError, what, rows, "pass an array of this shape, or export it for this one")
    return value


def export(
    fun_jit: Any, *, platforms: Sequence[str] | None = None, disabled_checks: Sequence[DisabledSafetyCheck] = ()
) -> Callable[..., Exported]:
    """Export a jitted function: the result takes arrays, or descriptions of arrays, and returns an `Exported`.

    Args:
      fun_jit: what `jax.jit` returned.
      platforms: the platforms to export for, such as `("cpu", "cuda")`; by default the default one.
      disabled_checks: checks that a reader may leave out.

    >>> import stagec, stagec.numpy as snp
    >>> described = stagec.ShapeDtypeStruct(symbolic_shape("b, 3"), "float32")
    >>> exported = export(stagec.jit(lambda x: x.reshape(-1) * 2))(described)
    >>> exported.in_avals, exported.out_avals
    ((ShapedArray(float32[b,3]),), (ShapedArray(float32[3*b]),))
    >>> deserialize(exported.serialize()).call(snp.ones((2, 3))).shape
    (6,)
    """
    if not hasattr(fun_jit, "trace"):
        what = f"jax.export.export takes what jax.jit returns, not {errors.brief(fun_jit)}"
        raise location.error(ValueError, what, fix="pass jax.jit(f)")
    chosen = (default_export_platform(),) if platforms is None else tuple(platforms)
    return lambda *args, **kwargs: _exported(fun_jit, args, kwargs, chosen, disabled_checks)


def _exported(
    function: Any,
    args: Any,
    kwargs: Any,
    platforms: Sequence[str],
    checks: Sequence[DisabledSafetyCheck],
    avals: Any = None,
) -> Exported:
    """The function for these arguments; `avals` has the types of its leaves, where some are of `float0`."""
    trace = function.trace(*args, **kwargs)._trace
    taken, made = (trace.graph.in_avals[len(trace.captured) :], trace.graph.out_avals) if avals is None else avals
    record = {
        "name": trace.name,
        "in_tree": _arguments(trace.in_tree),
        "out_tree": trace.returned(),
        "in_avals": taken,
        "out_avals": made,
        "platforms": platforms,
        "checks": checks,
        "module": serialize(trace, None, False, len(platforms) > 1),
        "kept": range(len(taken)),
        "convention": jax_export.CONVENTION,
    }
    return Exported(record, lambda: _derivative(function, record))


def _arguments(tree: pytree.PyTreeDef) -> pytree.PyTreeDef:
    """The structure of `(args, kwargs)`, with the positional arguments as a tuple."""
    args, kwargs = tree.children()
    return treedef.make(tuple, None, (treedef.make(tuple, None, tuple(args.children())), kwargs))


def _derivative(function: Callable[..., Any], record: dict[str, Any]) -> Exported:
    """The `vjp` of an exported function. Booleans stand for elements of `float0`, which have no data."""
    in_avals, out_avals, in_tree = (record[key] for key in ("in_avals", "out_avals", "in_tree"))

    def flat(*leaves: Any) -> list[Any]:
        args, kwargs = in_tree.unflatten(leaves)
        return pytree.leaves(function(*args, **kwargs))

    def derivative(*leaves: Any) -> tuple[Any, ...]:
        primals, given = leaves[: len(in_avals)], leaves[len(in_avals) :]
        found = vjp(flat, *primals)[1]([_cotangent(*pair) for pair in zip(given, out_avals)])
        return tuple([snp.zeros(ct.shape, bool) if ct.dtype == dtypes.float0 else ct for ct in found])

    derivative.__name__ = f"vjp_{record['name']}"
    tangents = [
        a if is_inexact(a.dtype) else a.update(dtype=dtypes.float0, weak_type=False) for a in (*in_avals, *out_avals)
    ]
    taken, made = (*in_avals, *tangents[len(in_avals) :]), tangents[: len(in_avals)]
    args = [ShapeDtypeStruct(a.shape, bool if a.dtype == dtypes.float0 else a.dtype) for a in taken]
    return _exported(jit(derivative), args, {}, record["platforms"], record["checks"], (taken, made))


def _cotangent(given: Any, aval: ShapedArray) -> Any:
    """The cotangent of a result, which is none for those without derivatives."""
    return given if is_inexact(aval.dtype) or aval.dtype == dtypes.float0 else snp.zeros(aval.shape, aval.dtype)


def deserialize(blob: bytes | bytearray) -> Exported:
    """Read what `Exported.serialize` of stagec or of JAX wrote.

    Raises:
      ArtifactError: it is no such file, or is damaged.
    """
    found = jax_export.read(bytes(blob), "the exported function")
    if found is None:
        fix = "pass what `serialize` of an exported function returned"
        raise location.error(errors.ArtifactError, "these bytes are no function of jax.export", fix=fix)
    return _of_file(found)


def _of_file(found: jax_export.Exported) -> Exported:
    in_avals, out_avals = found.avals()
    record = {
        "name": found.name,
        "in_tree": found.in_tree,
        "out_tree": found.out_tree,
        "in_avals": in_avals,
        "out_avals": out_avals,
        "platforms": found.platforms,
        "checks": [DisabledSafetyCheck(text) for text in found.disabled_checks()],
        "module": found.module,
        "kept": found.kept,
        "convention": found.convention(),
    }
    derived = found.vjp()
    return Exported(record, None if derived is None else lambda: _of_file(derived))


def default_export_platform() -> str:
    """The platform that `export` takes by default."""
    return default().platform


def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type:
    """Let exported functions take and return instances of a pytree class; returns the class."""
    jax_trees.register(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children)
    return nodetype


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Let exported functions take and return named tuples of a class; returns the class."""
    jax_trees.register_named_tuple(nodetype, serialized_name)
    return nodetype


def symbolic_shape(
    shape_spec: str, *, constraints: Sequence[str] = (), scope: SymbolicScope | None = None, like: Any = None
) -> tuple[Any, ...]:
    """A shape with open dimensions, for `jax.ShapeDtypeStruct`.

    Args:
      shape_spec: sizes, as in `"b, 2*b, 784"`; `_` and `...` stand for sizes of `like`.
      constraints: what holds of the sizes, as in `"b >= 8"`.
      scope: holds constraints of its own.
      like: a shape.

    >>> symbolic_shape("(b, _, ...)", constraints=["b >= 8"], like=(1, 2, 3, 4))
    (b, 2, 3, 4)
    """
    if scope is not None and constraints:
        raise location.error(
            ValueError, "both a scope and constraints are given", fix="give the constraints to the scope"
        )
    scope = SymbolicScope(constraints) if scope is None else scope
    found, known = list(scope.shape(shape_spec)), tuple(like or ())
    if ... in found:
        at = found.index(...)
        found[at : at + 1] = known[at : len(known) - len(found) + at + 1]
    return tuple([known[i] if size is None else size for i, size in enumerate(found)])


def symbolic_args_specs(
    args: Any, shapes_specs: Any, constraints: Sequence[str] = (), scope: SymbolicScope | None = None
) -> Any:
    """The arguments `args`, arrays or descriptions of arrays, as descriptions with symbolic shapes.

    Args:
      shapes_specs: a text for all arrays, None for known shapes, or such texts in the upper part of the structure of
        `args`.
      constraints, scope: as of `symbolic_shape`.

    >>> symbolic_args_specs((np.ones((4, 3)), np.ones(4)), ("b, _", "b"))
    (ShapeDtypeStruct(shape=(b, 3), dtype=float32), ShapeDtypeStruct(shape=(b,), dtype=float32))
    """
    leaves, tree = pytree.flatten(args)
    if isinstance(args, tuple) and isinstance(shapes_specs, list):
        shapes_specs = tuple(shapes_specs)
    texts = pytree.broadcast_prefix(shapes_specs, args, is_leaf=lambda part: part is None)
    if scope is not None and constraints:
        raise location.error(
            ValueError, "both a scope and constraints are given", fix="give the constraints to the scope"
        )
    scope = SymbolicScope(constraints) if scope is None else scope
    found = []
    for leaf, text in zip(leaves, texts):
        like = ShapeDtypeStruct.like(leaf)
        shape = like.shape if text is None else symbolic_shape(text, scope=scope, like=like.shape)
        found.append(ShapeDtypeStruct(shape, like.dtype))
    return tree.unflatten(found)
