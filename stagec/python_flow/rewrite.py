"""A function's syntax tree, with control flow as calls of operators that decide while tracing.

The statements of a branch or a loop become a function inside the function. It shares its names with the code around it
as `nonlocal` ones; two more functions read and set those that it assigns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from stagec.python_flow.jumps import RUNTIME, Loop, inside, placed, without_jumps

# Calls that look at the frame that they are in.
_OF_FRAME = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
ITEM, VALUES = "item?", "values?"


def rewritten(function: ast.FunctionDef | ast.Lambda, class_name: str = "") -> ast.stmt:
    """The definition of a function that calls operators; a lambda becomes a function of its own."""
    if isinstance(function, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(function.body), function.body)]
        function = ast.copy_location(ast.FunctionDef("<lambda>", function.args, body, [], None), function)
    return _Rewriter(class_name).function(function, [])


def bound(nodes: Sequence[ast.AST]) -> list[str]:
    """The names that statements bind, in the order of their first appearance."""
    found: dict[str, None] = {}
    for node in _own(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found[node.id] = None
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = None
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((a.asname or a.name.partition(".")[0], None) for a in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found[node.name] = None
    return list(found)


def _own(nodes: Sequence[ast.AST]) -> Iterable[ast.AST]:
    """The nodes whose names are those of the function, in order: not those of functions or comprehensions in it."""
    for node in nodes:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            yield from (n.target for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
            continue
        yield from _own(list(ast.iter_child_nodes(node)))


def _rebound(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that are bound otherwise than by `x += y`, which changes an array in place."""
    augmented = {id(n.target) for s in nodes for n in inside(s) if isinstance(n, ast.AugAssign)}
    return {
        n.id for n in _own(nodes) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and id(n) not in augmented
    }


def _changed(nodes: Sequence[ast.AST]) -> list[str]:
    """The names of objects that may be changed in place: by a method, or an assignment to an element."""
    found: dict[str, None] = {}
    for s in nodes:
        for n in inside(s):
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
                n = n.func
            elif not (isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)):
                continue
            while isinstance(n, (ast.Attribute, ast.Subscript)):
                n = n.value
            if isinstance(n, ast.Name):
                found[n.id] = None
    return list(found)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(operator: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(_load(RUNTIME), operator, ast.Load()), list(args), [])


def _lambda(body: ast.expr, *parameters: str) -> ast.Lambda:
    return ast.Lambda(_parameters(*parameters), body)


def _parameters(*names: str) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


