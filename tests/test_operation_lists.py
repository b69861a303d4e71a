"""Facts about operations stand in their table, `passes.operations`, and in no list of names elsewhere.

A list is a tuple, a set, a dictionary or a string with the names of two or more operations. Not meant are:
the table itself; dictionaries whose values are functions, since these are what a module does for each operation, not
what is known of it; the parts of complex numbers; the operations that a pattern names as its own; and what `ALLOWED`
names with the reason.
"""

import ast
import functools
import pathlib
import re

import pytest

from passes import operations

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHORT = {row.short for row in operations.TABLE.values()}
# Here, operations are called by their short names, too; elsewhere in stagec these are names of primitives.
BY_SHORT_NAMES = ("passes", "stagec/compiler/direct")

# (file, names): why they are not facts for the table.
ALLOWED = {
    ("passes/kernels/arithmetic.py", "abs add and atan2 cbrt"): "the instruction for each",
    ("passes/kernels/contractions.py", "add multiply maximum minimum and"): "the instruction for each",
    ("passes/kernels/llvm/functions.py", "floor ceil"): "what each means",
    ("passes/kernels/row_blocks.py", "reshape bitcast_convert"): "which results of a program have an argument's bytes",
    ("passes/kernels/views.py", "concatenate dynamic_update_slice map reshape return"): (
        "which rules for kernels read an operand in a nest of their own"
    ),
    ("passes/legalize/windows.py", "and or xor"): "what each is for the integers 0 and 1",
    ("passes/proving/programs.py", "broadcast_in_dim concatenate pad reshape reverse"): "what moves terms as numbers",
    ("passes/proving/terms.py", "sine tan tanh cbrt"): "what each means",
    ("passes/proving/terms.py", "negate abs"): "what each means",
    ("passes/proving/terms.py", "is_inf is_pos_inf is_neg_inf"): "what each means",
    ("passes/proving/terms.py", "maximum minimum"): "what each means",
    ("passes/proving/terms.py", "negate not"): "what each means",
    ("passes/proving/terms.py", "divide remainder"): "what each means",
    ("passes/proving/terms.py", "add multiply"): "what each means",
    ("passes/proving/terms.py", "add subtract negate"): "what each means",
    ("passes/proving/terms.py", "add maximum multiply minimum"): "what each means",
    ("passes/simplify/independent.py", "slice dynamic_slice"): "the two ways to read a part of an array",
    ("passes/simplify/joins.py", "transpose reverse pad broadcast_in_dim"): "the subject of a law",
    ("passes/simplify/layouts.py", "transpose reshape reverse"): "the subject of its laws",
}


CODE = (ast.Name, ast.Attribute, ast.Call, ast.Lambda)


def short(name):
    return name.removeprefix("stablehlo.").removeprefix("chlo.")


def words(node):
    """The strings that a literal lists."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = node.elts
    elif isinstance(node, ast.Dict) and not any(isinstance(n, CODE) for v in node.values for n in ast.walk(v)):
        parts = [key for key in node.keys if key is not None]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = node.value.split()
        return found if all(re.fullmatch(r"[a-z_0-9.]+", word) for word in found) else []
    else:
        return []
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def lists(text, by_short_names):
    """The lists of operations in a source text: their lines and the names."""
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        names = words(node)
        full = [name for name in names if name in operations.TABLE]
        known = [name for name in names if short(name) in SHORT] if by_short_names else full
        if len(full) < 2 and (len(known) < 2 or len(known) < len(names)):
            continue
        parent = parents[node]
        is_unpacked = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)
        # What a law rewrites, and what must have made an operand, is its own subject.
        is_subject = isinstance(parent, ast.keyword) and parent.arg == "of"
        is_subject = is_subject or (isinstance(parent, ast.Call) and getattr(parent.func, "id", "") == "pattern")
        if is_unpacked or is_subject or isinstance(parent, ast.Expr) or {*map(short, known)} == {"real", "imag"}:
            continue
        yield node.lineno, " ".join(short(name) for name in known)


@functools.cache
def found():
    lines = []
    for path in sorted([*ROOT.glob("passes/**/*.py"), *ROOT.glob("stagec/**/*.py")]):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith("passes/operations/"):
            continue
        lines += [(name, *row) for row in lists(path.read_text(), name.startswith(BY_SHORT_NAMES))]
    return lines


def test_there_are_no_lists_of_operations_outside_of_the_table():
    unknown = [
        f"{file}:{line}: {names}" for file, line, names in found() if (file, " ".join(names.split()[:5])) not in ALLOWED
    ]
    assert not unknown, "make it a fact of passes.operations, and ask the record:\n" + "\n".join(unknown)


def test_what_is_allowed_is_there():
    there = {(file, " ".join(names.split()[:5])) for file, _, names in found()}
    assert set(ALLOWED) <= there


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('_CHEAP = ("stablehlo.add", "stablehlo.negate")', 1),
        ('_CHEAP = frozenset("add negate multiply".split())', 1),
        ('is_cheap = name in ("add", "negate")', 1),
        ('_COSTS = {"stablehlo.add": 1, "stablehlo.sine": 20}', 1),
        ('_RULES = {"stablehlo.add": _add, "stablehlo.sine": _sine}', 0),
        ('parts = [build.op(name, [x]) for name in ("stablehlo.real", "stablehlo.imag")]', 0),
        ('@pattern("stablehlo.add", "stablehlo.sine")\ndef law(op): ...', 0),
        ('kinds = ("add", "frobnicate", "twist")', 0),
    ],
)
def test_a_list_is_found(text, count):
    assert len(list(lists(text, True))) == count
