"""`jit`: when a function is traced, what it may take and return, and what stays Python."""

import dataclasses
import functools
from collections import namedtuple

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors


class Counter:
    """Counts how often a function is traced."""

    def __init__(self, function):
        self.count = 0
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        self.count += 1
        return self.function(*args, **kwargs)


def counted(function, **options):
    counter = Counter(function)

    def traced(*args, **kwargs):
        return counter(*args, **kwargs)

    traced.__signature__ = __import__("inspect").signature(function)
    return stagec.jit(traced, **options), counter


def test_a_jitted_function_gives_what_numpy_gives():
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    f = stagec.jit(lambda x, y: snp.sin(x) @ y.T + 1)
    np.testing.assert_allclose(f(x, x), np.sin(x) @ x.T + 1, rtol=1e-6, atol=1e-6)


def test_decorator_call_and_partial_are_the_same():
    def f(x):
        return x * 2 + 1

    by_decorator = stagec.jit(f)
    by_partial = functools.partial(stagec.jit, static_argnums=())(f)
    by_options = stagec.jit(keep_unused=True)(f)
    assert float(by_decorator(3.0)) == float(by_partial(3.0)) == float(by_options(3.0)) == 7.0


def test_the_same_signature_is_traced_once():
    f, traces = counted(lambda x: x + 1)
    for i in range(5):
        f(snp.full((3,), i, dtype=snp.float32))
    assert traces.count == 1


@pytest.mark.parametrize(
    "other",
    [
        np.ones(4, np.float32),
        np.ones(3, np.int32),
        np.float32(1),
        1.0,
        1,
        True,
        [np.ones(3, np.float32)],
    ],
    ids=["shape", "dtype", "rank", "weak float", "weak int", "bool", "structure"],
)
def test_a_new_signature_is_traced_anew(other):
    f, traces = counted(lambda x: stagec.tree.map(lambda v: v + 1, x))
    f(np.ones(3, np.float32))
    f(other)
    f(other)
    assert traces.count == 2


def test_weak_and_strong_scalars_have_different_traces_and_dtypes():
    f, traces = counted(lambda x: x * np.ones(2, np.int8))
    assert f(1).dtype == np.int8
    assert f(np.int32(1)).dtype == np.int32
    assert traces.count == 2


def test_side_effects_happen_while_tracing_only(capsys):
    @stagec.jit
    def f(x):
        print("tracing", x)
        return x + 1

    f(snp.zeros(3))
    f(snp.zeros(3))
    out = capsys.readouterr().out
    assert out.count("tracing") == 1
    assert "f32[3]" in out


def test_keyword_arguments_and_defaults():
    @stagec.jit
    def f(x, y=10.0, *, z=1.0):
        return x + 2 * y + 3 * z

    assert float(f(1.0)) == 24.0
    assert float(f(1.0, y=1.0)) == 6.0
    assert float(f(x=1.0, z=2.0)) == 27.0


Point = namedtuple("Point", "x y")


@stagec.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    bias: object


def test_pytrees_go_in_and_out():
    @stagec.jit
    def f(tree):
        return {
            "dict": tree["a"] + 1,
            "point": Point(tree["p"].x * 2, None),
            "list": [tree["l"][0], (tree["l"][1], ())],
            "layer": Layer(tree["layer"].bias, tree["layer"].weight),
        }

    out = f(
        {
            "a": snp.ones(2),
            "p": Point(3.0, 4.0),
            "l": [1, snp.arange(2)],
            "layer": Layer(snp.zeros(1), snp.ones((1, 1))),
        }
    )
    assert out["point"].y is None
    assert float(out["point"].x) == 6.0
    assert isinstance(out["layer"], Layer)
    assert out["layer"].weight.shape == (1, 1)
    assert np.array_equal(out["list"][1][0], [0, 1])
    assert out["list"][1][1] == ()


