"""What type checkers know of stagec: that it is true, and that users get it."""

import ast
import doctest
import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys
import typing

import numpy
import pytest
import typing_extensions
from annotated import fits, functions, modules, overloads

import stagec
import stagec.numpy as snp
from stagec.core.operators import METHODS, ArrayOperators

ROOT = pathlib.Path(__file__).resolve().parent.parent


def interface(name):
    """The definitions in a class of `core/array.py`, which is there for type checkers alone."""
    tree = ast.parse((ROOT / "stagec/core/array.py").read_text())
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name]
    return {node.name: node for node in classes[0].body if isinstance(node, ast.FunctionDef)}


def parameters(definition):
    given = definition.args
    return [a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]][1:]


def test_the_interface_of_arrays_is_what_arrays_have():
    x = snp.zeros((2, 2))
    assert [name for name in interface("Array") if not hasattr(x, name)] == []
    public = {name for name in dir(x) if not name.startswith("_")}
    assert public - set(interface("Array")) - {"aval"} == set()
    operators = {name for name in vars(ArrayOperators) if name.startswith("__") and callable(getattr(x, name))}
    ours = operators - set(vars(object)) - {"__setitem__", "__getattr__"} | {"__eq__", "__lt__"}
    assert ours - set(interface("Array")) == set()


# Methods whose arguments are not those of the function after the first.
OWN_ARGUMENTS = ("astype", "byteswap", "compress", "flatten", "ravel", "reshape", "transpose", "view")


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(OWN_ARGUMENTS)))
def test_the_interface_has_the_arguments_of_the_function(name):
    expected = list(inspect.signature(getattr(snp, name)).parameters)[1:]
    assert parameters(interface("Array")[name]) == expected


def test_the_interface_has_the_updates_of_at():
    known, updates = interface("AtIndex"), snp.zeros(2).at[0]
    assert [name for name in dir(updates) if not name.startswith("_")] == sorted(known)
    for name in set(known) - {"get", "apply"}:
        assert list(inspect.signature(getattr(updates, name)).parameters) == parameters(interface("Update")["__call__"])
    for name in ("get", "apply"):
        assert list(inspect.signature(getattr(updates, name)).parameters) == parameters(known[name])


def test_a_tracer_has_the_type_that_annotations_name():
    seen = []
    stagec.jit(lambda x: seen.append(isinstance(x, stagec.Array)))(1.0)
    assert seen == [True]


def observed(run):
    """What the public functions return while `run()` is at work: by function, values that do not fit."""
    by_code = {function.__code__: name for name, function in functions().items()}
    hints = {name: typing.get_type_hints(function).get("return") for name, function in functions().items()}
    called, wrong = set(), {}

    def look(frame, event, value):
        name = by_code.get(frame.f_code) if event == "return" else None
        # None is what an exception leaves as well.
        if name is not None and value is not None:
            called.add(name)
            if not fits(value, hints[name]):
                wrong[name] = f"{type(value).__name__} for {hints[name]}"

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(before)
    return called, wrong


