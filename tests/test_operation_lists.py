"""Facts about operations stand in their table, `passes.operations`, and in no list of names elsewhere.

A list is a tuple, a set, a dictionary or a string with the names of two or more operations. Not meant are:
dictionaries whose values are functions, since these are what a module does for each operation, not what is known of
it; the parts of complex numbers; the operations that a pattern names as its own; and what `ALLOWED` names with the
reason.
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
    ("passes/operations/others.py", "add and atan2 compare complex"): "the table",
    ("passes/kernels/arithmetic.py", "add subtract multiply divide remainder"): "the instruction for each type",
    ("passes/kernels/arithmetic.py", "abs cbrt ceil cosine exponential"): "the instruction for each",
    ("passes/kernels/arithmetic.py", "abs popcnt count_leading_zeros"): "the instruction for each",
    ("passes/kernels/contractions.py", "add multiply maximum minimum and"): "the instruction for each",
    ("stagec/compiler/direct/counting.py", "add subtract multiply and or"): "the instruction for each",
    ("stagec/compiler/direct/counting.py", "minimum maximum"): "the branch that writes both",
    ("passes/kernels/scalars.py", "and or"): "the branch that follows both",
    ("passes/kernels/scalars.py", "convert reshape"): "the branch that follows both",
    ("passes/kernels/scalars.py", "maximum minimum"): "the branch that follows both",
    ("passes/kernels/straight/nodes.py", "dynamic_slice gather"): "the branch that plans both",
    ("passes/simplify/constants.py", "divide remainder"): "the branch that looks at both",
    ("passes/kernels/control.py", "dynamic_update_slice scatter optimization_barrier reshape slice"): (
        "the chain of steps that a loop's state goes through"
    ),
    ("passes/kernels/straight/nodes.py", "slice reverse iota gather dynamic_slice"): (
        "what code of the compiler's own takes in, which follows from its fusion"
    ),
    ("passes/kernels/views.py", "concatenate dynamic_update_slice map reshape return"): (
        "which rules for kernels read an operand in a nest of their own"
    ),
    ("passes/legalize/slices.py", "optimization_barrier constant"): "what a fault of the compiler is about",
    (
        "passes/legalize/slices.py",
        "reshape transpose broadcast_in_dim convert",
    ): "what a fault of the compiler is about",
    ("passes/legalize/slices.py", "slice dynamic_slice"): "what a fault of the compiler is about",
    ("passes/legalize/slices.py", "concatenate dynamic_slice dynamic_update_slice pad scatter"): (
        "what a fault of the compiler is about"
    ),
    ("passes/analysis/counters.py", "add subtract"): "the branch that looks at both",
    ("passes/analysis/facts.py", "bitcast_convert dynamic_pad get_tuple_element tuple"): (
        "what moves elements whose values are not an operand's, or that are none"
    ),
    ("passes/simplify/layouts.py", "transpose reshape reverse"): "the subject of its laws",
    ("passes/simplify/casts.py", "divide sqrt abs sign"): "what is rounded to the same number in a narrow type",
    ("passes/simplify/casts.py", "negate abs sign"): "what a narrow type computes as a wide one does",
    ("passes/simplify/casts.py", "select clamp complex"): "what its law leaves out",
    ("passes/simplify/complexes.py", "add subtract"): "the subject of its laws",
    (
        "passes/simplify/constants.py",
        "reduce reduce_window sort scatter dot_general",
    ): "what is folded elsewhere, or not",
    ("passes/simplify/functions.py", "sqrt rsqrt cbrt power"): "the subject of its laws",
    ("passes/simplify/functions.py", "exponential exponential_minus_one log log_plus_one"): "the subject of its laws",
    ("passes/simplify/functions.py", "sine cosine"): "the subject of its laws",
    ("passes/simplify/functions.py", "sinh cosh"): "the subject of its laws",
    ("passes/simplify/functions.py", "erf erfc"): "the subject of its laws",
    ("passes/simplify/integers.py", "shift_left shift_right_logical shift_right_arithmetic"): "the subject of its laws",
    ("passes/simplify/integers.py", "and or xor"): "the subject of its laws",
    ("passes/simplify/integers.py", "add subtract multiply divide negate"): "the subject of its laws",
    ("passes/simplify/selections.py", "divide remainder complex"): "what its law leaves out",
    ("passes/simplify/reductions.py", "maximum minimum and or"): "the subject of its laws",
    ("passes/simplify/regions.py", "rng return"): "what two equal ones of need not agree",
    ("passes/simplify/slices.py", "slice dynamic_slice"): "the subject of its laws",
    ("stagec/compiler/driver.py", "constant dot_general complex"): "what is looked at before a compile",
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
