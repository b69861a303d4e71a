"""What users do wrong: each error names their line, the value, and the fix."""

import copy
import linecache
import pickle
import re
import sys
import types

import numpy as np
import pytest

import passes.build
import stagec
import stagec.numpy as snp
from stagec import errors
from stagec.api.remat import saved_residuals


def raised(kind, function, *args, **kwargs):
    with pytest.raises(kind) as info:
        function(*args, **kwargs)
    return str(info.value)


def line_of(function, offset):
    return f"test_errors.py:{function.__code__.co_firstlineno + offset}"


def test_the_truth_value_of_a_tracer_names_the_argument_and_the_line():
    def f(x, n):
        y = x * 2
        if y > n:
            return x
        return n

    text = raised(errors.TracerBoolConversionError, stagec.jit(f), 1.0, 2.0)
    assert line_of(f, 2) in text
    assert "if y > n:" in text
    assert "depends on arguments x, n of f" in text
    assert "static_argnames=('x', 'n')" in text
    assert "snp.where" in text and "stagec.lax.cond" in text


def test_a_while_loop_on_a_tracer_is_a_concretization_error():
    def f(x, n):
        i = 0
        while i < n:
            i += 1
        return x + i

    text = raised(errors.ConcretizationError, stagec.jit(f), 10, 20)
    assert "argument n of f" in text or "arguments n of f" in text
    assert stagec.jit(f, static_argnames=["n"])(10, 20) == 30


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        (errors.TracerIntegerConversionError, lambda x: int(x)),
        (errors.ConcretizationError, lambda x: float(x)),
        (errors.ConcretizationError, lambda x: complex(x)),
        (errors.TracerIntegerConversionError, lambda x: [1, 2, 3][x]),
        (errors.TracerIntegerConversionError, lambda x: range(x)),
        (errors.TracerArrayConversionError, lambda x: np.sin(x)),
        (errors.TracerArrayConversionError, lambda x: np.asarray(x)),
        (errors.ConcretizationError, lambda x: x.item()),
        (errors.ConcretizationError, lambda x: x.tolist()),
        (errors.ConcretizationError, lambda x: f"{x:.2f}"),
    ],
    ids="int float complex list range numpy asarray item tolist format".split(),
)
def test_values_of_tracers_do_not_exist(kind, use):
    text = raised(kind, stagec.jit(use), 1)
    assert "test_errors.py" in text
    assert "argument x of <lambda>" in text
    assert "Fix:" in text


def test_a_traced_shape_names_the_fix():
    text = raised(errors.ConcretizationError, stagec.jit(lambda n: snp.zeros(n)), 3)
    assert "static" in text


def test_a_leaked_tracer_says_where_it_came_from():
    kept = []

    @stagec.jit
    def f(x):
        y = x * 2
        kept.append(y)
        return y

    f(1.0)
    text = raised(errors.LeakedTracerError, lambda: kept[0] + 1)
    assert "after its function had returned" in text
    assert "from test_errors.py" in text
    text = raised(errors.LeakedTracerError, stagec.jit(lambda x: x + kept[0]), 1.0)
    assert "return the value" in text


def test_shapes_that_do_not_broadcast_show_where_the_operands_came_from():
    def loss(prediction, bias):
        prediction = prediction * 2
        return prediction + bias

    text = raised(errors.ShapeError, stagec.jit(loss), np.ones((3, 4), np.float32), np.ones(3, np.float32))
    assert "float32[3,4] and float32[3] do not broadcast (axis -1: 4 vs 3)" in text
    assert line_of(loss, 2) in text
    assert "from " + line_of(loss, 1) in text
    assert "argument bias of loss" in text
    assert "[:, None]" in text


def test_eager_shape_errors_name_the_line_too():
    text = raised(errors.ShapeError, lambda: snp.ones((2, 3)) + snp.ones(4))
    assert "test_errors.py" in text


def test_lax_does_not_promote():
    text = raised(errors.DtypeError, stagec.lax.add, np.float32(1), np.int32(1))
    assert "float32" in text and "int32" in text and "astype" in text


def test_an_unhashable_static_argument():
    f = stagec.jit(lambda x, shape: x.reshape(shape), static_argnames="shape")
    text = raised(errors.StaticArgumentError, f, np.ones(4), [2, 2])
    assert "static argument shape" in text and "list" in text and "tuple" in text


def test_a_traced_static_argument():
    inner = stagec.jit(lambda x, n: x * n, static_argnums=1)
    text = raised(errors.StaticArgumentError, stagec.jit(lambda x: inner(x, x)), 1.0)
    assert "static argument n" in text and "traced" in text


