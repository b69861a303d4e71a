"""Which faults the tests find: `python -m tests.faults COUNT [--seed S] [--seconds T] [--room NAME]`.

Each fault changes one place of one module: an operator, a comparison, a number, a condition or a guard. The rooms of
`stagec` and `passes` take turns, and the seed decides on the places, so that two versions of the tests can be compared.
The tests of the module (`tests/changed.py`) run in a copy of the repository; a fault that they do not find is printed
with its line. It is a missing test, dead code, or a change without consequence, such as that of an estimate.
"""

from __future__ import annotations

import argparse
import ast
import collections
import copy
import os
import pathlib
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests import changed
from tests.revisions import ROOT, checked_out

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Fault(NamedTuple):
    """A fault: the module, the line, and what stands there before and after."""

    file: str
    line: int
    before: str
    after: str
    source: str


def faults_of(file: str, source: str) -> list[Fault]:
    """All faults that can be put into a module.

    >>> [(f.before, f.after) for f in faults_of("f.py", "def f(x):\\n    return x[1] if x < y else -x")]
    [('x < y', 'x <= y'), ('1', '2'), ('-x', 'x')]
    """
    found = []
    lines = source.splitlines(keepends=True)
    for node in _expressions(ast.parse(source)):
        changed_node = _changed(node)
        if changed_node is None or node.lineno != node.end_lineno:
            continue
        before, after = ast.get_source_segment(source, node), ast.unparse(changed_node)
        if before is None or after == before:
            continue
        line = lines[node.lineno - 1]
        raw = line.encode()  # columns count bytes
        text = (raw[: node.col_offset] + after.encode() + raw[node.end_col_offset :]).decode()
        rest = [*lines[: node.lineno - 1], text, *lines[node.lineno :]]
        found.append(Fault(file, node.lineno, before, after, "".join(rest)))
    return found


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """The expressions of functions, without annotations and what checks stagec itself."""
    waiting = collections.deque([(tree, False)])
    while waiting:
        node, inside = waiting.popleft()
        inside = inside or isinstance(node, ast.FunctionDef)
        if isinstance(node, ast.expr) and inside:
            yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or isinstance(node, (ast.Assert, ast.JoinedStr)):
                continue
            parts = value if isinstance(value, list) else [value]
            waiting.extend((part, inside) for part in parts if isinstance(part, ast.AST))


def _changed(node: ast.expr) -> ast.expr | None:
    """The expression with a fault; None where there is none to put in."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.BinOp) and type(new.op) in _SWAPPED and not isinstance(new.left, ast.Constant):
        new.op = _SWAPPED[type(new.op)]()  # type: ignore[assignment]
    elif isinstance(new, ast.Compare) and type(new.ops[0]) in _SWAPPED:
        new.ops[0] = _SWAPPED[type(new.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(new, ast.BoolOp):
        new.op = _SWAPPED[type(new.op)]()  # type: ignore[assignment]
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, (ast.Not, ast.USub)):
        return new.operand
    elif isinstance(new, ast.Constant) and type(new.value) is int:
        new.value += 1
    elif isinstance(new, ast.Constant) and type(new.value) is bool:
        new.value = not new.value
    else:
        return None
    return new


def chosen(count: int, seed: int, room: str) -> list[Fault]:
    """So many faults; the rooms take turns."""
    order = random.Random(seed)
    rooms: dict[str, list[str]] = {}
    for package in ("passes", "stagec"):
        for path in sorted((ROOT / package).rglob("*.py")):
            file = path.relative_to(ROOT)
            rooms.setdefault("/".join(file.parent.parts[:2]), []).append(str(file))
    names = [name for name in rooms if name.startswith(room)]
    order.shuffle(names)
    found: list[Fault] = []
    while len(found) < count:
        for name in names[: count - len(found)]:
            file = order.choice(rooms[name])
            found += order.sample(faults := faults_of(file, (ROOT / file).read_text()), min(1, len(faults)))
    return found


def is_found(fault: Fault, folder: pathlib.Path, seconds: float) -> bool:
    """Whether the tests of the module fail, or do not end, with a fault in the copy of the repository."""
    path = folder / fault.file
    original = path.read_text()
    path.write_text(fault.source)
    tests = changed.tests_of([fault.file])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "--dist", "worksteal", *tests]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    run = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **quiet)  # type: ignore
    try:
        return run.wait(seconds) != 0
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return True
    finally:
        path.write_text(original)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("count", type=int, help="how many faults")
    parser.add_argument("--seed", type=int, default=0, help="decides on the places")
    parser.add_argument("--seconds", type=float, default=600, help="after which tests count as those that fail")
    parser.add_argument("--room", default="", help="only modules of these folders, as in stagec/numpy")
    options = parser.parse_args()
    missed = 0
    with checked_out() as folder:
        for number, fault in enumerate(chosen(options.count, options.seed, options.room), 1):
            found = is_found(fault, folder, options.seconds)
            missed += not found
            text = f"{fault.file}:{fault.line}: {fault.before} -> {fault.after}"
            print(f"{number} {'found' if found else 'MISSED'} {text}", flush=True)
    print(f"{options.count - missed} of {options.count} found")


if __name__ == "__main__":
    main()