def test_arguments_without_arrays_and_results_without_arrays():
    assert stagec.jit(lambda: 3)() == 3
    assert stagec.jit(lambda x: None)(1.0) is None
    assert stagec.jit(lambda x: ())(1.0) == ()


def test_results_that_are_arguments_or_constants_or_repeats():
    x = snp.arange(3.0)

    @stagec.jit
    def f(x, y):
        z = x + y
        return x, 2.0, z, z, y, np.arange(2)

    a, b, c, d, e, g = f(x, np.ones(3, np.float32))
    assert np.array_equal(a, x) and float(b) == 2.0 and np.array_equal(c, d)
    assert np.array_equal(e, np.ones(3)) and np.array_equal(g, [0, 1])


def test_a_numpy_argument_that_is_returned_is_copied():
    x = np.zeros(64, np.float32)
    same = stagec.jit(lambda x: x)(x)
    reshaped = stagec.jit(lambda x: x.reshape(8, 8))(x)
    folded = stagec.jit(lambda x: x * 1)(x)
    x[:] = 7
    assert float(same.sum()) == float(reshaped.sum()) == float(folded.sum()) == 0


def test_closed_over_arrays_are_hidden_arguments():
    weights = snp.arange(1000.0)
    text = stagec.jit(lambda x: x + weights).lower(snp.ones(1000)).as_text()
    assert text.count("tensor<1000xf32> loc") >= 2 or text.count("%arg") >= 2
    assert "dense<" not in text


def test_new_weights_of_the_same_shape_compile_nothing(compiles):
    def make(weights):
        return stagec.jit(lambda x: (x * weights).sum() + 0.125)

    first = make(snp.arange(100.0))(snp.ones(100))
    with compiles() as made:
        second = make(snp.arange(100.0) + 1)(snp.ones(100))
    assert float(second) == float(first) + 100
    assert made == []


def test_jitting_again_in_a_loop_finds_the_trace():
    counter = Counter(lambda x: x + 1)

    def f(x):
        return counter(x)

    for _ in range(3):
        stagec.jit(f)(1.0)
    assert counter.count == 1


def test_a_new_lambda_or_partial_is_traced_but_not_compiled_again(compiles):
    def scale(factor, x):
        return x * factor + 0.375

    stagec.jit(functools.partial(scale, 2.0))(snp.ones(5))
    stagec.jit(lambda x: x - 0.375)(snp.ones(5))
    with compiles() as made:
        for _ in range(3):
            stagec.jit(functools.partial(scale, 2.0))(snp.ones(5))
            stagec.jit(lambda x: x - 0.375)(snp.ones(5))
    assert made == []


def test_static_arguments_by_number_and_name():
    def f(x, n, *, flip=False):
        for _ in range(n):
            x = x + 1
        return -x if flip else x

    for options in ({"static_argnums": 1, "static_argnames": "flip"}, {"static_argnames": ("n", "flip")}):
        jitted, traces = counted(f, **options)
        assert float(jitted(1.0, 3)) == 4.0
        if "static_argnums" not in options:  # both together are taken as they are, as in JAX
            assert float(jitted(1.0, n=3)) == 4.0
        assert float(jitted(2.0, 3, flip=True)) == -5.0
        before = traces.count
        jitted(5.0, 3, flip=True)
        assert traces.count == before
        jitted(5.0, 4, flip=True)
        assert traces.count == before + 1


def test_a_static_one_and_a_static_true_are_different_values():
    f = stagec.jit(lambda x, flag: x if flag is True else -x, static_argnums=1)
    assert float(f(1.0, True)) == 1.0
    assert float(f(1.0, 1)) == -1.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (0.0, -0.0),
        (0j, complex(0, -0.0)),
        (np.float32(0), np.float32(-0.0)),
        ((1,), (True,)),
        ((1, (2,)), (1, (2.0,))),
        (Point(0.0, 1), Point(-0.0, 1)),
        (frozenset([1]), frozenset([1.0])),
    ],
    ids=repr,
)
def test_equal_static_arguments_of_different_meaning_are_told_apart(first, second):
    f = stagec.jit(lambda x, static: (x, seen.append(repr(static)))[0], static_argnums=1)
    x = snp.ones(2)
    seen = []
    for static in (first, second, first, second):
        f(x, static)
    assert seen == [repr(first), repr(second)]