def _define(name: str, body: list[ast.stmt], *parameters: str) -> ast.FunctionDef:
    return ast.FunctionDef(name, _parameters(*parameters), body or [ast.Pass()], [], None)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, class_name: str) -> None:
        self.class_name = class_name.lstrip("_")
        self.count = 0
        # Names that a branch or a loop of the function assigns, so that they may hold nothing.
        self.unsure: set[str] = set()

    def function(self, node: ast.FunctionDef, decorators: list[ast.expr]) -> ast.FunctionDef:
        """A function's definition, whose default values are as they were."""
        before, self.unsure = self.unsure, set()
        body = without_jumps(node.body)
        for s in body:
            for n in inside(s):
                if isinstance(n, (ast.If, ast.For, ast.While)):
                    self.unsure.update(bound([n]))
        names = sorted(
            self.unsure
            - {n for s in body for x in inside(s) if isinstance(x, (ast.Nonlocal, ast.Global)) for n in x.names}
        )
        new: list[ast.stmt] = []
        for s in body:
            made = self.visit(s)
            new += made if isinstance(made, list) else [made]
        self.unsure = before
        if names:  # they are the function's own, also where only functions inside it bind them
            absent: list[ast.stmt] = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in names]
            new.insert(0, ast.If(ast.Constant(False), absent, []))
        result = ast.FunctionDef(node.name, node.args, new, decorators, None)
        return placed(ast.copy_location(result, node), node.body[0])

    # Statements.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._defaults(node.args)
        return self.function(node, [self.visit(d) for d in node.decorator_list])

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def _defaults(self, args: ast.arguments) -> None:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            made = self.visit(s)
            out += made if isinstance(made, list) else [made]
        return out

    def _region(
        self, node: ast.stmt, parts: Sequence[ast.AST]
    ) -> tuple[list[ast.stmt], list[ast.expr], list[ast.stmt]]:
        """What a region needs: functions that read and set its names, arguments that describe it, and a `nonlocal`."""
        self.count += 1
        names = bound(parts)
        shared: list[ast.stmt] = [ast.Nonlocal(names)] if names else []
        setter = [ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())], _load(VALUES))]
        put = _define(f"set{self.count}?", [*shared, *setter] if names else [], VALUES)
        reads = _lambda(ast.Tuple([_lambda(_load(n)) for n in names], ast.Load()))
        others = _lambda(ast.Tuple([_lambda(_load(n)) for n in _changed(parts)], ast.Load()))
        attribute = next(
            (n for p in parts for n in inside(p) if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)),
            None,
        )
        # A tuple of tuples, which Python takes for a constant.
        known: Any = (self.count, tuple(names), tuple(sorted(_rebound(parts))), attribute and ast.unparse(attribute))
        about = ast.Constant(known)
        return [put], [about, reads, _load(put.name), others], shared

    def _function(self, kind: str, shared: list[ast.stmt], body: list[ast.stmt], *parameters: str) -> ast.FunctionDef:
        self.count += 1
        return _define(f"{kind}{self.count}?", [*shared, *body], *parameters)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        before, about, shared = self._region(node, [*node.body, *node.orelse])
        test = self.visit(node.test)
        yes = self._function("then", shared, self._block(node.body))
        no = self._function("else", shared, self._block(node.orelse))
        run = ast.Expr(_call("if_", *about, test, _load(yes.name), _load(no.name)))
        return [placed(s, node) for s in (*before, yes, no, run)]

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        before, about, shared = self._region(node, [node.test, *node.body])
        test = self._function("test", shared, [ast.copy_location(ast.Return(self.visit(node.test)), node.test)])
        body = self._function("round", shared, self._block(node.body))
        run = ast.Expr(_call("while_", *about, _load(test.name), _load(body.name)))
        return [placed(s, node) for s in (*before, test, body, run)]

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        before, about, shared = self._region(node, [node.target, *node.body])
        stops = node.stops if isinstance(node, Loop) else []
        item = ast.Assign([self.visit(node.target)], _load(ITEM))
        body = self._function("round", shared, [ast.copy_location(item, node), *self._block(node.body)], ITEM)
        stop = _lambda(_call("any_of", *[_load(n) for n in stops])) if stops else ast.Constant(None)
        run = ast.Expr(
            _call("for_", *about, self.visit(node.iter), _load(body.name), stop, ast.Constant(_depth(node.body)))
        )
        return [placed(s, node) for s in (*before, body, run)]

    visit_Loop = visit_For

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        message = _lambda(self.visit(node.msg) if node.msg else ast.Constant(None))
        return placed(ast.Expr(_call("assert_", self.visit(node.test), message)), node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is None:
            return node
        cause = self.visit(node.cause) if node.cause else ast.Constant(None)
        return placed(ast.Expr(_call("raise_", self.visit(node.exc), cause)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if not isinstance(node.target, ast.Subscript):
            # An operator of an array changes it in place; the name on the left may hold nothing.
            self.generic_visit(node)
            return node
        where = [self.visit(node.target.value), self._index(node.target.slice), ast.Constant(type(node.op).__name__)]
        return placed(ast.Expr(_call("update", *where, self.visit(node.value))), node)

    # Expressions.

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangled(node.id)
        if isinstance(node.ctx, ast.Load) and node.id in self.unsure:
            return placed(_call("defined", node), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        return node

    def _mangled(self, name: str) -> str:
        private = self.class_name and name.startswith("__") and not name.endswith("__")
        return f"_{self.class_name}{name}" if private else name

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._defaults(node.args)
        own = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        before, self.unsure = self.unsure, self.unsure - own
        node.body = self.visit(node.body)
        self.unsure = before
        return node

    def _comprehension(self, node: ast.AST) -> ast.AST:
        own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}  # type: ignore[attr-defined]
        before, self.unsure = self.unsure, self.unsure - own
        self.generic_visit(node)
        self.unsure = before
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if _binds(node):
            return self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return placed(_call(name, *[_lambda(self.visit(v)) for v in node.values]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return placed(_call("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if _binds(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        return placed(_call("choose", node.test, _lambda(node.body), _lambda(node.orelse)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1 or _binds(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        steps: list[ast.expr] = []
        for op, right in zip(node.ops, node.comparators):
            test = _lambda(ast.Compare(_load("a"), [op], [_load("b")]), "a", "b")
            steps.append(ast.Tuple([test, _lambda(right)], ast.Load()))
        return placed(_call("chain", node.left, *steps), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        frame = isinstance(node.func, ast.Name) and node.func.id in _OF_FRAME
        self.generic_visit(node)
        if not frame:
            node.func = placed(_call("called", node.func), node.func)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        return placed(_call("item", self.visit(node.value), self._index(node.slice)), node)

    def _index(self, node: ast.expr) -> ast.expr:
        """An index as an expression by itself: with calls of `slice`."""
        if isinstance(node, ast.Tuple):
            return placed(ast.Tuple([self._index(e) for e in node.elts], ast.Load()), node)
        if not isinstance(node, ast.Slice):
            return self.visit(node)  # type: ignore[no-any-return]
        parts = [self.visit(p) if p else ast.Constant(None) for p in (node.lower, node.upper, node.step)]
        return placed(_call("slice", *parts), node)


def _depth(nodes: Sequence[ast.AST]) -> int:
    """How many loops over items are nested."""
    return max((_depth([*ast.iter_child_nodes(n)]) + isinstance(n, ast.For) for n in nodes), default=0)


def _binds(node: ast.AST) -> bool:
    """Whether an expression binds a name, or awaits: then its operands cannot move into functions."""
    return any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(node))
