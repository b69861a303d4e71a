"""Rewrites as small functions, and the greedy driver that applies them.

    @pattern("stablehlo.add")
    def add_negative_zero(op):
        '''x + (-0.0) -> x.'''
        if is_splat(op.rhs, -0.0):
            return op.lhs

A pattern gets an op view and returns the value or values that replace it, or
nothing. What it emits takes the place and the location of the op it replaces.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import re
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from passes import bindings, build, guard, operations, printed
from passes.errors import EndlessError, PassWarning, PatternError, caller, message, shown_file
from passes.fast_math import FLAGS, FastMath, flags
from passes.match import (
    SPLAT,
    attributes_read_once,
    has_open_shapes,
    is_static,
    remembered,
    splat_of,
    with_producers,
)
from passes.unmatched import Unmatched

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_MAX_ITERATIONS = 64
# How many of the ops that one rewrite made, and of those made in their place, are rewritten at once.
_MAX_SETTLED = 64
# What makes values for which `splat_of` may know a number.
_FILLING = frozenset(("stablehlo.constant", *operations.where(layout=True)))


@dataclasses.dataclass(frozen=True, eq=False)
class Pattern:
    """One law: which ops it looks at, and the function that rewrites one.

    Attributes:
      name: the function's name, shown in reports and errors.
      ops: full op names, such as `"stablehlo.add"`.
      fn: `fn(op)` returns the replacement, or None.
      of: full op names, or `passes.match.SPLAT` for a constant that repeats one number. The driver calls `fn` only
        for ops with an operand that one of these produces. Empty for all.
      assumes: what the law takes for granted, by the names of `passes.fast_math.FLAGS`. Passes apply it where
        `fast_math` grants all of them.
      doc: the law, in the function's docstring.
      targets: the names in `passes.pipeline.LAWS` for which passes apply it, or `"reproducible"`. Empty for all.
      any_shape: whether it takes arrays of dynamic shape, too.
      reorders: whether it changes the order of sums, so that reproducible programs do without it.
    """

    name: str
    ops: tuple[str, ...]
    fn: Callable[[Any], Any]
    of: frozenset[str] = frozenset()
    assumes: frozenset[str] = frozenset()
    doc: str = ""
    targets: frozenset[str] = frozenset()
    any_shape: bool = False
    reorders: bool = False

    @property
    def exact(self) -> bool:
        """Whether results keep their bits, except where StableHLO leaves digits or the order of a sum open."""
        return not self.assumes

    def __call__(self, op: Any) -> Any:
        return self.fn(op)

    def fingerprint(self) -> str:
        """A digest of the law that is the same in every process, for cache keys."""
        return digest(self.name, self.ops, sorted(self.of), sorted(self.assumes), self.any_shape, code_text(self.fn))


def pattern(
    *ops: str,
    exact: bool = True,
    of: str | Sequence[str] = (),
    assumes: FastMath = (),
    targets: Sequence[str] = (),
    any_shape: bool = False,
    reorders: bool = False,
) -> Callable[[Callable[[Any], Any]], Pattern]:
    """Make a `Pattern` of a function that rewrites one op.

    Args:
      ops: the names of the ops it looks at.
      exact: False for a law that can change results in any way: it assumes all that `fast_math` can grant. A law
        that a user passes by itself runs in either case.
      of: the names of ops that must produce an operand, or `passes.match.SPLAT`; the law is not called for ops
        without such an operand.
      assumes: the assumptions of a law that can change results, by the names of `passes.fast_math.FLAGS`.
      targets: the names in `passes.pipeline.LAWS` of the targets for which the law pays, or `"reproducible"` for
        programs with the same bits on all processors; empty for all. A law that a user passes by itself runs in any
        case.
      any_shape: whether it takes arrays of dynamic shape, too. The driver does not call other laws for them.
      reorders: whether it changes the order of sums. Programs with the same bits on all processors do without it, so
        that a sum has the bits which it has outside of them.

    Raises:
      UnknownOpError: StableHLO and CHLO have no op of that name; other dialects are not known here.

    >>> @pattern("stablehlo.negate", of="stablehlo.negate")
    ... def double_negation(op):
    ...     '''-(-x) -> x.'''
    ...     return producer(op.operand, "stablehlo.negate").operand
    >>> double_negation.ops
    ('stablehlo.negate',)
    """
    if not ops or not all(isinstance(name, str) for name in ops):
        raise PatternError(message("pattern: no op named", caller(), fix='write @pattern("stablehlo.add")'))
    inner = frozenset([of] if isinstance(of, str) else of)
    for name in (*ops, *inner - {SPLAT}):
        known = operations.names(name.partition(".")[0])
        if "." not in name or (known and name not in known):
            raise operations.unknown_op(name, "pattern")
    assumed = flags(assumes) if exact else frozenset(FLAGS)

    def wrap(fn: Callable[[Any], Any]) -> Pattern:
        doc = inspect.cleandoc(fn.__doc__ or "")
        return Pattern(fn.__name__, ops, fn, inner, assumed, doc, frozenset(targets), any_shape, reorders)

    return wrap


def laws_of(namespace: Mapping[str, Any]) -> tuple[Pattern, ...]:
    """The laws that a module defines, in their order; it ends with `PATTERNS = laws_of(globals())`.

    A law without a name, as `passes.simplify.terms.law` makes it, gets that of its variable.
    """
    module, found = namespace["__name__"], dict[Pattern, None]()
    for name, value in namespace.items():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Pattern) and not item.name:
                object.__setattr__(item, "name", name)
                item.fn.__module__ = module
            if isinstance(item, Pattern) and item.fn.__module__ == module:
                found[item] = None
    return tuple(found)


def selected(
    laws: Iterable[Pattern], fast_math: frozenset[str], target: str, ordered: bool = False
) -> tuple[Pattern, ...]:
    """The laws that may run for a target: those that assume nothing but what `fast_math` grants.

    Args:
      ordered: whether sums keep their order.
    """
    return _selected(tuple(laws), fast_math, target, ordered)


@functools.lru_cache(maxsize=64)
def _selected(laws: tuple[Pattern, ...], fast_math: frozenset[str], target: str, ordered: bool) -> tuple[Pattern, ...]:
    kinds = {target, "reproducible"} if ordered else {target}
    found = [law for law in laws if law.assumes <= fast_math and not (ordered and law.reorders)]
    return tuple([law for law in found if not law.targets or not kinds.isdisjoint(law.targets)])


def digest(*parts: Any) -> str:
    """A short stable digest of the representations of `parts`."""
    text = "\x1f".join(part if isinstance(part, str) else repr(part) for part in parts)
    return hashlib.sha256(_ADDRESS.sub("", text).encode()).hexdigest()[:32]


def code_text(fn: Any, _seen: frozenset[int] = frozenset()) -> str:
    """What a callable does, as text that does not change between processes.

    The source where there is one, else the code's bytes and constants; then
    defaults, closure values, and the functions of the same module that it names.
    """
    if isinstance(fn, Pattern):
        return code_text(fn.fn, _seen)
    wrapped = getattr(fn, "func", None)  # functools.partial
    if wrapped is not None and not hasattr(fn, "__code__"):
        return f"{code_text(wrapped, _seen)}({fn.args!r}, {fn.keywords!r})"
    bound = getattr(fn, "__func__", None)
    if bound is not None:
        return f"{fn.__self__!r}.{code_text(bound, _seen)}"
    code = getattr(fn, "__code__", None)
    if code is None:
        call = inspect.getattr_static(type(fn), "__call__", None)
        if not hasattr(call, "__code__"):
            return repr(fn)
        return f"{fn!r}{sorted(vars(fn).items(), key=lambda kv: kv[0])!r}{code_text(call, _seen)}"
    if id(code) in _seen:
        return code.co_qualname if hasattr(code, "co_qualname") else code.co_name
    seen = _seen | {id(code)}
    try:
        parts = [inspect.getsource(fn)]
    except (OSError, TypeError):
        parts = [repr(_code_parts(code))]
    parts.append(repr(fn.__defaults__) + repr(fn.__kwdefaults__))
    for name, cell in zip(code.co_freevars, fn.__closure__ or ()):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        parts.append(f"{name}={_value_text(value, fn, seen)}")
    for name in sorted(_names(code)):
        value = fn.__globals__.get(name, inspect)
        if value is not inspect and not isinstance(value, types.ModuleType):
            parts.append(f"{name}={_value_text(value, fn, seen)}")
    return "\n".join(parts)


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            found |= _names(item)
    return found


def _code_parts(code: types.CodeType) -> tuple[Any, ...]:
    constants = [_code_parts(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames


def _value_text(value: Any, user: Any, seen: frozenset[int]) -> str:
    if isinstance(value, (types.FunctionType, Pattern)):
        inner = value.fn if isinstance(value, Pattern) else value
        same = getattr(inner, "__module__", None) == user.__module__
        return code_text(inner, seen) if same else f"{inner.__module__}.{inner.__qualname__}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    tobytes = getattr(value, "tobytes", None)  # an array's repr leaves elements out
    if tobytes is not None:
        return f"{getattr(value, 'dtype', '')}{getattr(value, 'shape', '')}{hashlib.sha256(tobytes()).hexdigest()}"
    return repr(value)


def apply(module: Any, patterns: Sequence[Pattern], unmatched: Unmatched | None = None) -> dict[str, int]:
    """Apply patterns to a module until none of them fires.

    Args:
      module: an `ir.Module`; changed in place.
      patterns: tried in this order at each op.
      unmatched: what is known of operations that none of these patterns fits, here and before. Where it is given,
        patterns are not asked again because of changes that are further than two operations away.

    Returns:
      How often each pattern fired, by name; patterns that did not are left out.

    Raises:
      PatternError: a pattern raised, or returned values whose types are not
        those of the op's results.
    """
    return guard.call(lambda: _applied(module, patterns, unmatched))


def apply_own(module: Any, laws: Sequence[Pattern], unmatched: Unmatched | None = None) -> dict[str, int]:
    """As `apply`, for laws of this package, whose faults are a warning: the program is correct without them.

    If laws do not terminate, the rewritten program stays; a law that raises is left out.
    """
    try:
        return apply(module, laws, unmatched)
    except EndlessError as error:
        text = "passes that would rewrite a program forever were stopped; its results are correct, but it may be slow: "
        _warn(text, error)
        return error.hits
    except PatternError as error:
        if not error.pattern:
            raise
        _warn("a law of the passes failed and was left out; results are correct, but the program may be slow: ", error)
        return apply_own(module, [law for law in laws if law.name != error.pattern])


def _warn(text: str, error: PatternError) -> None:
    warnings.warn(text + str(error).splitlines()[0], PassWarning, stacklevel=3)


def _applied(module: Any, patterns: Sequence[Pattern], unmatched: Unmatched | None) -> dict[str, int]:
    rewrite = bindings.rewrite
    is_open = remembered.is_open
    work = _Work(patterns, has_open_shapes(module) if is_open is None else is_open, unmatched)
    with module.context, build.attribute_cache(), attributes_read_once():
        pattern_set = rewrite.RewritePatternSet()
        for name in work.groups:
            pattern_set.add(name, work.visit)
        config = rewrite.GreedyRewriteConfig()
        config.max_iterations = _MAX_ITERATIONS
        try:
            rewrite.apply_patterns_and_fold_greedily(module, pattern_set.freeze(), config)
        except RuntimeError:
            if work.failure is None:
                raise _endless(patterns, work.hits) from None
    if work.failure is not None:
        raise work.failure from work.failure.__cause__
    return work.hits


class _Group:
    """The patterns of one op."""

    def __init__(self) -> None:
        self._patterns: list[Pattern] = []
        self._by_makers: dict[frozenset[str], list[Pattern]] = {}
        self._asks_for_makers = self._asks_for_splats = False

    def add(self, item: Pattern) -> None:
        self._patterns.append(item)
        self._asks_for_makers |= bool(item.of)
        self._asks_for_splats |= SPLAT in item.of

    def fitting(self, operands: Sequence[tuple[Any, Any]]) -> list[Pattern]:
        """The patterns whose `of` has one of the makers of an operation's operands, and those without."""
        if not self._asks_for_makers:
            return self._patterns
        made = [(maker.name, value) for value, maker in operands if maker is not None]
        names = [name for name, _ in made]
        if self._asks_for_splats and any(name in _FILLING and splat_of(value) is not None for name, value in made):
            names.append(SPLAT)
        key = frozenset(names)
        found = self._by_makers.get(key)
        if found is None:
            found = [item for item in self._patterns if not item.of or item.of & key]
            self._by_makers[key] = found
        return found