def test_a_static_nan_has_one_trace():
    f = stagec.jit(lambda x, static: x * static[0], static_argnums=1)
    for _ in range(3):
        f(snp.ones(2), (float("nan"),))
    assert f._cache_size() == 1


def test_negative_static_argnums_count_from_the_end():
    f = stagec.jit(lambda x, n: x * n, static_argnums=-1)
    assert float(f(2.0, 3)) == 6.0


class Model:
    def __init__(self, scale):
        self.scale = scale

    @functools.partial(stagec.jit, static_argnums=0)
    def static_self(self, x):
        return x * self.scale


@stagec.tree_util.register_pytree_node_class
class TreeModel:
    def __init__(self, scale):
        self.scale = scale

    def tree_flatten(self):
        return (self.scale,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)

    @stagec.jit
    def apply(self, x):
        return x * self.scale


def test_methods_with_a_static_self_or_a_pytree_self():
    assert float(Model(3.0).static_self(2.0)) == 6.0
    model = TreeModel(3.0)
    assert float(model.apply(2.0)) == 6.0
    model.scale = 4.0
    assert float(model.apply(2.0)) == 8.0


def test_a_bound_method_can_be_jitted():
    class Plain:
        def __init__(self):
            self.scale = 5.0
            self.traces = 0

        def apply(self, x):
            self.traces += 1
            return x * self.scale

    plain = Plain()
    for _ in range(3):
        assert float(stagec.jit(plain.apply)(2.0)) == 10.0
    assert plain.traces == 1


def test_the_wrapper_looks_like_the_function():
    @stagec.jit
    def selu(x, alpha=1.67):
        """Scaled."""
        return x * alpha

    assert selu.__name__ == "selu"
    assert selu.__doc__ == "Scaled."
    assert selu.__wrapped__(2.0) == 3.34


def test_nested_jit_is_one_program():
    inner = stagec.jit(lambda x: snp.sin(x) + 1)
    outer = stagec.jit(lambda x: inner(x) * inner(x + 1))
    x = np.float32(0.5)
    np.testing.assert_allclose(outer(x), (np.sin(x) + 1) * (np.sin(x + 1) + 1), rtol=1e-6)
    assert "jit[" in str(stagec.make_graph(outer)(1.0))


def test_inline_leaves_no_call():
    inner = stagec.jit(lambda x: snp.sin(x) + 1, inline=True)
    assert "jit[" not in str(stagec.make_graph(lambda x: inner(x) * 2)(1.0))


def test_an_inner_jit_may_close_over_an_outer_tracer():
    @stagec.jit
    def outer(x):
        return stagec.jit(lambda y: x * y)(x + 1)

    assert float(outer(2.0)) == 6.0
    assert float(outer(3.0)) == 12.0


def test_clear_cache_and_clear_caches_trace_again():
    f, traces = counted(lambda x: x + 1)
    f(1.0)
    f.clear_cache()
    f(1.0)
    assert traces.count == 2
    stagec.clear_caches()
    f(1.0)
    assert traces.count == 3


def test_disable_jit_runs_python():
    seen = []

    @stagec.jit
    def f(x):
        seen.append(float(x))
        return x + 1

    with stagec.disable_jit():
        f(snp.float32(1.0))
        f(snp.float32(2.0))
    assert seen == [1.0, 2.0]