def test_static_names_that_do_not_exist():
    text = raised(errors.StaticArgumentError, stagec.jit, lambda x: x, static_argnames="m")
    assert "'m'" in text and "x" in text
    text = raised(errors.StaticArgumentError, stagec.jit, lambda x: x, static_argnums=3)
    assert "takes 1 positional argument (x)" in text
    assert "out of range" in text


@pytest.mark.parametrize("bad", ["text", object(), {1, 2}, b"bytes", np.array(["a"]), np.array([None])])
def test_unsupported_arguments_are_named(bad):
    def f(params):
        return params["w"][0]

    text = raised((errors.ArgumentTypeError, errors.DtypeError), stagec.jit(f), {"w": [bad]})
    if not isinstance(bad, np.ndarray):
        assert "params['w'][0]" in text
        assert "Fix: take it out of params" in text or "Fix: make an array of it" in text


@pytest.mark.parametrize("bad", ["text", object()])
def test_results_that_are_not_arrays_are_named(bad):
    def f(x):
        return {"loss": x, "name": [bad]}

    text = raised(errors.OutputTypeError, stagec.jit(f), 1.0)
    assert "result['name'][0]" in text
    assert "test_errors.py" in text


def test_a_bad_x_in_lower_is_named():
    assert "argument x" in raised(errors.ArgumentTypeError, stagec.jit(lambda x: x).lower, "text")


def test_jit_of_a_value_says_what_to_write():
    assert "jit(f)(x)" in raised(TypeError, stagec.jit, 3.0)


def test_unknown_targets_list_what_exists():
    text = raised(errors.TargetError, stagec.jit, lambda x: x + 1, target="cpuu")
    assert "cpu" in text


def test_assignment_to_an_array_shows_at():
    x = snp.zeros(3)

    def assign():
        x[0] = 1.0

    assert "x.at[index].set(value)" in raised(TypeError, assign)


def test_arrays_hash_and_compare_as_jax_says():
    x = snp.ones(2)
    assert "unhashable" in raised(TypeError, hash, x)
    assert "ambiguous" in raised(ValueError, bool, x == x)
    assert "hash" in raised(TypeError, stagec.jit(lambda x: hash(x)), x)


def test_errors_hide_stagecs_own_frames():
    import traceback

    def f(x):
        return snp.ones(3) + snp.ones(4)

    try:
        stagec.jit(f)(1.0)
    except errors.ShapeError as error:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert sum("graph.py" in name for name in files) == 0
    assert any(name == __file__ for name in files)


def test_errors_pickle_and_print_with_their_public_name():
    import pickle

    error = errors.ShapeError("text")
    assert type(error).__module__ == "stagec.errors"
    assert isinstance(pickle.loads(pickle.dumps(error)), errors.ShapeError)


def as_passed(x):
    return x


@pytest.mark.parametrize(
    ("value", "name", "kind"),
    [
        (np.array(["a"]), "x", errors.DtypeError),
        ({"w": [np.array([object()])]}, "x['w'][0]", errors.DtypeError),
        (np.str_("a"), "x", errors.DtypeError),
        (np.zeros(2, "i4,f4"), "x", errors.DtypeError),
        (2**40, "x", OverflowError),
        ({1: 2, "a": 3}, "x", errors.PytreeError),
        ([{1: 2, "a": 3}], "x", errors.PytreeError),
    ],
    ids=lambda value: re.sub(r"0x[0-9a-f]+", "", repr(value)),
)
@pytest.mark.parametrize("pass_on", [lambda f, x: f(x), lambda f, x: f(x=x)], ids=["positional", "keyword"])
def test_arguments_that_cannot_be_arrays_are_named_with_the_line(value, name, kind, pass_on):
    text = raised(kind, pass_on, stagec.jit(as_passed), value)
    assert f"argument {name} of as_passed at test_errors.py:" in text
    assert "\n  test_errors.py:" in text and "\n  Fix: " in text


def test_a_compiled_function_names_a_bad_argument_too():
    compiled = stagec.jit(as_passed).lower(1.0).compile()
    assert "argument x of as_passed" in raised(errors.ArgumentTypeError, compiled, object())
    assert "argument x of as_passed" in raised(errors.DtypeError, compiled, np.array("a"))


def test_eager_operations_on_strings_name_the_line():
    text = raised(errors.DtypeError, lambda: snp.sin(np.array(["a"])))
    assert "\n  test_errors.py:" in text


