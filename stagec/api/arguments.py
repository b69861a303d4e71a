"""Arguments of a jitted call: static and dynamic ones, their leaves and their names."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.cached import cached_property
from stagec.core.dims_text import sizes
from stagec.core.exact_key import StaticValue
from stagec.core.foreign import from_foreign
from stagec.core.graph import Literal
from stagec.core.lossy import refuse_lossy
from stagec.core.operators import ArrayOperators
from stagec.core.trace import Tracer, leaked
from stagec.primitives.axes import as_shape
from stagec.primitives.hitypes import Mutable
from stagec.primitives.operand import as_operand, aval_of, conversion
from stagec.primitives.references import Ref, read
from stagec.runtime.array import Array


class ShapeDtypeStruct:
    """Shape and dtype of an array that need not exist, for `lower`, `eval_shape`, `trace` and `export`.

    Names in the shape are open dimensions, as in `("b", 784)` or `"b >= 8, 784"`.

    >>> import stagec
    >>> stagec.ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(self, shape: Any, dtype: Any, weak_type: bool = False, sharding: Any = None) -> None:
        self.shape = as_shape(sizes(shape), "ShapeDtypeStruct")
        self.dtype = dtypes.canonicalize(dtype)
        self.weak_type = weak_type
        # How the array is split, for whoever asks; it takes no part in a comparison.
        self.sharding = sharding

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """The shape, dtype and weak type of an array, a number, or anything else that has them.

        >>> import stagec
        >>> stagec.ShapeDtypeStruct.like(1.0)
        ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
        """
        if not (hasattr(x, "shape") and hasattr(x, "dtype")):
            x = aval_of(as_operand(x, "ShapeDtypeStruct.like"))
        return cls(x.shape, x.dtype, getattr(x, "weak_type", False))

    def update(self, **kwargs: Any) -> ShapeDtypeStruct:
        """A description with some of `shape`, `dtype`, `weak_type` and `sharding` replaced.

        >>> import stagec
        >>> stagec.ShapeDtypeStruct((2, 3), "float32").update(shape=(4,))
        ShapeDtypeStruct(shape=(4,), dtype=float32)
        """
        known = {name: getattr(self, name) for name in ("shape", "dtype", "weak_type", "sharding")}
        return ShapeDtypeStruct(**{**known, **kwargs})

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype, self.weak_type) == (
            other.shape,
            other.dtype,
            other.weak_type,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{weak})"


_DESCRIPTION = re.compile(r"(\w+|key<\w+>)\[(.*)\]")


def described(leaf: Any) -> Any:
    """A text such as `f32[b,784]` as the array that it describes; other leaves are returned.

    Raises:
      DtypeError: no dtype has this name, or it has 64 bits and these are not enabled.
    """
    found = _DESCRIPTION.fullmatch(leaf) if isinstance(leaf, str) else None
    if found is None:
        return leaf
    dtype = dtypes.from_short(found[1])
    array = ShapeDtypeStruct(sizes(found[2]), dtype)
    if array.dtype != dtype:
        fix = "enable 64-bit dtypes, as by `with stagec.enable_x64():` around the export, or describe it with 32 bits"
        raise location.error(errors.DtypeError, f"{leaf!r} needs a 64-bit dtype, which is not enabled", fix=fix)
    return array


_SCALARS = (bool, int, float, complex)


def leaf_value(leaf: Any) -> Any:
    """A leaf as an operand: an array, a tracer, a canonical NumPy array, a literal, or a bare spec.

    Returns None where it is none of these.

    Raises:
      ArgumentTypeError: an array cannot hold all of its meaning, such as a mask.
      DtypeError: arrays cannot have its dtype.
    """
    kind = type(leaf)
    if kind is Array:
        return leaf
    if isinstance(leaf, Tracer):
        if leaf._trace.ended:
            raise leaked(leaf)
        return leaf
    if kind in _SCALARS or kind is np.ndarray or isinstance(leaf, (np.generic, ArrayOperators, Literal)):
        return as_operand(leaf)
    refuse_lossy(leaf)
    if isinstance(leaf, np.ndarray) or hasattr(leaf, "__jax_array__") or isinstance(leaf, _SCALARS):
        return as_operand(leaf)
    if isinstance(leaf, ShapeDtypeStruct):
        return leaf
    foreign = from_foreign(leaf)
    return _shape_alone(leaf) if foreign is None else as_operand(foreign)