def test_keep_unused_keeps_the_argument():
    def f(x, y):
        return x + 1

    assert stagec.jit(f).lower(1.0, 2.0).as_text().count("%arg1") == 0
    assert stagec.jit(f, keep_unused=True).lower(1.0, 2.0).as_text().count("%arg1") == 1
    assert float(stagec.jit(f, keep_unused=True)(1.0, 2.0)) == 2.0


def test_enable_x64_is_part_of_the_signature():
    f, traces = counted(lambda x: x + 1)
    assert f(np.float64(1)).dtype == np.float32
    with stagec.enable_x64():
        assert f(np.float64(1)).dtype == np.float64
    assert traces.count == 2


def test_arrays_without_elements_work():
    f = stagec.jit(lambda x: (x + 1).sum(axis=0))
    assert np.array_equal(f(np.zeros((0, 3), np.float32)), np.zeros(3))
    assert f(np.zeros((3, 0), np.float32)).shape == (0,)


def test_eval_shape_computes_nothing():
    x, y = stagec.ShapeDtypeStruct((2, 3), "float32"), stagec.ShapeDtypeStruct((3, 4), "float32")
    spec = stagec.eval_shape(lambda x, y: {"out": x @ y}, x, y)
    assert spec == {"out": stagec.ShapeDtypeStruct((2, 4), "float32")}


def test_lower_and_compile_ahead_of_time():
    lowered = stagec.jit(lambda x, n: x * n, static_argnums=1).lower(stagec.ShapeDtypeStruct((3,), "float32"), 2)
    compiled = lowered.compile()
    assert np.array_equal(compiled(np.arange(3, dtype=np.float32)), [0, 2, 4])
    with pytest.raises(errors.ShapeError, match=r"x of float32\[3\], called with float32\[4\]"):
        compiled(np.arange(4, dtype=np.float32))
    with pytest.raises(errors.DtypeError, match="int32"):
        compiled(np.arange(3, dtype=np.int32))
    with pytest.raises(errors.ArgumentTypeError, match="takes 1 positional argument, and 2 were given"):
        compiled(np.arange(3, dtype=np.float32), 2)
    with pytest.raises(errors.PytreeError, match="another structure of x: it is a list instead of an array"):
        compiled([np.arange(3, dtype=np.float32)])


@pytest.mark.parametrize("stage", ["graph", "stablehlo", "optimized", "input", "flow", "hal", "asm"])
def test_every_stage_prints(stage):
    text = stagec.jit(lambda x: snp.tanh(x) + 1).lower(snp.ones(7)).as_text(stage)
    expected = {
        "graph": "lambda",
        "stablehlo": "stablehlo.tanh",
        "optimized": "stablehlo.tanh",
        "input": "flow.dispatch",
        "flow": "flow.",
        "hal": "hal.",
        "asm": "elements",
    }[stage]
    assert expected in text


def test_stablehlo_carries_the_users_lines():
    def f(x):
        return snp.tanh(x)

    text = stagec.jit(f).lower(1.0).as_text(locations=True)
    assert f'test_jit.py":{f.__code__.co_firstlineno + 1}' in text


def test_an_unknown_stage_names_the_known_ones():
    with pytest.raises(ValueError, match="stablehlo, optimized"):
        stagec.jit(lambda x: x + 1).lower(1.0).as_text("nonsense")


def test_make_jaxpr_is_make_graph():
    assert stagec.make_jaxpr is stagec.make_graph
    graph = stagec.make_graph(lambda x: x * 2.0)(snp.ones(3))
    assert str(graph) == "{ lambda ; a:f32[3]. let\n    b:f32[3] = mul a 2.0:f32[]\n  in (b,) }"
    assert len(graph.eqns) == 1


def test_methods_made_on_the_fly_do_not_share_traces():
    import types

    class Owner:
        pass

    owner = Owner()
    for i in range(8):
        method = types.MethodType(eval(f"lambda self, x: x + {i}"), owner)
        assert float(stagec.jit(method)(0.0)) == i
        del method


# What is one signature.


def h(x, k):
    return x + k


