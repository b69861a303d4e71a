"""Functions, rebuilt from their sources with other syntax trees: on the same lines, globals and closures."""

from __future__ import annotations

import ast
import functools
import inspect
import types
import weakref
from typing import Any

from stagec.core import errors, location
from stagec.python_flow.jumps import RUNTIME, inside
from stagec.python_flow.rewrite import rewritten

_FACTORY = "factory?"


@functools.lru_cache(64)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


_codes: weakref.WeakKeyDictionary[types.CodeType, types.CodeType] = weakref.WeakKeyDictionary()


def converted(function: types.FunctionType, runtime: Any) -> types.FunctionType:
    """The function with control flow that decides while tracing.

    Args:
      runtime: has the operators.

    Raises:
      UnsupportedError: there is no source, or it is one of a generator, or it assigns globals.
    """
    code = _codes.get(function.__code__)
    if code is None:
        code = _codes[function.__code__] = _compiled(function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[RUNTIME] = types.CellType(runtime)
    closure = tuple([cells[name] for name in code.co_freevars])
    new = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__, new.__module__, new.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return new


def _compiled(function: types.FunctionType) -> types.CodeType:
    original = function.__code__
    node, class_name = _definition(function)
    for n in inside(node.body if isinstance(node.body, list) else [node.body]):
        problem = _problem(n)
        if problem:
            raise _refused(function, f"it has {problem[0]}", problem[1], n)
    # The tree is changed, and the parsed module is shared.
    definition: Any = rewritten(_copied(node), class_name)
    free = [RUNTIME, *original.co_freevars]
    parameters = ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, [])
    # Defaults are those of the function that there is.
    definition.args.defaults = [ast.Constant(None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [d and ast.Constant(None) for d in definition.args.kw_defaults]
    factory = ast.FunctionDef(_FACTORY, parameters, [definition], [], None)
    module = ast.Module([factory], [])
    ast.copy_location(factory, node)
    code = compile(ast.fix_missing_locations(module), original.co_filename, "exec")
    inner = _constant(_constant(code, _FACTORY), definition.name)
    return _named(inner, original, original.co_name)


def _copied(node: Any) -> Any:
    if isinstance(node, ast.AST):
        new = type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})
        return ast.copy_location(new, node)
    return [_copied(n) for n in node] if isinstance(node, list) else node


def _constant(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def _named(code: types.CodeType, original: types.CodeType, name: str) -> types.CodeType:
    """Code whose parts have the names that the user's function has: messages and profiles show them."""
    qualified = getattr(original, "co_qualname", name)
    consts = []
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            own = c.co_name.endswith("?") or c.co_name == "<lambda>"
            c = _named(c, original, name if own else c.co_name)
        consts.append(c)
    new: dict[str, Any] = {"co_qualname": qualified} if hasattr(code, "co_qualname") and code.co_name != name else {}
    if hasattr(code, "co_qualname"):
        new = {"co_qualname": qualified if name == original.co_name else f"{qualified}.<locals>.{name}"}
    return code.replace(co_name=name, co_consts=tuple(consts), **new)


def _definition(function: types.FunctionType) -> tuple[Any, str]:
    """The syntax of a function, and the class that it is defined in."""
    code = function.__code__
    try:
        lines, _ = inspect.findsource(code)
        module = _parsed("".join(lines))
    except (OSError, TypeError, SyntaxError):
        fix = "write it in a file or in a notebook's cell"
        raise _refused(function, "its source cannot be read", fix) from None
    found: list[tuple[Any, str]] = []

    def walk(node: ast.AST, class_name: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.name == code.co_name:
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                if first == code.co_firstlineno:
                    found.append((child, class_name))
            elif isinstance(child, ast.Lambda) and code.co_name == "<lambda>":
                names = [a.arg for a in (*child.args.posonlyargs, *child.args.args)]
                if child.lineno == code.co_firstlineno and names == list(code.co_varnames[: code.co_argcount]):
                    found.append((child, class_name))
            walk(child, child.name if isinstance(child, ast.ClassDef) else class_name)

    walk(module, "")
    if len(found) != 1 or isinstance(found[0][0], ast.AsyncFunctionDef):
        several = "several lambdas are on its line" if found else "its source has changed or is not a function's"
        if found and isinstance(found[0][0], ast.AsyncFunctionDef):
            raise _refused(function, "it is a coroutine", "write a function without async")
        raise _refused(function, several, "define it with def, and import it again where its file changed")
    return found[0]


def _problem(node: ast.AST) -> tuple[str, str] | None:
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return "yield", "return a list or an array instead"
    if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return "await", "write a function without async"
    if isinstance(node, ast.Global):
        return f"global {', '.join(node.names)}", "return the value, and assign it outside"
    if isinstance(node, ast.Match):
        return "match", "write it as if and elif"
    if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
        return None
    if (
        isinstance(node, ast.Try)
        and node.finalbody
        and any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for n in inside(list(node.finalbody)))
    ):
        return "a jump in finally", "jump after the try statement"
    return None


def _refused(function: types.FunctionType, why: str, fix: str, node: ast.AST | None = None) -> errors.UnsupportedError:
    what = f"jit(python=True) cannot rewrite {location.of_function(function)}: {why}"
    if node is None:
        return location.error(errors.UnsupportedError, what, fix=fix)
    line = location.Location(function.__code__.co_filename, node.lineno, function.__name__)  # type: ignore[attr-defined]
    return errors.UnsupportedError(errors.message(what, str(line), (), fix))