@functools.lru_cache(maxsize=64)
def _groups(patterns: tuple[Pattern, ...]) -> dict[str, _Group]:
    """Patterns by the op that they look at."""
    groups: dict[str, _Group] = {}
    for item in patterns:
        for name in item.ops:
            groups.setdefault(name, _Group()).add(item)
    return groups


class _Work:
    """One application of patterns to a module.

    Attributes:
      groups: the patterns by the op that they look at.
      hits: how often each pattern fired, by name.
      failure: what a pattern raised; none is called after that.
    """

    def __init__(self, patterns: Sequence[Pattern], is_open: bool, unmatched: Unmatched | None) -> None:
        self.is_open, self.unmatched = is_open, unmatched
        self.groups = _groups(tuple(patterns))
        self.hits: dict[str, int] = {}
        self.failure: PatternError | None = None
        self._is_abandoned = guard.is_abandoned()

    def visit(self, op: Any, rewriter: Any) -> bool:
        """What MLIR calls for each op that has patterns: falsy means rewritten, true means no match."""
        operation = op.operation
        known = self.unmatched
        operands = with_producers(operation)
        around = None if known is None else known.around(operation, operands)
        if known is not None and known.has(operation, around):
            return True
        found = self._replacement(op, operands, rewriter.ip)
        if found is None:
            if known is not None:
                known.add(operation, around)
            return True
        values, made = found
        if known is not None:
            known.forget(operation, made)
        if values:
            rewriter.replace_op(op, values)
        else:
            rewriter.erase_op(op)
        self._settle(made)
        return False

    def _replacement(self, op: Any, operands: Sequence[tuple[Any, Any]], ip: Any) -> tuple[list[Any], list[Any]] | None:
        """What replaces an op, and the ops that were made for it in the same block; None if no pattern fits."""
        if self.failure is not None or self._is_abandoned():
            return None
        operation = op.operation
        remembered.splats = {}
        try:
            laws = self.groups[operation.name].fitting(operands)
            if self.is_open and laws and not all(map(is_static, (*operation.operands, *operation.results))):
                # The others read shapes as numbers.
                laws = [law for law in laws if law.any_shape]
            if not laws:
                return None
            with operation.location, ip, build.noted(operation.block) as made:
                values = self._first(laws, op, made)
        finally:
            remembered.splats = None
        return None if values is None else (values, [other for other in made if other.name in self.groups])

    def _first(self, laws: Sequence[Pattern], op: Any, made: list[Any]) -> list[Any] | None:
        for item in laws:
            count = len(made)
            try:
                replacement = item.fn(op)
                if replacement is None:
                    continue
                values = _values(replacement)
                _check(item, op, values)
                if remembered.on_rewrite is not None:
                    remembered.on_rewrite(item, op.operation, made[count:])
            except Exception as error:
                # An exception must not unwind through the C++ driver: keep it for later.
                self.failure = error if isinstance(error, PatternError) else _raised(item, op, error)
                self.failure.pattern = item.name
                return None
            self.hits[item.name] = self.hits.get(item.name, 0) + 1
            return values
        return None

    def _settle(self, made: list[Any]) -> None:
        """Rewrite ops that a pattern made, until nothing changes.

        MLIR's driver does not hear of them before its next round, in which it visits each op of the module again.
        That it does not know them is also why they can be replaced and erased here.
        """
        ir = bindings.ir
        pending = list(made)
        for _ in range(_MAX_SETTLED):
            if not pending:
                break
            operation = pending.pop(0)
            readers = [use.owner.operation for result in operation.results for use in result.uses]
            if not readers:
                continue  # MLIR's driver drops it
            operands = with_producers(operation)
            found = self._replacement(operation.opview, operands, ir.InsertionPoint(operation))
            if found is None:
                continue
            values, more = found
            if self.unmatched is not None:
                self.unmatched.forget(operation, more)
            for result, value in zip(operation.results, values):
                result.replace_all_uses_with(value)
            made = [*(other for other in made if other != operation), *more]
            pending = [other for other in pending if other != operation]
            operation.erase()
            pending += [other for other in (*more, *readers) if other in made and other not in pending]


