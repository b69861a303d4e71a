"""Reads and writes what `jax.export` serializes, without JAX: the module, and types of arguments and results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stagec.backends import BACKENDS
from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.dims import Dim
from stagec.core.dims_terms import Size, Symbol, Variable
from stagec.core.dims_text import Scope
from stagec.foreign import jax_trees
from stagec.foreign.damaged import Damaged
from stagec.foreign.flatbuffer import Fields, Numbers, Table

# Fields of the tables, by their numbers in JAX's schema (jax/_src/export/serialization.fbs). Fields keep their numbers.
_VERSION, _NAME, _IN_TREE, _IN_AVALS, _OUT_TREE, _OUT_AVALS, _DEVICES_SHORT, _IN_SHARDINGS, _OUT_SHARDINGS = range(9)
_PLATFORMS, _ORDERED_EFFECTS, _EFFECTS, _CHECKS, _MODULE, _CONVENTION, _KEPT, _IS_OPEN, _VJP, _DEVICES = range(9, 19)
_AVALS, _IN_NUMBERS, _OUT_NUMBERS = 19, 22, 23
_SHAPE, _DTYPE, _SPACE = 1, 2, 3
_CHECK_KIND, _CHECK_TARGET = 0, 1
# The oldest schema with these fields, as JAX itself writes it, and the newest convention of calls.
_SCHEMA, CONVENTION = 3, 10
# The dtypes by their numbers in the schema.
_DTYPES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 bfloat16 int4
    uint4 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float0 float8_e4m3 float8_e3m4
    float8_e8m0fnu float4_e2m1fn
""".split()
_AGAIN = "export it again, or copy the file again, in binary mode"