class Foreign:
    """An array of another library, as NumPy sees it."""

    dtype = np.dtype("float32")
    shape = (2,)

    def __array__(self, dtype=None, copy=None):
        return np.ones(2, np.float32)


def test_arrays_of_other_libraries_are_to_be_converted():
    assert "Fix: convert it with np.asarray(x)" in raised(errors.ArgumentTypeError, stagec.jit(as_passed), Foreign())
    assert "Fix: convert it with np.asarray(x)" in raised(errors.ArgumentTypeError, snp.sin, Foreign())


@pytest.mark.parametrize(
    "use",
    [
        lambda x: hash(x),
        lambda x: {x: 1},
        lambda x: {x},
        lambda x: pickle.dumps(x),
    ],
)
def test_tracers_are_neither_hashed_nor_pickled(use):
    text = raised(TypeError, stagec.jit(use), 1.0)
    assert "argument x of <lambda>" in text and "test_errors.py" in text and "\n  Fix: " in text


def test_copies_of_tracers_are_the_value():
    assert stagec.jit(lambda x: copy.copy(x) + copy.deepcopy([x])[0])(2.0) == 4


@pytest.mark.parametrize(
    "use",
    [bool, int, float, complex, np.asarray, np.sin, lambda x: x.item(), lambda x: x.tolist(), lambda x: [1][x]],
    ids=lambda use: use.__name__,
)
def test_a_leaked_tracer_is_named_as_one_by_conversions(use):
    kept = []
    stagec.jit(lambda x: kept.append(x) or x)(1)
    text = raised(errors.LeakedTracerError, use, kept[0])
    assert "argument x of <lambda>" in text and "test_errors.py" in text


@pytest.mark.parametrize(
    ("use", "shapes", "names"),
    [
        (lambda x, y: x @ y, [(2, 3), (2, 3)], ["a", "b"]),
        (lambda x, y: x @ y, [(2, 2, 3), (3, 3, 2)], ["a", "b"]),
        (snp.dot, [(2, 3), (2, 3)], ["a", "b"]),
        (lambda x, y: snp.concatenate([x, y]), [(2, 3), (2, 4)], ["operand 0", "operand 1"]),
        (lambda x, y: snp.stack([x, y]), [(2, 3), (2, 4)], ["operand 0", "operand 1"]),
        (lambda x, y: snp.einsum("ij,jk", x, y), [(2, 3), (2, 3)], ["operand 0", "operand 1"]),
        (lambda x, y: stagec.lax.add(x, y), [(2,), (3,)], ["operand 0", "operand 1"]),
        (lambda x: x.reshape(4, 2), [(2, 3)], ["operand"]),
        (lambda x: x.reshape(4, -1), [(2, 3)], ["array"]),
    ],
)
def test_shape_errors_show_the_operands_and_where_they_came_from(use, shapes, names):
    operands = [snp.ones(shape) for shape in shapes]
    width = max(map(len, names))
    traced = raised(errors.ShapeError, stagec.jit(lambda *args: use(*args)), *operands)
    eager = raised(errors.ShapeError, use, *operands)
    for i, (name, operand) in enumerate(zip(names, operands)):
        row = f"\n    {name:<{width}}  {operand.aval.long()}"
        assert row in eager and row in traced
        assert f"argument args[{i}] of <lambda>" in traced
    for text in (traced, eager):
        assert text.count("\n  test_errors.py:") == 1
        assert text.splitlines()[-1].startswith("  Fix: ")


@stagec.pattern("stablehlo.sine")
def sine_is_cosine(op):
    """sin(x) -> cos(x), to be seen."""
    return passes.build.op("stablehlo.cosine", [op.operand], op.result.type)


def test_one_pass_needs_no_list():
    assert np.allclose(stagec.jit(snp.sin, passes=sine_is_cosine)(0.0), 1)