def _shape_alone(leaf: Any) -> ShapeDtypeStruct | None:
    """What has a shape and a dtype, and no elements, such as an aval of another library."""
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if not isinstance(shape, tuple) or dtype is None or hasattr(leaf, "__array__"):
        return None
    return ShapeDtypeStruct(shape, dtype, getattr(leaf, "weak_type", False))


def leaf_aval(value: Any) -> ShapedArray:
    """The aval of what `leaf_value` returned."""
    if isinstance(value, ShapeDtypeStruct):
        return ShapedArray.of(value.shape, value.dtype, value.weak_type)
    return aval_of(value)


def leaf_values(rules: ArgumentRules, leaves: Sequence[Any], names: Callable[[], Sequence[str]]) -> list[Any]:
    """The leaves of a call as operands.

    Args:
      names: returns the user's names of the leaves, for messages.

    Raises:
      ArgumentTypeError, DtypeError: a leaf is no array or number, or has a dtype that arrays cannot have.
    """
    values: list[Any] = []
    for i, leaf in enumerate(leaves):
        try:
            if type(leaf) is Mutable:
                values += pytree.leaves(read(leaf))
                continue
            value = read(leaf) if type(leaf) is Ref else leaf_value(leaf)
        except (errors.StagecError, OverflowError) as error:
            subject = f"argument {names()[i]} of {location.of_function(rules.function)}"
            raise errors.about(subject, error) from None
        if value is None:
            raise unsupported_argument(rules, names()[i], leaf)
        values.append(value)
    return values


