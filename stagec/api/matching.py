"""Calls of compiled signatures: binds arguments to parameters, converts them as `jit` does, or explains the refusal."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stagec.api.arguments import ShapeDtypeStruct, leaf_aval, leaf_value, not_an_array
from stagec.api.open_dimensions import fits, shape_fits
from stagec.artifact.parameters import Parameter, Part, layout, signature_of, taken
from stagec.core import dtypes, errors, location, pytree
from stagec.core.aval import ShapedArray
from stagec.core.treedef import difference
from stagec.primitives.operand import literal, scalar_fits

_SIGNATURES_SHOWN = 6


class _Argument(NamedTuple):
    """An argument of a call; its leaves are counted from `start` on."""

    value: Any
    leaves: list[Any]
    tree: pytree.PyTreeDef
    start: int


class Call:
    """The arguments of one call, flattened once for all signatures that may fit."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self._count = 0
        self.args = [self._argument(a) for a in args]
        self.kwargs = {name: self._argument(kwargs[name]) for name in sorted(kwargs)}

    def _argument(self, value: Any) -> _Argument:
        leaves, tree = pytree.flatten(value)
        self._count += len(leaves)
        return _Argument(value, leaves, tree, self._count - len(leaves))


class Match(NamedTuple):
    """A call that fits a signature.

    Args:
      values: operands for the program.
      arrange: makes the program's leaves from those of the next such call; None if they are the same.
      lasting: whether any call whose leaves are like these is such a call.
      exact: whether no Python number was given another dtype.
    """

    values: list[Any]
    arrange: Callable[[Sequence[Any]], list[Any]] | None
    lasting: bool
    exact: bool = True


class Problem(NamedTuple):
    """Why a call does not fit a signature.

    Args:
      progress: how far matching came; errors are about the signature that came furthest.
      avals: the avals of the leaves, where only these do not fit.
    """

    progress: int
    error: Exception | None
    avals: tuple[ShapedArray, ...] = ()