def test_what_functions_return_in_their_examples_fits_their_annotations():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    examples = [
        example
        for name, function in functions().items()
        for module in [sys.modules[function.__module__]]
        for example in finder.find(function, name, module, {**function.__globals__, **vars(module)})
    ]

    def run():
        for example in examples:
            runner.run(example, out=lambda text: None)

    # What is observed is slow, and compiling changes no type. Drivers of other devices keep a core busy.
    with stagec.disable_jit(), stagec.config.override(platforms="cpu"):
        called, wrong = observed(run)
    assert wrong == {}
    # Operators of `lax` without an example are called by those that have one; few functions are left out. What one
    # function makes has one code.
    assert len(called) > 0.9 * len({function.__code__ for function in functions().values()})


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """What mypy says of files of users, in strict mode."""
    folder = tmp_path_factory.mktemp("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "tests/typed/mypy.ini", "--cache-dir", folder]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}

    def run(*files):
        done = subprocess.run([*command, *files], capture_output=True, text=True, env=environment, cwd=folder)
        return done.stdout + done.stderr

    return run


def test_users_find_the_types_that_they_rely_on(mypy, tmp_path):
    """One run for all: the programs of `typed/`, and a file that names everything public."""
    names = ["import stagec"]
    for name, module in modules():
        path = "stagec" if name == "stagec" else f"stagec.{name}"
        names += [f"import {path}", *[f"{path}.{n}" for n in dir(module) if not n.startswith("_")]]
    everything = tmp_path / "everything.py"
    everything.write_text("\n".join(names))
    found = mypy(ROOT / "tests/typed/programs.py", everything)
    assert found.startswith("Success"), found


def test_the_page_on_type_checkers_says_what_mypy_says(mypy, tmp_path):
    page = (ROOT / "docs/how-to/interop.md").read_text()
    section = page.partition("## Type checkers")[2].partition("\n## ")[0]
    code, mistakes = (re.search(rf"```{kind}\n(.*?)```", section, re.S)[1] for kind in ("python", "text"))
    program = tmp_path / "program.py"
    program.write_text(code + mistakes)
    expected = {
        f"{code.count(chr(10)) + i}: {line.partition('# ')[2]}" for i, line in enumerate(mistakes.splitlines(), 1)
    }
    reported = re.findall(r"program.py:(\d+: error: .*?)  \[", mypy(program))
    assert set(reported) == expected


def test_the_types_that_users_find_are_those_of_the_values():
    """Run the programs with an `assert_type` that looks at the value."""
    path = ROOT / "tests/typed/programs.py"
    lines = set()

    def assert_type(value, kind):
        line = sys._getframe(1).f_lineno
        lines.add(line)
        kind = eval(kind, vars(program)) if isinstance(kind, str) else kind
        assert fits(value, kind), f"line {line}: {type(value).__name__} is no {kind}"
        return value

    spec = importlib.util.spec_from_file_location("typed_programs", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.assert_type = assert_type
    program.main()
    assert len(lines) == path.read_text().count("    assert_type(")


def test_no_module_renames_the_constant_that_checkers_know():
    """Pyright knows `TYPE_CHECKING` by its name: `stagec.Array` was another class under an alias of it."""
    sources = [*(ROOT / "stagec").rglob("*.py"), *(ROOT / "passes").rglob("*.py")]
    assert [p.name for p in sources if re.search(r"TYPE_CHECKING as |\b_TYPE_CHECKING\b", p.read_text())] == []


# Functions whose result a type cannot say, and why.
UNKNOWN = {
    "custom_derivatives.custom_vjp_primal_tree_values": "the leaves' type changes, the containers' stay",
    "custom_derivatives.zero_from_primal": "the leaves' type changes, the containers' stay",
    "numpy.gradient": "an array or a list, by the rank",
    "numpy.load": "an array or several, by the file",
    "numpy.polyfit": "coefficients, and what `full` and `cov` ask for",
    "tree.broadcast": "the leaves' type changes, the containers' stay",
    "tree.map_with_path": "the leaves' type changes, the containers' stay",
    "tree.static": "a field of a dataclass, as `dataclasses.field`",
    "tree.transpose": "containers that values describe",
    "tree.unflatten": "containers that values describe",
}


def test_public_functions_say_what_they_return():
    unknown = set()
    for name, function in functions().items():
        # What modules import for type checkers alone.
        known = {"Unpack": typing_extensions.Unpack}
        hints = [typing.get_type_hints(f, localns=known) for f in overloads(function) or [function]]
        kinds = [each.get("return", typing.Any) for each in hints]
        if all(kind is typing.Any for kind in kinds):
            unknown.add(name)
    assert unknown == set(UNKNOWN)


TREE = "containers of arrays, of any shape"
PASSED_ON = "for a function of the user's or of NumPy's, which has types of its own"
VALUE = "any value has an answer"
# Parameters of any type, and why.
ANYTHING = {
    **dict.fromkeys("args example_args kw kwargs options".split(), PASSED_ON),
    **dict.fromkeys(
        """
        A M arrays b device donate elems full_tree in_axes in_nzs in_shardings in_specs init init_val init_value
        init_values initial_guess initializer linear_args may_alias operand operands out_axes out_shardings out_specs
        prefix_tree primals pytree pytree_to_transpose residual_args
        rest result_shape_dtypes src tree val x x0 xs
        """.split(),
        TREE,
    ),
    **dict.fromkeys(
        """
        _ a dimension_numbers exported identity nodetype out_sharding passes axis_name shardings spmd_axis_name
        """.split(),
        VALUE,
    ),
}


def test_parameters_of_any_type_are_few():
    found = set()
    for function in functions().values():
        hints = typing.get_type_hints(function)
        found |= {name for name in inspect.signature(function).parameters if hints.get(name) is typing.Any}
    assert found == set(ANYTHING)


def test_what_is_like_an_array_is_asked_with_isinstance():
    values = [snp.ones(2), numpy.ones(2), numpy.float32(1), True, 1, 1.0, 1j, [1.0], "a", None]
    assert [isinstance(value, stagec.typing.ArrayLike) for value in values] == [True] * 7 + [False] * 3