def _values(replacement: Any) -> list[Any]:
    ir = bindings.ir
    if isinstance(replacement, ir.Value):
        return [replacement]
    if isinstance(replacement, (ir.OpView, ir.Operation)):
        return list(replacement.operation.results)
    if isinstance(replacement, Iterable):
        return [value for part in replacement for value in _values(part)]
    raise TypeError(f"returned {replacement!r}, which is not a value of the program")


def _check(item: Pattern, op: Any, values: list[Any]) -> None:
    expected = [result.type for result in op.operation.results]
    actual = [value.type for value in values]
    if actual != expected:
        raise PatternError(
            message(
                f"pattern {item.name}: the replacement of {op.operation.name} has another type",
                where=location_text(op),
                values=[("expected", ", ".join(map(str, expected))), ("returned", ", ".join(map(str, actual)))],
                fix="convert, reshape or broadcast the replacement to the type of the op it replaces",
            )
        )
    results = list(op.operation.results)
    if any(value == result for value in values for result in results):
        raise PatternError(
            message(
                f"pattern {item.name}: {op.operation.name} was to be replaced by its own result",
                where=location_text(op),
                fix="return None where the law does not apply",
            )
        )


def _endless(patterns: Sequence[Pattern], hits: dict[str, int]) -> EndlessError:
    """Return the error for patterns that do not terminate; it names those that fired most."""
    most = max(hits.values(), default=0)
    busy = {item.name: item for item in patterns if 2 * hits.get(item.name, 0) > most}
    where = next(iter(busy.values()), None)
    code = getattr(where.fn if where is not None else None, "__code__", None)
    return EndlessError(
        message(
            f"pattern {' and '.join(busy)} does not terminate: its replacements match it again",
            where=f"{shown_file(code.co_filename)}:{code.co_firstlineno}" if code is not None else "",
            values=[(name, f"rewrote {hits[name]} ops in {_MAX_ITERATIONS} rounds") for name in busy],
            fix="return None for an op that already has the wanted form, such as one that the pattern itself built",
        ),
        hits,
    )


def _raised(item: Pattern, op: Any, error: Exception) -> PatternError:
    failure = PatternError(
        message(
            f"pattern {item.name} raised {type(error).__name__}: {error}",
            where=location_text(op),
            values=[("op", str(op).strip().splitlines()[0][:200])],
            fix=f"correct the function {item.name}; the traceback above shows where it failed",
        )
    )
    failure.__cause__ = error
    return failure


def location_text(op: Any) -> str:
    """An op's location as `file.py:12:5`, or empty when it is unknown."""
    return str(printed.location(op.operation.location) or "")