@pytest.mark.parametrize("given", [3, [3], "abc", [sine_is_cosine, None]], ids=["3", "[3]", "abc", "None"])
def test_what_is_no_pass_is_refused_when_jit_is_called(given):
    with pytest.raises(ValueError, match="is not a pass") as caught:
        stagec.jit(snp.sin, passes=given)
    fix = "leave names out" if given == "abc" else "give a Pass, a Pattern"
    assert "test_errors.py" in str(caught.value) and f"Fix: {fix}" in str(caught.value)


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        (lambda x: snp.put(x, 0, 1), ValueError),
        (lambda x: snp.put_along_axis(x, np.array([0]), 1, 0), ValueError),
        (lambda x: snp.fill_diagonal(snp.ones((2, 2)), 0), ValueError),
        (lambda x: snp.choose(x.astype(int), [x, x], mode="best"), ValueError),
        (lambda x: snp.ravel_multi_index((x.astype(int),), (3,), mode="best"), ValueError),
        (lambda x: snp.ravel_multi_index((x.astype(int),), (3,), order="K"), ValueError),
        (lambda x: snp.pad(x, 1.5), TypeError),
        (lambda x: snp.pad(x, 1, mode="reflect", reflect_type="best"), ValueError),
        (lambda x: stagec.jit(snp.sin).lower(x).as_text("best"), ValueError),
        (lambda x: stagec.jit(snp.sin).lower(x).compiler_ir("best"), ValueError),
        (lambda x: stagec.lax.cond(True, lambda v: v, lambda v: v, x, operand=x), TypeError),
        (lambda x: snp.dot(x, x, precision="best"), ValueError),
        (lambda x: bool(x), ValueError),
        (lambda x: float(x), TypeError),
        (lambda x: hash(x), TypeError),
        (lambda x: len(x[0]), TypeError),
        (lambda x: list(x[0]), TypeError),
        (lambda x: [1][x[0]], TypeError),
        (lambda x: stagec.Array(x), TypeError),
        (lambda x: stagec.jit(x), TypeError),
    ],
)
def test_errors_of_built_in_classes_name_the_line_and_the_fix(use, kind):
    text = raised(kind, use, snp.ones(2))
    headline, place, *_ = text.splitlines()
    assert headline and place.startswith("  test_errors.py:")
    assert text.splitlines()[-1].startswith("  Fix: ")


def test_hints_name_modules_as_the_user_imported_them():
    source = "import {0}\nf = stagec.jit(lambda x: x if x > 0 else -x)"
    for line, name in [
        ("stagec.numpy as jnp, stagec", "jnp.where"),
        ("stagec", "stagec.numpy.where"),
        ("stagec as sc\nstagec = sc\ndel sc", "stagec.numpy.where"),
    ]:
        namespace = {}
        exec(source.format(line), namespace)
        assert f"with {name} or " in raised(errors.TracerBoolConversionError, namespace["f"], 1.0)


def test_numpys_own_frames_are_not_the_users_line():
    text = raised(errors.TracerArrayConversionError, stagec.jit(lambda x: np.linalg.norm(x)), snp.ones(2))
    assert "test_errors.py:" in text
    if sys.version_info >= (3, 11):  # which function was called is read from the frame
        assert "Fix: call snp.linalg.norm" in text


def test_the_article_of_a_class_fits():
    def rule(x, ct):
        return ct

    f = stagec.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), rule)
    assert "an Array" in raised(errors.PytreeError, stagec.grad(f), 1.0)


@pytest.fixture
def cell(monkeypatch):
    """Defines what the source of a notebook's cell defines, as IPython compiles it."""
    file = "/tmp/ipykernel_12/3536777308.py"
    compiler = types.SimpleNamespace(format_code_name=lambda name: ("Cell", "In[15]") if name == file else None)
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    def defined(source):
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        names = {"stagec": stagec, "snp": snp}
        exec(compile(source, file, "exec"), names)
        return names["f"]

    yield defined
    linecache.cache.pop(file, None)


def test_lines_of_a_notebook_are_named_by_their_cell(cell):
    f = cell("def f(x):\n    return x[0] if x[0] > 1 else x\n")
    text = raised(errors.TracerBoolConversionError, stagec.jit(f), np.ones(3))
    assert "  Cell In[15]:2 in f:  return x[0] if x[0] > 1 else x\n" in text
    assert "from Cell In[15]:2, depends on argument x" in text
    assert repr(stagec.jit(f)) == "<stagec.jit of f at Cell In[15]:1>"
    assert "3536777308" not in text


def test_outside_of_a_notebook_lines_are_named_by_their_file(cell):
    assert repr(stagec.jit(raised)).startswith("<stagec.jit of raised at test_errors.py:")
    assert repr(stagec.jit(stagec.grad(raised))).startswith("<stagec.jit of grad(raised) at test_errors.py:")


def test_kept_values_of_a_notebook_are_named_by_their_cell(cell):
    f = cell("def f(x):\n    return snp.sin(snp.cos(x)).sum()\n")
    assert any("Cell In[15]:2 (f)" in where for _, where in saved_residuals(f, snp.ones(3)))