class Exported(NamedTuple):
    """A function of `jax.export`.

    Attributes:
      name: the function's name.
      module: StableHLO's portable artifact.
      in_tree: the structure of `(args, kwargs)`.
      out_tree: the structure of the results.
      platforms: the platforms that it was exported for.
      kept: which leaves of the arguments the module takes.
      table: what else the file has.
    """

    name: str
    module: bytes
    in_tree: pytree.PyTreeDef
    out_tree: pytree.PyTreeDef
    platforms: tuple[str, ...]
    kept: tuple[int, ...]
    table: Table

    def avals(self) -> tuple[list[ShapedArray], list[ShapedArray]]:
        """The types of the leaves of the arguments and of the results.

        Raises:
          ArtifactError: a type is none of stagec's.
        """
        scope = Scope()
        try:
            shared = [_aval(table, scope) for table in self.table.tables(_AVALS)]
            found = []
            for numbers, field in ((_IN_NUMBERS, _IN_AVALS), (_OUT_NUMBERS, _OUT_AVALS)):
                chosen = self.table.numbers(numbers, "I")
                found.append([shared[i] for i in chosen] or [_aval(table, scope) for table in self.table.tables(field)])
        except (Damaged, IndexError, UnicodeDecodeError, errors.DimensionError) as error:
            raise _refuse(self.name, f"has types that cannot be read: {error}") from None
        return found[0], found[1]

    def convention(self) -> int:
        """The version of the convention of calls."""
        return self.table.number(_CONVENTION, "H")

    def disabled_checks(self) -> list[str]:
        """The checks that were disabled when it was exported: `platform`, or `custom_call:` and a name."""
        found = []
        for table in self.table.tables(_CHECKS):
            name = table.bytes(_CHECK_TARGET).decode(errors="replace")
            found.append(f"custom_call:{name}" if table.number(_CHECK_KIND, "b") == 1 else "platform")
        return found

    def vjp(self) -> Exported | None:
        """The function of the derivatives, if the file has one."""
        table = self.table.table(_VJP)
        return None if table is None else _read(table, table.bytes(_MODULE), f"the derivative in {self.name}")

    def call(self, flat: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call the module, as a function of as many arrays, with the function's own arguments."""
        leaves, tree = pytree.flatten((tuple(args), kwargs))
        if tree != self.in_tree:
            raise location.error(
                errors.ArgumentTypeError,
                f"{self.name} was exported for arguments of another structure",
                [("given", str(tree), ""), ("exported", str(self.in_tree), "")],
                "pass the containers that it was exported with",
            )
        return self.out_tree.unflatten(run(flat, leaves, self.kept, self.platforms))

    def arguments(self, parameters: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The function's arguments from descriptions of the module's; zeros stand for arguments that the
        module does not take.
        """
        leaves: list[Any] = [0.0] * self.in_tree.num_leaves
        for i, parameter in zip(self.kept, parameters[len(self.platforms) > 1 :]):
            leaves[i] = parameter
        args, kwargs = self.in_tree.unflatten(leaves)
        return args, kwargs


def run(
    flat: Callable[..., Any], leaves: Sequence[Any], kept: Sequence[int], platforms: Sequence[str]
) -> Sequence[Any]:
    """The results of a module for the leaves of its arguments.

    Args:
      flat: the module as a function of arrays.
      kept: which leaves it takes.
      platforms: those that it is for; if they are several, it takes the number of one first.
    """
    values = [leaves[i] for i in kept]
    if len(platforms) > 1:
        here = next((platforms.index(name) for name in BACKENDS if name in platforms), 0)
        values.insert(0, np.asarray(here, np.int32))
    found = flat(*values)
    return found if isinstance(found, tuple) else (found,)


def read(data: bytes, name: str) -> Exported | None:
    """The function that these bytes hold; None if they are something else.

    Raises:
      ArtifactError: they are such a file, but cannot be used here.
    """
    try:
        root = Table.root(data)
        module = root.bytes(_MODULE)
    except Damaged:
        return None
    if not module.startswith(b"ML\xefR"):
        return None
    try:
        return _read(root, module, name)
    except (Damaged, UnicodeDecodeError) as error:
        raise _refuse(name, f"is damaged: {error}") from None


def _read(root: Table, module: bytes, name: str) -> Exported:
    trees = [root.table(field) for field in (_IN_TREE, _OUT_TREE)]
    if None in trees:
        raise _refuse(name, "lacks the structure of its function's arguments and results")
    in_tree, out_tree = (jax_trees.Reader(name).structure(tree) for tree in trees)
    devices = root.number(_DEVICES, "I") or root.number(_DEVICES_SHORT, "h", 1)
    if devices > 1:
        raise _refuse(name, f"was exported for {devices} devices", "export it for one")
    if list(root.tables(_ORDERED_EFFECTS)):
        raise _refuse(name, "has ordered effects, such as prints of JAX", "export the function without them")
    function = root.bytes(_NAME).decode()
    kept = tuple(root.numbers(_KEPT, "H"))
    if any(i >= in_tree.num_leaves for i in kept):
        raise _refuse(name, "is damaged: it takes an argument that it does not have")
    return Exported(function or name, module, in_tree, out_tree, tuple(root.strings(_PLATFORMS)), kept, root)


def _aval(table: Table, scope: Scope) -> ShapedArray:
    number = table.number(_DTYPE, "b")
    if table.number(0, "b") or not 0 <= number < len(_DTYPES):
        raise Damaged("a type is no array of numbers")
    name = _DTYPES[number]
    dtype = dtypes.float0 if name == "float0" else dtypes.parse(name)
    shape = scope.shape(", ".join(table.strings(_SHAPE)))
    if any(n is None or n is ... for n in shape):
        raise Damaged("a shape has an unknown size")
    return ShapedArray.of(shape, dtype)


def written(
    name: str,
    module: bytes,
    trees: tuple[pytree.PyTreeDef, pytree.PyTreeDef],
    avals: tuple[Sequence[ShapedArray], Sequence[ShapedArray]],
    platforms: Sequence[str],
    kept: Sequence[int],
    checks: Sequence[str],
    vjp: Fields | None,
) -> Fields:
    """The table of a function for `jax.export.deserialize`.

    Raises:
      ValueError, TypeError: see `jax_trees.written`.
      UnsupportedError: JAX has no such dtype.
    """
    taken, made = avals
    fields: Fields = {
        _VERSION: ("H", _SCHEMA),
        _NAME: name,
        _IN_TREE: jax_trees.written(trees[0]),
        _IN_AVALS: [_written_aval(a) for a in taken],
        _OUT_TREE: jax_trees.written(trees[1]),
        _OUT_AVALS: [_written_aval(a) for a in made],
        _IN_SHARDINGS: [{} for _ in taken],
        _OUT_SHARDINGS: [{} for _ in made],
        _PLATFORMS: list(platforms),
        _ORDERED_EFFECTS: [],
        _EFFECTS: [],
        _CHECKS: [_written_check(check) for check in checks],
        _MODULE: module,
        _CONVENTION: ("H", CONVENTION),
        _KEPT: Numbers("H", kept),
        _IS_OPEN: ("?", len(platforms) > 1 or any(a.is_open for a in taken)),
        _DEVICES: ("I", 1),
    }
    return fields if vjp is None else {**fields, _VJP: vjp}


def _written_aval(aval: ShapedArray) -> Fields:
    if aval.dtype != dtypes.float0 and aval.dtype.name not in _DTYPES:
        what = f"{aval.long()} has a dtype that files of jax.export do not hold"
        raise location.error(errors.UnsupportedError, what, fix="take and return arrays of numbers")
    name = "float0" if aval.dtype == dtypes.float0 else aval.dtype.name
    return {_SHAPE: [dim_text(n) for n in aval.shape], _DTYPE: ("b", _DTYPES.index(name)), _SPACE: ("b", 1)}


def _written_check(check: str) -> Fields:
    kind, _, target = check.partition(":")
    return {_CHECK_KIND: ("b", kind == "custom_call")} | ({_CHECK_TARGET: target} if target else {})


def dim_text(size: Size) -> str:
    """A size as JAX writes it.

    >>> from stagec.core.dims import symbol
    >>> dim_text(symbol("b") ** 2 // 3 + symbol("n") % 5)
    'floordiv(b^2, 3) + mod(n, 5)'
    """
    if not isinstance(size, Dim):
        return str(size)
    common = math.lcm(*[c.denominator for _, c in size.terms])
    if common != 1:  # JAX has no shares; whether it is a whole number is checked at the call
        return f"floordiv({dim_text(size * common)}, {common})"
    found = ""
    for monomial, coefficient in size.terms:
        factors = [_variable_text(v) + (f"^{n}" if n > 1 else "") for v, n in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        sign = ("- " if coefficient < 0 else "+ ") if found else "-" * (coefficient < 0)
        found += f"{' ' * bool(found)}{sign}{'*'.join(factors)}"
    return found


def _variable_text(variable: Variable) -> str:
    if isinstance(variable, Symbol):
        return variable.name
    name = {"//": "floordiv", "%": "mod"}.get(variable.kind, variable.kind)
    return f"{name}({dim_text(variable.left)}, {dim_text(variable.right)})"


def _refuse(name: str, what: str, fix: str = _AGAIN) -> errors.ArtifactError:
    return location.error(errors.ArtifactError, f"{name} {what}", fix=fix)
