"""The hints in the sources of both packages, read from their syntax trees.

A hint is what reaches a parameter or a field named `fix`, and what follows `Fix: ` in a string. Where a name is
passed on, the strings that are assigned to it in the same function count.
"""

from __future__ import annotations

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ("passes", "stagec")


def templates():
    """`(place, pattern)` for every hint; the pattern matches what users may read."""
    trees = {path: ast.parse(path.read_text()) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    statements = {path: list(_statements(tree)) for path, tree in trees.items()}
    all_statements = [node for some in statements.values() for node in some]
    takers, others, known = _takers(all_statements), _other_methods(all_statements), _Known(trees.values())
    found = {}
    for path, tree in sorted(trees.items()):
        imported = _imported(statements[path])
        for scope, node in _with_scope(tree):
            for expression in _hints(node, takers, others, imported):
                for text in known.texts(expression, scope):
                    found.setdefault((path.relative_to(ROOT).as_posix(), text), node.lineno)
    return [(f"{path}:{line}", text) for (path, text), line in found.items()]


def _statements(node):
    """The statements in a node, at any depth: few beside all expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield child
            yield from _statements(child)


def _takers(statements):
    """Position of the parameter or field `fix`, by the name of the function or class."""
    found = {"message": 3, "error": 3}
    for node in statements:
        if isinstance(node, ast.FunctionDef):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            method = bool(names) and names[0] in ("self", "cls")
            if "fix" in names:
                found[node.name] = names.index("fix") - method
        elif isinstance(node, ast.ClassDef):
            fields = [n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
            start = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
            names = [a.arg for a in start.args.args[1:]] if start else fields
            if "fix" in names:
                found[node.name] = names.index("fix")
    return found


def _other_methods(statements):
    """The names of methods without a parameter `fix`; a function may have the same name, and take one."""
    classes = [node for node in statements if isinstance(node, ast.ClassDef)]
    methods = [node for one in classes for node in one.body if isinstance(node, ast.FunctionDef)]
    takers = {node.name for node in methods if "fix" in [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]}
    return {node.name for node in methods} - takers


def _imported(statements):
    """The names that a module's import statements bind."""
    imports = [node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}


def _with_scope(tree):
    """Each node with the function around it."""
    stack = [(None, tree)]
    while stack:
        scope, node = stack.pop()
        yield scope, node
        inner = node if isinstance(node, ast.FunctionDef) else scope
        stack += [(inner, child) for child in ast.iter_child_nodes(node)]


def _hints(node, takers, others, imported):
    if isinstance(node, ast.Call):
        method = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", None) not in imported
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if name in takers and not (method and name in others):
            if len(node.args) > takers[name] and not any(isinstance(a, ast.Starred) for a in node.args):
                yield node.args[takers[name]]
            yield from (k.value for k in node.keywords if k.arg == "fix")
    elif isinstance(node, ast.JoinedStr) and "\n  Fix: " in ast.unparse(node).replace("\\n", "\n"):
        yield node
    elif isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and "Fix: " in str(node.right.value):
        yield node.right


class _Known:
    """What names stand for: the constants of all modules, and the functions that return text."""

    def __init__(self, trees):
        self.constants, self.functions = {}, {}
        for tree in trees:
            for node in tree.body:
                target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
                if isinstance(target, ast.Name) and getattr(node, "value", None) is not None:
                    self.constants[target.id] = node.value
                if (
                    isinstance(node, ast.FunctionDef)
                    and isinstance(node.returns, ast.Name)
                    and node.returns.id == "str"
                ):
                    self.functions[node.name] = node

    def texts(self, expression, scope):
        """The patterns that an expression stands for."""
        if isinstance(expression, ast.IfExp):
            yield from self.texts(expression.body, scope)
            yield from self.texts(expression.orelse, scope)
        elif isinstance(expression, ast.BoolOp):
            for value in expression.values:
                yield from self.texts(value, scope)
        elif isinstance(expression, ast.Name):
            found = list(self._assigned(expression.id, scope)) if scope is not None else []
            if found or expression.id not in self.constants:
                yield from found
            else:
                yield from self.texts(self.constants[expression.id], None)
        elif isinstance(expression, ast.Dict):
            for value in expression.values:
                yield from self.texts(value, None)
        elif isinstance(expression, ast.Call):
            yield from self._returned(expression, scope)
        else:
            text = _pattern(expression)
            if text and text.strip(".*"):
                yield re.split(r"Fix:\\? ", text)[-1]
            if isinstance(expression, ast.JoinedStr):
                for part in expression.values:
                    if isinstance(part, ast.FormattedValue) and isinstance(part.value, (ast.Name, ast.Call)):
                        # A word alone is a name that is filled in, and no advice.
                        yield from (f".*{t}.*" for t in self.texts(part.value, scope) if r"\ " in t)

    def _returned(self, call, scope):
        """Texts of a function that makes hints, which more may be added to, or the values of a table."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = call.func.attr if owner is not None else getattr(call.func, "id", "")
        if name == "get" and isinstance(owner, ast.Name) and isinstance(self.constants.get(owner.id), ast.Dict):
            yield from self.texts(self.constants[owner.id], None)
            for argument in call.args[1:]:
                yield from self.texts(argument, scope)
        function = self.functions.get(name)
        if function is not None and function is not scope:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    yield from (f".*{t}.*" for t in self.texts(node.value, function))

    def _assigned(self, name, scope):
        for node in ast.walk(scope):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield from self.texts(node.value, scope if not isinstance(node.value, ast.Name) else None)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for t, v in zip(target.elts, node.value.elts):
                        if isinstance(t, ast.Name) and t.id == name:
                            yield from self.texts(v, None)


def _pattern(node):
    """A string or an f-string as a regular expression; None for what is neither."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [_pattern(v) if isinstance(v, ast.Constant) else ".*" for v in node.values]
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [_pattern(node.left), _pattern(node.right)]
        return "".join(".*" if p is None else p for p in parts)
    return None
