"""`%load_ext stagec`: a magic of IPython that shows the stages of a call."""

from __future__ import annotations

import ast
from typing import Any

from stagec.core import errors
from stagec.viewing.view import view

_VIEW = "__stagec_view__"


def load_ipython_extension(shell: Any) -> None:
    """Register `%stagec` and `%%stagec`, which show a call with `stagec.view` in its place.

    `%stagec f(x)` takes the call from the line. `%%stagec` runs the cell, and takes its last line; `%%stagec f(x)` runs
    all of the cell first.

    Args:
      shell: IPython's, which calls this.
    """

    def stagec(line: str, cell: str | None = None) -> Any:
        before, call = parts(shell.transform_cell(line.strip() or cell or ""))
        if cell is not None and line.strip():
            before = shell.transform_cell(cell)
        # Under the cell's name, by which its lines are found.
        name = shell.compile.cache(before, len(shell.user_ns["In"]) - 1)
        exec(compile(before, name, "exec"), shell.user_ns)
        return eval(compile(call, "<stagec>", "eval"), {**shell.user_ns, _VIEW: view})

    shell.register_magic_function(stagec, "line_cell", "stagec")


def parts(text: str) -> tuple[str, ast.Expression]:
    """The source before a final call, and an expression that shows this call.

    Raises:
      ArgumentValueError: the source does not end with a call.

    >>> before, call = parts("x = 1\\nf(x, y=2)")
    >>> before, ast.unparse(call)
    ('x = 1', '__stagec_view__(f, x, y=2)')
    """
    try:
        body = ast.parse(text).body
    except SyntaxError:
        body = []
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        fix = "write %stagec f(x), or end the cell of %%stagec with a call such as f(x)"
        raise errors.ArgumentValueError(errors.message("stagec: there is no call to show", fix=fix))
    called = last.value
    call = ast.Call(ast.Name(_VIEW, ast.Load()), [called.func, *called.args], called.keywords)
    before = "\n".join(text.splitlines()[: last.lineno - 1])
    return before, ast.fix_missing_locations(ast.Expression(ast.copy_location(call, called)))