class ArgumentRules:
    """Which arguments of a function are static or donated; names and positions are resolved to each other, as in
    JAX.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: int | Iterable[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
        donate_argnums: int | Iterable[int] | None = None,
        donate_argnames: str | Iterable[str] | None = None,
        hashed: bool = True,
    ) -> None:
        self.function = function
        # Whether static arguments are a part of a signature.
        self.hashed = hashed
        self.static_nums, self.static_names = self._resolve("static", static_argnums, static_argnames)
        self.donate_nums, self.donate_names = self._resolve("donate", donate_argnums, donate_argnames)
        both = [n for n in self.static_nums if n in self.donate_nums]
        if both:
            raise location.error(
                errors.StaticArgumentError,
                f"argument {both[0]} of {location.of_function(function)} is both static and donated",
                fix="leave one of the two out: a static argument is a Python value and has no buffer to donate",
            )
        self.simple = not (self.static_nums or self.static_names)

    @cached_property
    def parameters(self) -> list[inspect.Parameter] | None:
        """The function's parameters, or None if Python cannot tell them."""
        try:
            return list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return None

    @cached_property
    def positional(self) -> list[str]:
        return [p.name for p in self.parameters or () if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    def _resolve(self, what: str, nums: Any, names: Any) -> tuple[frozenset[int], frozenset[str]]:
        if nums is None and names is None:
            return frozenset(), frozenset()
        given_nums = _as_tuple(nums, int, f"{what}_argnums")
        given_names = _as_tuple(names, str, f"{what}_argnames")
        parameters = self.parameters
        if parameters is None:
            return frozenset(given_nums), frozenset(given_names)
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
        count = len(self.positional)
        resolved: list[int] = []
        for n in given_nums:
            if not variadic and not -count <= n < count:
                raise location.error(
                    errors.StaticArgumentError,
                    f"{what}_argnums={n} is out of range: {location.of_function(self.function)} takes {count} "
                    f"positional argument{'s' * (count != 1)} ({', '.join(self.positional)})",
                    fix="count from 0",
                )
            resolved.append(n + count if n < 0 else n)
        known = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        for name in given_names:
            if name not in known and not keywords:
                raise location.error(
                    errors.StaticArgumentError,
                    f"{what}_argnames={name!r}: {location.of_function(self.function)} has no such parameter; it has "
                    f"{', '.join(sorted(known)) or 'none'}",
                    fix="name an existing parameter",
                )
        positional = self.positional
        if nums is not None and names is not None:
            # Both are given: of a wrapper that takes other arguments than it shows, none follows from the other.
            binding = [p for p in self._real_parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            positional = [p.name for p in binding]
        all_names = set(given_names) | {positional[n] for n in resolved if n < len(positional)}
        all_nums = set(resolved) | {i for i, name in enumerate(positional) if name in given_names}
        return frozenset(all_nums), frozenset(all_names)

    @cached_property
    def _real_parameters(self) -> list[inspect.Parameter]:
        """The parameters that Python itself binds; empty where the function's own code may interpret keywords.

        A wrapper made with `functools.wraps` shows the signature of what it
        wraps, but takes `*args` and `**kwargs`.
        """
        inner = self.function
        while isinstance(inner, functools.partial):
            inner = inner.func
        if getattr(inner, "__signature__", None) is not None:
            return []
        try:
            return list(inspect.signature(self.function, follow_wrapped=False).parameters.values())
        except (TypeError, ValueError):
            return []

    def accepts_no_keyword(self, name: str) -> bool:
        """Whether a call with this keyword is an error, as far as Python can tell."""
        found = self._real_parameters
        return bool(found) and all(p.name != name and p.kind is not p.VAR_KEYWORD for p in found)

    @cached_property
    def _static_defaults(self) -> dict[str, Any]:
        """Defaults of static parameters, for calls that leave them out."""
        names = () if self.simple else [p for p in self._real_parameters if p.name in self.static_names]
        return {p.name: p.default for p in names if p.default is not p.empty and _is_hashable(p.default)}

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call in canonical form, so that equivalent calls have one signature.

        Keywords move to the positions of their parameters, as long as no
        parameter before is left out. Defaults of static parameters are filled
        in. Other defaults are not: the function gets those as Python values,
        but traced arguments as tracers.
        """
        defaults = self._static_defaults
        if not kwargs and not defaults:
            return args, kwargs
        given, named = list(args), dict(kwargs)
        for i, p in enumerate(self._real_parameters):
            if i < len(args) or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            next_one = i == len(given) and p.kind is not p.KEYWORD_ONLY
            if p.name in named and p.kind is not p.POSITIONAL_ONLY:
                if next_one:
                    given.append(named.pop(p.name))
            elif p.name in defaults:
                if next_one:
                    given.append(defaults[p.name])
                elif p.kind is not p.POSITIONAL_ONLY:
                    named[p.name] = defaults[p.name]
        return tuple(given), named

    def arranger(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Sequence[Any]], list[Any]] | None:
        """A function that puts the leaves of such a call into the order of `bind`; None if they are in that order."""
        if not kwargs:
            return None
        start = 0

        def numbered(value: Any, static: bool) -> list[int]:
            nonlocal start
            count = 0 if static else len(pytree.leaves(value))
            start += count
            return list(range(start - count, start))

        given = tuple([numbered(a, i in self.static_nums) for i, a in enumerate(args)])
        named = {k: numbered(kwargs[k], k in self.static_names) for k in sorted(kwargs)}
        given, named = self.bind(given, named)
        rows = [row for i, row in enumerate(given) if i not in self.static_nums]
        rows += [named[k] for k in sorted(named) if k not in self.static_names]
        order = [i for row in rows for i in row]
        return None if order == list(range(start)) else lambda leaves: [leaves[i] for i in order]

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any], tuple[Any, ...]]:
        """Dynamic positional and keyword arguments, and the static ones as a hashable key."""
        if self.simple:
            return list(args), kwargs, ()
        dynamic: list[Any] = []
        static: list[Any] = []
        for i, a in enumerate(args):
            if i in self.static_nums:
                static.append((i, self._static(i, a)))
            else:
                dynamic.append(a)
        dynamic_kwargs: dict[str, Any] = {}
        for k, v in kwargs.items():
            if k in self.static_names:
                static.append((k, self._static(k, v)))
            else:
                dynamic_kwargs[k] = v
        static.sort(key=lambda row: str(row[0]))
        return dynamic, dynamic_kwargs, tuple(static)

    def _static(self, which: int | str, value: Any) -> StaticValue:
        name = which if isinstance(which, str) else self.argument_name(which)
        if isinstance(value, Tracer):
            raise location.error(
                errors.StaticArgumentError,
                f"static argument {name} of {location.of_function(self.function)} is a traced value",
                [(name, value.aval.long(), value.origin())],
                "static arguments need a Python value: make it static in the outer function too",
            )
        try:
            static = StaticValue(value)
            if self.hashed:
                hash(static)
        except TypeError:
            raise location.error(
                errors.StaticArgumentError,
                f"static argument {name} of {location.of_function(self.function)} is not hashable: "
                f"{type(value).__name__}",
                fix="pass a tuple instead of a list or an array, or a class with __hash__ and __eq__",
            ) from None
        return static

    def join(
        self, dynamic: Sequence[Any], kwargs: dict[str, Any], static: tuple[Any, ...]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Undo `split`."""
        if not static:
            return list(dynamic), dict(kwargs)
        by_num = {which: row.value for which, row in static if isinstance(which, int)}
        remaining = iter(dynamic)
        args = [by_num[i] if i in by_num else next(remaining) for i in range(len(dynamic) + len(by_num))]
        return args, {**kwargs, **{which: row.value for which, row in static if isinstance(which, str)}}

    def flatten(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: list[Any], dynamic_kwargs: dict[str, Any]
    ) -> tuple[list[Any], pytree.PyTreeDef]:
        """Leaves and structure of the dynamic arguments; an error names the argument."""
        try:
            return pytree.flatten((dynamic, dynamic_kwargs))
        except errors.PytreeError:
            for name, value in self._named_dynamic(args, kwargs):
                try:
                    pytree.flatten(value)
                except errors.PytreeError as error:
                    subject = f"argument {name} of {location.of_function(self.function)}"
                    raise errors.about(subject, error) from None
            raise

    def _named_dynamic(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
        found = [(self.argument_name(i), a) for i, a in enumerate(args) if i not in self.static_nums]
        return found + [(k, kwargs[k]) for k in sorted(kwargs) if k not in self.static_names]

    def argument_name(self, i: int) -> str:
        """The name of the i-th positional argument."""
        positional = self.positional
        if i < len(positional):
            return positional[i]
        for p in self.parameters or ():
            if p.kind is p.VAR_POSITIONAL:
                return f"{p.name}[{i - len(positional)}]"
        return f"argument {i}"

    def leaf_names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """`params['w'][0]` for each dynamic leaf, in flattening order."""
        names: list[str] = []
        for name, value in self._named_dynamic(args, kwargs):
            names += [name + pytree.keystr(path) for path, _ in pytree.flatten_with_path(value)[0]]
        return names

    def donated_leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """Positions of the donated leaves among the dynamic ones."""
        if not (self.donate_nums or self.donate_names):
            return []
        positions: list[int] = []
        start = 0
        dynamic = [(i in self.donate_nums, a) for i, a in enumerate(args) if i not in self.static_nums]
        dynamic += [(k in self.donate_names, kwargs[k]) for k in sorted(kwargs) if k not in self.static_names]
        for donated, value in dynamic:
            count = len(pytree.leaves(value))
            if donated:
                positions += range(start, start + count)
            start += count
        return positions


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _as_tuple(value: Any, kind: type, what: str) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, kind):
        return (value,)
    try:
        items = tuple(value)
    except TypeError:
        items = (value,)
    for item in items:
        if not isinstance(item, kind):
            raise location.error(
                errors.ArgumentTypeError,
                f"{what} must be {kind.__name__} or a sequence of them, got {value!r}",
                fix=f"give {'an integer' if kind is int else 'a string'}, or a tuple of them",
            )
    return items


def unsupported_argument(rules: ArgumentRules, name: str, leaf: Any) -> Exception:
    """The error for a leaf that is not an array; or, if its keyword is not a parameter, the error for that."""
    known = [p.name for p in rules.parameters or () if p.kind is not p.POSITIONAL_ONLY]
    if name.isidentifier() and rules.accepts_no_keyword(name):
        close = difflib.get_close_matches(name, known, n=1)
        return location.error(
            TypeError,
            f"{location.of_function(rules.function)} got an unexpected keyword argument {name!r}",
            fix=f"pass {close[0]}=... instead" if close else "leave it out",
        )
    return not_an_array(location.of_function(rules.function), name, leaf, _instead_of(name, leaf))


def _instead_of(name: str, leaf: Any) -> str:
    """What to do with a leaf that is no array."""
    if converted := conversion(leaf, name):
        return converted
    inside = not name.isidentifier()
    ways = []
    try:
        hash(leaf)
        ways.append("pass it as a static argument" + ("" if inside else f", static_argnames={name!r}"))
    except TypeError:
        pass
    if type(leaf).__module__ != "builtins":
        ways.append("register its class with stagec.tree_util.register_pytree_node")
    if not ways:
        return "make an array of it, or close over it, as with functools.partial"
    text = ", or ".join(ways)
    return f"take it out of {re.split(r'[.[]', name)[0]}, whose leaves are arrays, and {text}" if inside else text


def not_an_array(function: str, name: str, leaf: Any, fix: str) -> errors.ArgumentTypeError:
    """The error for a leaf that is not an array; `function` and `fix` are text for the message."""
    return location.error(
        errors.ArgumentTypeError,
        f"argument {name} of {function} is not an array or a number",
        [(name, errors.brief(leaf), errors.a_kind(type(leaf)))],
        fix,
    )