class Form:
    """A compiled signature as callers see it.

    Args:
      name: the function's.
      parameters: all of them.
      in_tree: structure of `(args, kwargs)` as the program takes them.
      in_avals: of the leaves, whose names are `names`.
      again: the verb for the fix: "export" or "compile" the function for another signature.
    """

    def __init__(
        self,
        name: str,
        parameters: Sequence[Parameter],
        in_tree: pytree.PyTreeDef,
        in_avals: Sequence[ShapedArray],
        names: Sequence[str],
        again: str,
    ) -> None:
        self.name = name
        self.rows = layout(parameters, in_tree)
        self.in_avals = in_avals
        self.names = names
        self.again = again

    def signature(self) -> inspect.Signature:
        return signature_of(self.rows)

    def text(self) -> str:
        """The signature with what each argument has to be."""
        return f"{self.name}{signature_of(self.rows, self.in_avals)}"

    def match(self, call: Call) -> Match | Problem:
        """The program's operands for a call, or why there are none."""
        try:
            bound = self._bind(call)
        except errors.ArgumentTypeError as error:
            return Problem(0, error)
        for parameter, part, argument in bound:
            found = None if argument is None else difference(part.tree, argument.value)
            if found is not None:
                return Problem(1, self._wrong_structure(parameter, part, *found[:2]))
        values: list[Any] = [None] * len(self.in_avals)
        steps: list[Callable[[Sequence[Any]], Any]] = [operator.itemgetter(0)] * len(self.in_avals)
        same = exact = True
        for parameter, part, argument in bound:
            for i in range(part.tree.num_leaves):
                at = part.start + i
                if argument is None:
                    assert parameter.default is not None, "only such a parameter is left out"
                    values[at] = parameter.default[i]
                    steps[at] = functools.partial(_constant, values[at])
                    same = False
                    continue
                source = argument.start + i
                try:
                    values[at], converted = self._operand(argument.leaves[i], at)
                except (errors.StagecError, OverflowError) as error:
                    return Problem(2, error)
                steps[at] = functools.partial(self._converted, source, at) if converted else operator.itemgetter(source)
                same = same and source == at and not converted
                exact = exact and not converted
        avals = tuple([leaf_aval(v) for v in values])
        if not fits(self.in_avals, avals):
            return Problem(3, None, avals)
        fixed = {p.name for p, _ in self.rows if p.fixed is not None}
        # The value of a fixed parameter is no part of what a call is remembered by.
        lasting = not fixed & call.kwargs.keys()
        return Match(values, None if same else lambda leaves: [step(leaves) for step in steps], lasting, exact)

    def _converted(self, source: int, at: int, leaves: Sequence[Any]) -> Any:
        return self._operand(leaves[source], at)[0].value[()]

    def takes(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether a call fits."""
        return isinstance(self.match(Call(args, kwargs)), Match)

    def of_leaves(self, given: Sequence[tuple[str, Any]]) -> tuple[list[Any], dict[str, Any]]:
        """The call whose leaves are given by name, or in order where the name is empty.

        Raises:
          ArgumentTypeError: a leaf is missing, or there is no such leaf.
        """
        named: dict[str, Any] = {}
        for name, value in given:
            if name and name in named:
                raise self._refused(f"multiple values for argument {name!r}", f"pass {name} once")
            if name:
                named[name] = value
        fixed = {p.name for p, _ in self.rows if p.fixed is not None}
        unknown = [name for name in named if name not in self.names and name not in fixed]
        if unknown:
            fix = f"leave it out; it takes {', '.join(self.names[:20]) or 'no arguments'}"
            raise self._refused(f"unexpected argument {unknown[0]!r}", fix)
        in_order = [value for name, value in given if not name]
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        left_out: list[str] = []
        for p, parts in self.rows:
            if p.fixed is not None:
                if p.name in named:
                    kwargs[p.name] = named.pop(p.name)
                continue
            for part in parts:
                names = self.names[part.start : part.start + part.tree.num_leaves]
                given_here = [n for n in names if n in named]
                if p.default is not None and not given_here and not (in_order and p.kind != "keyword"):
                    left_out += names
                    continue
                leaves = []
                for n in names:
                    if n not in named and not in_order:
                        raise self._missing_leaf(p, part, n)
                    leaves.append(named.pop(n) if n in named else in_order.pop(0))
                value = part.tree.unflatten(leaves)
                if isinstance(part.key, int) and len(args) == part.key:
                    args.append(value)
                else:
                    kwargs[str(part.key) if isinstance(part.key, str) else p.name] = value
        if in_order:
            unnamed = sum(not name for name, _ in given)
            count = unnamed - len(in_order)
            what = f"takes {count} array{'s' * (count != 1)} without names, and {unnamed} were given"
            # Only those that are passed by name are left out while others wait.
            raise self._refused(what, f"pass {' and '.join(left_out)} by name" if left_out else "leave the others out")
        return args, kwargs

    def _missing_leaf(self, p: Parameter, part: Part, name: str) -> errors.StagecError:
        if part.tree == pytree.LEAF:
            return self._missing([(Parameter(name, "keyword") if p.kind == "keyword" else p, part)])
        return self._refused(f"missing argument {name!r}", f"pass {name}=..., {self.in_avals[part.start].long()}")

    def _operand(self, leaf: Any, at: int) -> tuple[Any, bool]:
        """A leaf as an operand, and whether it is a Python number that was given the dtype that the program takes."""
        aval, name = self.in_avals[at], self.names[at]
        try:
            kind = dtypes.python_scalar_kind(type(leaf))
            if kind is not None and not aval.shape and dtypes.canonicalize(aval.dtype) == aval.dtype:
                own, _ = dtypes.python_scalar_dtype(kind)
                if own != aval.dtype and scalar_fits(own, aval.dtype):
                    return literal(kind(leaf), aval.dtype), True
            value = leaf_value(leaf)
        except (errors.StagecError, OverflowError) as error:
            raise errors.about(f"argument {name} of {self.name}", error) from None
        if value is None or isinstance(value, ShapeDtypeStruct):
            raise not_an_array(self.name, name, leaf, "pass an array; static arguments are part of the program")
        return value, False

    # Binding.

    def _bind(self, call: Call) -> list[tuple[Parameter, Part, _Argument | None]]:
        """The parts of the program's arguments with those of the call; None is the default."""
        given, named = list(call.args), dict(call.kwargs)
        bound: list[tuple[Parameter, Part, _Argument | None]] = []
        missing: list[tuple[Parameter, Part]] = []
        for p, parts in self.rows:
            if p.fixed is not None:
                if p.name in named:
                    self._check_fixed(p, named.pop(p.name).value)
            elif p.kind == "rest":
                if len(given) != len(parts) and not missing:
                    what = f"{len(parts)} arguments for *{p.name}, and {len(given)} were given"
                    raise self._refused(f"it was made for {what}", f"{self.again} it for this number of arguments too")
                bound += [(p, part, argument) for part, argument in zip(parts, given)]
                given = []
            elif p.kind == "keywords":
                for part in parts:
                    if part.key in named:
                        bound.append((p, part, named.pop(str(part.key))))
                    else:
                        missing.append((Parameter(str(part.key), "keyword"), part))
            elif given and p.kind != "keyword":
                if p.name in named and p.kind != "positional-only":
                    raise self._refused(f"multiple values for argument {p.name!r}", f"pass {p.name} once")
                bound.append((p, parts[0], given.pop(0)))
            elif p.name in named and p.kind != "positional-only":
                bound.append((p, parts[0], named.pop(p.name)))
            elif p.default is not None:
                bound.append((p, parts[0], None))
            else:
                missing.append((p, parts[0]))
        if named:
            takes = ", ".join(p.name for p, _ in self.rows) or "no arguments"
            raise self._refused(f"unexpected keyword argument {next(iter(named))!r}", f"leave it out; it takes {takes}")
        if given:
            count = len(call.args) - len(given)
            what = f"takes {count} positional argument{'s' * (count != 1)}, and {len(call.args)} were given"
            names = [p.name for p, parts in self.rows if parts and p.kind == "keyword"]
            fix = f"pass {' and '.join(names)} by name" if names else "leave the others out"
            fixed = [p.name for p, _ in self.rows if p.fixed is not None]
            if fixed:
                fix += f"; {' and '.join(fixed)} {'is' if len(fixed) == 1 else 'are'} fixed in this program"
            raise self._refused(what, fix)
        if missing:
            raise self._missing(missing)
        return bound

    def _check_fixed(self, p: Parameter, value: Any) -> None:
        if repr(value) == p.fixed and _is_plain(p.fixed):
            return
        what = f"{p.name} is fixed at {p.fixed} in this program, and {errors.brief(value)} was given"
        raise self._refused(what, f"leave {p.name} out, or {self.again} the function for this value too")

    def _missing(self, missing: Sequence[tuple[Parameter, Part]]) -> errors.StagecError:
        kinds = {p.kind == "keyword" for p, _ in missing}
        word = "keyword argument" if kinds == {True} else "argument"
        names = " and ".join(repr(p.name) for p, _ in missing)
        texts = [f"{p.name}=..., {taken(part, self.in_avals)!r}" for p, part in missing if p.kind != "positional-only"]
        fix = "pass " + " and ".join(texts or [names])
        return self._refused(f"missing {word}{'s' * (len(missing) > 1)} {names}", fix)

    def _refused(self, what: str, fix: str) -> errors.StagecError:
        return location.error(errors.ArgumentTypeError, f"{self.name}: {what}", [("takes", self.text(), "")], fix)

    def _wrong_structure(self, p: Parameter, part: Part, path: str, reason: str) -> errors.StagecError:
        name = f"{p.name}[{part.key!r}]" if p.kind in ("rest", "keywords") else p.name
        where = f" at {path}" if path else ""
        what = f"{self.name} was compiled for another structure of {name}: it holds {reason}{where}"
        if not path:
            what = f"{self.name} was compiled for another structure of {name}: it is {reason}"
        fix = f"pass {name} like {taken(part, self.in_avals)!r}"
        return location.error(errors.PytreeError, what, [("takes", self.text(), "")], fix)


def _constant(value: Any, leaves: Sequence[Any]) -> Any:
    return value


def _is_plain(text: str) -> bool:
    """Whether a value is all that its text says: a number, a string, None, or tuples of these."""
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def part_of_another(what: str, instead: str) -> errors.StagecError:
    """The error for a compiled program that is called with traced values."""
    why = f"{what}, and cannot become a part of another program"
    return location.error(errors.UnsupportedError, why, fix=f"call it outside of jit, or {instead}")


def refusal(forms: Sequence[Form], problems: Sequence[Problem]) -> Exception:
    """The error for a call that fits none of a function's signatures: it names the argument that fits none."""
    progress = max(p.progress for p in problems)
    near = [(form, problem) for form, problem in zip(forms, problems) if problem.progress == progress]
    form, problem = near[0]
    if problem.error is not None:
        return _with_others(problem.error, [f for f, _ in near[1:]])
    for name, aval in zip(form.names, problem.avals):
        takes = [f.in_avals[f.names.index(name)] for f in forms if name in f.names]
        wanted = list(dict.fromkeys(a.strip_weak_type() for a in takes))
        if not any(fits([w], [aval]) for w in wanted):
            return _wrong_aval(form, name, wanted, aval)
    rows = [("compiled", f.text(), "") for f in forms[:_SIGNATURES_SHOWN]]
    if len(forms) > _SIGNATURES_SHOWN:
        rows.append(("", f"and {len(forms) - _SIGNATURES_SHOWN} more", ""))
    # What all signatures take alike is not what is wrong.
    taken_by = {n: {f.in_avals[f.names.index(n)] if n in f.names else None for f in forms} for n in form.names}
    given = [f"{n}: {a.long()}" for n, a in zip(form.names, problem.avals) if len(taken_by[n]) > 1]
    rows.append(("given", ", ".join(given[:_SIGNATURES_SHOWN]), ""))
    same_shapes = any(all(map(shape_fits, f.in_avals, problem.avals)) for f, _ in near)
    kind = errors.DtypeError if same_shapes else errors.ShapeError
    what = f"{form.name} was compiled for other combinations of these arguments"
    return location.error(kind, what, rows, f"{form.again} it for these arguments too")


def _with_others(error: Exception, others: Sequence[Form]) -> Exception:
    """An error about the first signature, with the others that the call fits no better."""
    lines = str(error).split("\n")
    at = next((i for i, line in enumerate(lines) if line.startswith("    takes  ")), None)
    if at is None:
        return error
    texts = list(dict.fromkeys(form.text() for form in others))
    texts = [text for text in texts if text not in lines[at]]
    rows = [f"    or     {text}" for text in texts[: _SIGNATURES_SHOWN - 1]]
    if len(texts) > len(rows):
        rows.append(f"    and {len(texts) - len(rows)} more signatures")
    return type(error)("\n".join([*lines[: at + 1], *rows, *lines[at + 1 :]]))


def _wrong_aval(form: Form, argument: str, wanted: Sequence[ShapedArray], given: ShapedArray) -> errors.StagecError:
    kind: type[errors.StagecError] = errors.ShapeError
    same_shape = [w for w in wanted if shape_fits(w, given)]
    if same_shape:
        kind = errors.DtypeError
    texts = [w.long() for w in wanted[:_SIGNATURES_SHOWN]]
    if len(wanted) > len(texts):
        texts.append(f"{len(wanted) - len(texts)} others")
    fix = f"{form.again} it for this signature too"
    if any(dtypes.canonicalize(w.dtype) != w.dtype for w in same_shape):
        fix = "call it with 64-bit types enabled (STAGEC_ENABLE_X64=1, or stagec.enable_x64())"
    what = f"{form.name} was compiled for {argument} of {' or '.join(texts)}, called with {given.long()}"
    return location.error(kind, what, fix=fix)
