"""The base of functions with custom rules: their calls, and checks of what a rule returns."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stagec.api.flat import given, is_float0, operand, with_references
from stagec.api.pickling import by_cloudpickle, found_by_name
from stagec.control.custom import Rule, call
from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.callables import Function, P, R_co
from stagec.core.wrapping import shown_name, update_wrapper
from stagec.core.zero import differentiable, is_zero, no_tangent, zero_of
from stagec.primitives.broadcast import instantiate
from stagec.primitives.convert import as_array, convert_element_type
from stagec.primitives.operand import aval_of
from stagec.primitives.references import Ref

__all__ = ["SymbolicZero", "zero_from_primal"]


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, for rules that ask for them (`symbolic_zeros=True`)."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.long()})"


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent or cotangent of a value: zeros, and arrays of `float0` for what has no derivatives.

    Args:
      val: a pytree of arrays and numbers.
      symbolic_zeros: return `SymbolicZero`s.

    >>> import stagec
    >>> stagec.custom_derivatives.zero_from_primal([2.0, 3], symbolic_zeros=True)[0]
    SymbolicZero(float32[])
    """
    leaves, tree = pytree.flatten(val)
    avals = [aval_of(operand(v, "val")) for v in leaves]
    return tree.unflatten([_zero(a, symbolic_zeros) for a in avals])


def _zero(aval: ShapedArray, symbolic: bool) -> Any:
    if symbolic:
        return SymbolicZero(aval.strip_weak_type())
    return as_array(instantiate(zero_of(aval))) if differentiable(aval) else no_tangent(aval)


class CustomRule(Function[P, R_co], abc.ABC):
    """A function with a rule of its own: what `custom_jvp` and `custom_vjp` share."""

    # Whether arguments may be references, which the function and its rule use as if they closed over them.
    _takes_references = False

    def __init__(
        self, fun: Callable[P, R_co], nondiff_argnums: Iterable[int] = (), nondiff_argnames: Iterable[str] = ()
    ) -> None:
        update_wrapper(self, fun)
        self.fun = fun
        self._name: str = shown_name(fun)
        try:
            self._signature: inspect.Signature | None = inspect.signature(fun)
        except (TypeError, ValueError):
            self._signature = None
        given_nums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        names = list(self._signature.parameters) if self._signature else []
        for name in nondiff_argnames:
            if name not in names:
                raise location.error(
                    ValueError,
                    f"nondiff_argnames has {name!r}, which is no parameter of {location.of_function(fun)}",
                    fix=f"name some of {', '.join(names)}",
                )
        self._nondiff = frozenset(
            [n % len(names) if n < 0 and names else n for n in given_nums] + [names.index(n) for n in nondiff_argnames]
        )

    def __getattr__(self, name: str) -> Any:
        # A function may have rules of two kinds, given in either order: custom_vjp of custom_vmap has def_vmap, too.
        inner = vars(self).get("fun")
        if name.startswith("def") and isinstance(inner, CustomRule):
            return getattr(inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce_ex__(self, protocol: Any) -> Any:
        # By its name where there is one, as a function. Of `__main__`, cloudpickle takes the value.
        if found_by_name(self) and not (by_cloudpickle() and self.__module__ == "__main__"):
            return str(vars(self)["__qualname__"])
        return super().__reduce_ex__(protocol)

    @abc.abstractmethod
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function; under a derivative, its rule."""

    @abc.abstractmethod
    def _derive(self, used: Use) -> Callable[..., Any]:
        """The rule, for the leaves of one call."""

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults included."""
        if self._signature is None:
            if kwargs:
                what = f"{self._name}: keyword arguments need a signature"
                raise location.error(TypeError, what, fix="pass the arguments by position")
            return args
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise location.error(
                TypeError,
                f"{self._name}: keyword-only arguments {', '.join(bound.kwargs)} are not supported with a rule",
                fix="make them positional, and name those that are no arrays in nondiff_argnums",
            )
        return bound.args

    def _names(self, count: int) -> list[str]:
        """The names of the first `count` arguments."""
        names = list(self._signature.parameters)[:count] if self._signature else []
        return names + [f"argument {i}" for i in range(len(names), count)]

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], primitive: Any) -> R_co:
        everything = self._positional(args, kwargs)
        static = [a for i, a in enumerate(everything) if i in self._nondiff]
        dynamic = [a for i, a in enumerate(everything) if i not in self._nondiff]
        found, tree = pytree.flatten_with_path(tuple(dynamic))
        names = self._names(len(everything))
        positions = [i for i in range(len(everything)) if i not in self._nondiff]
        labels = [names[positions[path[0].idx]] + pytree.keystr(path[1:]) for path, _ in found]
        refs = {i: v for i, (_, v) in enumerate(found) if self._takes_references and type(v) is Ref}
        values = [operand(v, name) for i, ((_, v), name) in enumerate(zip(found, labels)) if i not in refs]
        used = Use(self, static, everything, tree, refs)
        outs = call(primitive, Rule(self._name, used.function, self._derive(used)), values)
        assert used.out_tree is not None, "the function or its rule ran"
        result: R_co = used.out_tree.unflatten([as_array(o) for o in outs])
        return result