def with_static_default(x, n=3, *, mode="add"):
    return x + n if mode == "add" else x * n


def with_default(x, scale=2, shift=1):
    return x * scale + shift


def keyword_only(x, *, a, b=2):
    return x + a * b


def with_rest(x, k=1, *rest, **more):
    return x + k + sum(rest) + sum(more.values())


def positional_only(x, n=3, /, **more):
    return x + n + more.get("n", 0)


def call(*args, **kwargs):
    return args, kwargs


@pytest.mark.parametrize(
    ("function", "static", "calls", "count"),
    [
        (h, (), [call(1.0, 3), call(1.0, k=3), call(k=3, x=1.0)], 1),
        (h, "k", [call(1.0, 3), call(1.0, k=3), call(k=3, x=1.0)], 1),
        (with_static_default, "n", [call(1.0), call(1.0, 3), call(1.0, n=3), call(n=3, x=1.0)], 1),
        (with_static_default, ("n", "mode"), [call(1.0), call(1.0, mode="add"), call(1.0, n=3, mode="add")], 1),
        (with_static_default, ("n", "mode"), [call(1.0), call(1.0, mode="times"), call(1.0, n=4)], 3),
        # A default that is left out stays a Python value: the function may decide by it.
        (with_default, (), [call(1.0), call(1.0, 2), call(1.0, 2, 1)], 3),
        (with_default, (), [call(1.0, 2), call(1.0, scale=2), call(scale=2, x=1.0)], 1),
        (with_default, (), [call(1.0, shift=1), call(shift=1, x=1.0)], 1),
        (with_default, "shift", [call(1.0), call(1.0, shift=1)], 1),
        (with_default, "shift", [call(1.0, 2), call(1.0, 2, 1), call(1.0, shift=1, scale=2)], 1),
        (keyword_only, (), [call(1.0, a=2.0), call(a=2.0, x=1.0)], 1),
        (keyword_only, "b", [call(1.0, a=2.0), call(1.0, a=2.0, b=2), call(b=2, a=2.0, x=1.0)], 1),
        (with_rest, (), [call(1.0, 2), call(1.0, k=2), call(k=2, x=1.0)], 1),
        (with_rest, (), [call(1.0, 2, 3), call(1.0, 2, 3)], 1),
        (with_rest, (), [call(1.0, 2, y=3, z=4), call(z=4, k=2, y=3, x=1.0)], 1),
        (with_rest, "k", [call(1.0), call(1.0, 1), call(1.0, k=1)], 1),
        (positional_only, "n", [call(1.0), call(1.0, 3)], 1),
        (positional_only, (), [call(1.0, 3, n=5), call(1.0, n=5)], 2),
        (functools.partial(h, k=3), (), [call(1.0), call(x=1.0)], 1),
        (functools.partial(with_static_default, mode="add"), "n", [call(1.0), call(1.0, n=3)], 1),
    ],
)
def test_calls_that_mean_the_same_have_one_trace(function, static, calls, count):
    f = stagec.jit(function, static_argnames=static)
    f.clear_cache()
    for _ in range(2):  # the second call takes the fast path
        for args, kwargs in calls:
            assert float(f(*args, **kwargs)) == function(*args, **kwargs)
    assert f._cache_size() == count


def test_leaves_keep_their_places_when_keywords_move():
    f = stagec.jit(lambda x, z, a: {"x": x[0] - x[1], "z": z["u"] * z["v"], "a": a})
    for _ in range(3):
        out = f((5.0, 3.0), a=7.0, z={"v": 2.0, "u": 4.0})
        assert {k: float(v) for k, v in out.items()} == {"x": 2.0, "z": 8.0, "a": 7.0}
    assert f._cache_size() == 1


