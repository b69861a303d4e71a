"""`return`, `break`, `continue` and `raise` as flags, so that each statement has one entry and one exit.

What follows a statement that may jump is moved into the branch that does not, or is guarded by the flags.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

# Python's own names have no such characters, so these are nobody's.
RETURNED, RESULT = "returned?", "result?"
RUNTIME = "stagec?"
N = TypeVar("N", bound=ast.AST)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.While)


class _Loop(NamedTuple):
    ended: str
    skipped: str


class Loop(ast.For):
    """A `for` that ends when one of the flags named in `stops` is set."""

    stops: list[str]


def inside(node: ast.AST | Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a function's own code: those of functions and classes inside it are left out."""
    waiting = [node] if isinstance(node, ast.AST) else list(node)
    while waiting:
        found = waiting.pop()
        yield found
        if not isinstance(found, _SCOPES):
            waiting.extend(ast.iter_child_nodes(found))


def _leaves_loop(statements: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Whether a `break` or `continue` among the statements is of the loop around them."""
    for s in statements:
        if isinstance(s, kind):
            return True
        blocks = [s.orelse] if isinstance(s, _LOOPS) else _blocks(s)
        if any(_leaves_loop(b, kind) for b in blocks):
            return True
    return False


def _blocks(s: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(s, _SCOPES):
        return []
    found = [getattr(s, name, None) or [] for name in ("body", "orelse", "finalbody")]
    return found + [h.body for h in getattr(s, "handlers", [])]


def _falls(statements: Sequence[ast.stmt]) -> bool:
    """Whether control may reach the end of the statements."""
    for s in statements:
        if isinstance(s, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            return False
        if isinstance(s, ast.If) and not _falls(s.body) and not _falls(s.orelse):
            return False
        if isinstance(s, ast.With) and not _falls(s.body):
            return False
        if isinstance(s, ast.While) and _is_endless(s):
            return False
    return True


def _is_endless(s: ast.While) -> bool:
    """Whether only a `return` ends a loop."""
    return isinstance(s.test, ast.Constant) and bool(s.test.value) and not _leaves_loop(s.body, ast.Break)


def assign(name: str, value: ast.expr | bool, at: ast.AST) -> ast.stmt:
    given = value if isinstance(value, ast.expr) else ast.Constant(value)
    return placed(ast.Assign([ast.Name(name, ast.Store())], given), at)


def placed(node: N, at: ast.AST) -> N:
    """A new node, and those inside it that have no line yet, at the line of another."""
    for child in ast.walk(node):
        if "lineno" in child._attributes and not hasattr(child, "lineno"):
            ast.copy_location(child, at)
    return node


def _none_of(flags: Sequence[str], at: ast.AST) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(f, ast.Load())) for f in flags]
    return placed(tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests), at)


def without_jumps(body: list[ast.stmt]) -> list[ast.stmt]:
    """A function's statements, with one `return` at the end."""
    early = any(isinstance(n, (ast.Return, ast.Raise)) for s in body[:-1] for n in inside(s))
    early = early or (bool(body) and not isinstance(body[-1], ast.Return) and _has_return(body))
    lowering = _Lowering(early)
    if not early:
        return lowering.block(body, None)
    last = body[-1]
    if _falls(body):
        body = [*body, ast.copy_location(ast.Return(ast.copy_location(ast.Constant(None), last)), last)]
    call = ast.Call(
        ast.Attribute(ast.Name(RUNTIME, ast.Load()), "result", ast.Load()),
        [ast.Name(RETURNED, ast.Load()), ast.Name(RESULT, ast.Load())],
        [],
    )
    end = placed(ast.Return(call), last)
    return [assign(RETURNED, False, body[0]), *lowering.block(body, None), end]


def _has_return(body: list[ast.stmt]) -> bool:
    return any(isinstance(n, (ast.Return, ast.Raise)) for n in inside(body))


class _Lowering:
    def __init__(self, early: bool) -> None:
        self.early = early
        self.count = 0

    def block(self, statements: Sequence[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            rest = list(statements[k + 1 :])
            if isinstance(s, ast.Return) and self.early:
                value = s.value or ast.copy_location(ast.Constant(None), s)
                return [*out, assign(RESULT, value, s), assign(RETURNED, True, s)]
            if isinstance(s, ast.Raise) and self.early:
                return [*out, s, assign(RETURNED, True, s)]
            if isinstance(s, (ast.Break, ast.Continue)):
                assert loop is not None, "Python has parsed it"
                return [*out, assign(loop.ended if isinstance(s, ast.Break) else loop.skipped, True, s)]
            if isinstance(s, ast.If):
                if self._jumps([s], loop):
                    return out + self._conditional(s, rest, loop)
                s = self._like(s, ast.If(s.test, self.block(s.body, loop), self.block(s.orelse, loop)))
            elif isinstance(s, _LOOPS):
                s_out, after = self._loop(s)
                out += s_out
                if after:
                    return out + self.block([*after, *rest], loop)
                if self.early and self._returns([s]):
                    return out + self._guarded([RETURNED], rest, s, loop)
                continue
            elif isinstance(s, (ast.With, ast.Try)):
                flags = self._jumps([s], loop)
                s = self._nested(s, loop)
                if flags:
                    return [*out, s, *self._guarded(flags, rest, s, loop)]
            out.append(s)
        return out

    def _returns(self, statements: Sequence[ast.stmt]) -> bool:
        return self.early and _has_return(list(statements))

    def _jumps(self, statements: Sequence[ast.stmt], loop: _Loop | None) -> list[str]:
        """The flags that the statements may set."""
        flags = [RETURNED] if self._returns(statements) else []
        if loop is not None:
            flags += [loop.ended] if _leaves_loop(statements, ast.Break) else []
            flags += [loop.skipped] if _leaves_loop(statements, ast.Continue) else []
        return flags

    def _like(self, s: ast.stmt, new: ast.stmt) -> ast.stmt:
        return ast.copy_location(new, s)

    def _conditional(self, s: ast.If, rest: list[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        body_falls, else_falls = _falls(s.body), _falls(s.orelse)
        body, orelse, after = s.body, s.orelse, rest
        if not body_falls:
            orelse, after = [*orelse, *(rest if else_falls else [])], []
        elif not else_falls:
            body, after = [*body, *rest], []
        new = self._like(s, ast.If(s.test, self.block(body, loop), self.block(orelse, loop)))
        return [new, *self._guarded(self._jumps([s], loop), after, s, loop)]

    def _guarded(self, flags: list[str], rest: list[ast.stmt], at: ast.stmt, loop: _Loop | None) -> list[ast.stmt]:
        if not rest:
            return []
        return [placed(ast.If(_none_of(flags, at), self.block(rest, loop), []), at)]

    def _loop(self, s: ast.For | ast.While) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The loop with what is before it, and what its `else` makes of the statements after it."""
        self.count += 1
        if isinstance(s, ast.While) and any(isinstance(n, ast.NamedExpr) for n in ast.walk(s.test)):
            # What the test binds is a part of the round.
            leave = placed(ast.If(ast.UnaryOp(ast.Not(), s.test), [ast.Break()], []), s.test)
            if s.orelse:
                leave.body[:0] = s.orelse
            s = ast.copy_location(ast.While(ast.copy_location(ast.Constant(True), s), [leave, *s.body], []), s)
        own = _Loop(f"ended{self.count}?", f"skipped{self.count}?")
        body = self.block(s.body, own)
        stops = [own.ended] if _leaves_loop(s.body, ast.Break) else []
        flags = stops + ([own.skipped] if _leaves_loop(s.body, ast.Continue) else [])
        stops += [RETURNED] if self._returns(s.body) else []
        # A round begins only while none is set.
        body = [assign(f, False, s) for f in dict.fromkeys([*flags, *stops])] + body
        before = [assign(own.ended, False, s)] if own.ended in stops else []
        if isinstance(s, ast.While):
            test = s.test
            if stops:
                test = placed(ast.BoolOp(ast.And(), [_none_of(stops, s), test]), s)
            new: ast.stmt = ast.While(test, body, [])
        else:
            new = Loop(s.target, s.iter, body, [])
            new.stops = stops
        if not s.orelse:
            return [*before, self._like(s, new)], []
        after = s.orelse
        if stops:
            after = [placed(ast.If(_none_of(stops, s), s.orelse, []), s)]
            if RETURNED in stops:
                # What follows the `else` must not run after a return inside the loop, and does not after one in it.
                again = _return_again(s)
                only = len(stops) == 1 and not _falls(s.orelse)
                after = [*after, again if only else placed(ast.If(ast.Name(RETURNED, ast.Load()), [again], []), s)]
        return [*before, self._like(s, new)], after

    def _nested(self, s: ast.With | ast.Try, loop: _Loop | None) -> ast.stmt:
        if isinstance(s, ast.With):
            return self._like(s, ast.With(s.items, self.block(s.body, loop)))
        handlers = [
            ast.copy_location(ast.ExceptHandler(h.type, h.name, self.block(h.body, loop) or [ast.Pass()]), h)
            for h in s.handlers
        ]
        body, orelse = self.block(s.body, loop), self.block(s.orelse, loop)
        flags = self._jumps(s.body, loop)
        if flags and orelse:
            orelse = [placed(ast.If(_none_of(flags, s), orelse, []), s)]
        return self._like(s, ast.Try(body, handlers, orelse, self.block(s.finalbody, loop)))


def _return_again(at: ast.stmt) -> ast.stmt:
    return placed(ast.Return(ast.Name(RESULT, ast.Load())), at)