class Use:
    """One call of a function with a rule: its structures."""

    def __init__(
        self,
        owner: CustomRule[..., Any],
        static: list[Any],
        everything: tuple[Any, ...],
        tree: pytree.PyTreeDef,
        refs: dict[int, Ref],
    ) -> None:
        self.owner = owner
        self.static = static
        self.everything = everything
        self.tree = tree
        self.refs = refs
        self.out_tree: pytree.PyTreeDef | None = None

    @property
    def names(self) -> list[str]:
        """The names of all arguments."""
        return self.owner._names(len(self.everything))

    @property
    def static_names(self) -> list[str]:
        return [n for i, n in enumerate(self.names) if i in self.owner._nondiff]

    def join(self, dynamic: Sequence[Any]) -> list[Any]:
        """All arguments in order, the static ones included."""
        remaining = iter(dynamic)
        return [a if i in self.owner._nondiff else next(remaining) for i, a in enumerate(self.everything)]

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """All arguments in order, from the leaves that are not references."""
        return self.join(self.tree.unflatten(with_references(leaves, self.refs)))

    def function(self, *leaves: Any) -> list[Any]:
        result = self.owner.fun(*self.arguments([given(v) for v in leaves]))
        return self.results(result, self.owner.fun)

    def results(self, result: Any, function: Any) -> list[Any]:
        """The leaves of what the function, or a rule for it, returned."""
        found, tree = pytree.flatten_with_path(result)
        if self.out_tree is not None and tree != self.out_tree:
            raise location.error(
                errors.PytreeError,
                f"{location.of_function(function)} must return the structure that {self.owner._name} returns",
                [("function", str(self.out_tree), ""), ("rule", str(tree), "")],
                "return the same containers as the function",
            )
        self.out_tree = tree
        return [operand(v, f"result{pytree.keystr(path)} of {self.owner._name}") for path, v in found]


def user_tangent(tangent: Any, aval: ShapedArray, symbolic: bool) -> Any:
    if not differentiable(aval):
        return no_tangent(aval)
    if is_zero(tangent):
        return SymbolicZero(aval.strip_weak_type()) if symbolic else as_array(instantiate(tangent))
    return as_array(tangent)


def is_zero_leaf(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, SymbolicZero) or is_zero(leaf) or is_float0(leaf)


def no_rule(kind: str, method: str, owner: CustomRule[..., Any]) -> AttributeError:
    return location.error(
        AttributeError,
        f"{kind} function {owner._name} has no rule",
        fix=f"give it one with {owner._name}.{method}(...)",
    )


def fitted(leaf: Any, aval: ShapedArray, name: str, what: str, rule: Any, other_floats: bool = False) -> Any:
    """What a rule returned for a value, converted to the value's dtype; raises if it does not fit.

    With `other_floats`, the value of a float may be a float of any width.
    """
    value = operand(leaf, name)
    own = aval_of(value)
    fits = own.dtype == aval.dtype or own.weak_type
    fits = fits or (other_floats and dtypes.is_float(own.dtype) and dtypes.is_float(aval.dtype))
    if own.shape != aval.shape or not fits:
        kind: type[errors.StagecError] = errors.ShapeError if own.shape != aval.shape else errors.DtypeError
        raise location.error(
            kind,
            f"{what}, {location.of_function(rule)}, must return {aval.long()}, but returned {own.long()}",
            [(name, own.long(), f"for {aval.long()}")],
            "sum over the axes that were broadcast"
            if own.shape != aval.shape
            else f"convert it with astype({aval.dtype.name!r})",
        )
    return value if own.dtype == aval.dtype else convert_element_type(value, aval.dtype)


def pair(returned: Any, what: str, rule: Any, parts: str, fix: str) -> tuple[Any, Any]:
    """What a rule returned, which must be two things; `what` and `parts` are for the error."""
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise location.error(
            errors.OutputTypeError,
            f"{what}, {location.of_function(rule)}, must return {parts}",
            [("returned", errors.brief(returned), "")],
            fix,
        )
    return returned[0], returned[1]