def test_donated_keywords_are_taken_wherever_they_are_given():
    def f(x, y):
        return x + y

    jitted = stagec.jit(f, donate_argnames="y")
    for args in [lambda y: call(1.0, y), lambda y: call(y=y, x=1.0)]:
        for _ in range(2):
            y = snp.ones(3) + 1
            positional, named = args(y)
            jitted(*positional, **named)
            assert y.is_deleted()
    assert jitted._cache_size() == 1


def test_a_wrapper_that_tells_keywords_from_positions_gets_what_it_was_given():
    @functools.wraps(h)
    def wrapper(*args, **kwargs):
        return h(*args, **kwargs) * (10 if "k" in kwargs else 1)

    f = stagec.jit(wrapper)
    assert (float(f(1.0, 3)), float(f(1.0, k=3))) == (4.0, 40.0)
    # As in vmap, whose in_axes counts positions.
    x = np.ones(2, np.float32)
    g = stagec.jit(stagec.vmap(h, in_axes=(0, None)))
    assert g(x, x).shape == (2, 2)
    with pytest.raises(errors.AxisError):
        g(x, k=x)


def test_a_function_without_a_signature_can_be_jitted():
    class Odd:
        __signature__ = "none"

        def __call__(self, x, k=1):
            return x + k

    f = stagec.jit(Odd())
    assert [float(f(1.0)), float(f(1.0, 2)), float(f(1.0, k=3))] == [2.0, 3.0, 4.0]


def test_a_static_default_that_is_not_hashable_can_be_left_out():
    f = stagec.jit(lambda x, axes=[0]: x.sum(axes[0]), static_argnames="axes")
    assert f(np.ones((2, 3), np.float32)).shape == (3,)


def test_compiled_takes_keywords_and_positions_alike():
    def f(x, n, k):
        return x * n + k

    compiled = stagec.jit(f, static_argnames="n").lower(1.0, 2, k=3).compile()
    calls = [call(1.0, 3), call(1.0, k=3), call(k=3, x=1.0), call(1.0, n=2, k=3), call(n=2, k=3, x=1.0)]
    assert [float(compiled(*args, **kwargs)) for args, kwargs in calls] == [5.0] * 5
    with pytest.raises(errors.ArgumentTypeError, match="n is fixed at 2 in this program, and 4 was given"):
        compiled(1.0, n=4, k=3)


def test_calls_of_compiled_functions_are_remembered(monkeypatch):
    f = stagec.jit(lambda tree, n, y=2.0: {"out": tree["x"] * n + y}, static_argnums=1)
    compiled = f.lower({"x": snp.ones(3)}, 3).compile()
    calls = [lambda: compiled({"x": snp.ones(3)}), lambda: compiled({"x": np.ones(3, np.float32)})]
    before = [call()["out"] for call in calls]
    with pytest.raises(stagec.errors.ArgumentTypeError, match="n is fixed at 3"):
        compiled({"x": snp.ones(3)}, n=4)
    with pytest.raises(stagec.errors.ShapeError, match="compiled for"):
        compiled({"x": snp.ones(4)})
    with monkeypatch.context() as patched:
        patched.setattr(type(compiled), "_call", None)
        for call, expected in zip(calls, before):
            np.testing.assert_array_equal(call()["out"], expected)


def test_donated_trees_are_given_up_in_each_call():
    step = stagec.jit(lambda tree, x: {"a": tree["a"] + x, "b": tree["b"]}, donate_argnums=0)
    host = np.ones(3, np.float32)
    for first in (snp.ones(3), host):
        tree = {"a": first, "b": snp.zeros(2)}
        for round in range(4):
            given, tree = tree, step(tree, 1.0)
            assert given["b"].is_deleted() and (round == 0 or given["a"].is_deleted())
        np.testing.assert_array_equal(tree["a"], [5, 5, 5])
    np.testing.assert_array_equal(host, [1, 1, 1])
    a = snp.ones(3)
    with pytest.raises(stagec.errors.StagecError, match="donated"):
        for _ in range(2):
            step({"a": a, "b": a}, 1.0)
