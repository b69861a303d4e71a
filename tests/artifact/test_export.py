"""Functions go into files and come back."""

import collections
import dataclasses
import functools
import inspect
import pathlib
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.artifact import container
from stagec.artifact.container import open_path
from stagec.backends import cpu as targets
from stagec.errors import ArtifactError, DtypeError, PytreeError, ShapeError, UnsupportedError
from stagec.runtime.packing import Packing

SPEC = stagec.ShapeDtypeStruct
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def affine(params, x):
    return {"y": snp.tanh(x @ params["w"]) + params["b"], "x": x}


PARAMS = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), "b": np.arange(3, dtype=np.float32)}
X = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)


def assert_same(expected, actual):
    expected, structure = stagec.tree.flatten(expected)
    actual, other = stagec.tree.flatten(actual)
    assert structure == other
    for a, b in zip(expected, actual):
        assert (a.aval, type(a)) == (b.aval, type(b))
        # One target may fuse a product and a sum where another does not.
        np.testing.assert_allclose(np.asarray(a).astype(complex), np.asarray(b).astype(complex), rtol=1e-6)


def again(function, *args, targets=(), **kwargs):
    """The function after its way through a file."""
    return stagec.load(stagec.export(function, targets)(*args, **kwargs).serialize())


@pytest.fixture(scope="module")
def affine_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("artifact") / "affine.stagec"
    stagec.export(affine)(PARAMS, SPEC((2, 4), "float32")).save(path)
    return path


def test_a_loaded_function_gives_what_the_jitted_one_gives(affine_file):
    loaded = stagec.load(affine_file)
    for _ in range(3):  # the slow path, and the fast one
        assert_same(stagec.jit(affine)(PARAMS, X), loaded(PARAMS, X))


def test_a_fresh_process_runs_a_file_without_the_compiler(affine_file):
    code = f"""
import sys
for name in ("iree.compiler", "passes.patterns", "passes.pipeline", "passes.build", "passes.bindings"):
    sys.modules[name] = None  # importing it is an error
import numpy as np, stagec
params = {{"w": np.ones((4, 3), np.float32), "b": np.zeros(3, np.float32)}}
y = stagec.load({str(affine_file)!r})(params, np.zeros((2, 4), np.float32))["y"]
assert not [m for m in sys.modules if m.startswith(("stagec.numpy", "stagec.lowering", "stagec.api.jit"))]
print((y + 1).tolist())  # arrays work as always
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, str(np.ones((2, 3)).tolist())), done.stderr


def test_the_exported_object_says_what_it_is():
    exported = stagec.export(affine, ["cpu:x86-64-v2", "cpu:x86-64"])(PARAMS, X)
    assert exported.fun_name == "affine"
    assert [a.short() for a in exported.in_avals] == ["f32[3]", "f32[4,3]", "f32[2,4]"]
    assert [a.short() for a in exported.out_avals] == ["f32[2,4]", "f32[2,3]"]
    assert exported.in_tree == stagec.tree.structure(([PARAMS, X], {}))
    assert exported.targets == ("cpu:x86-64-v2", "cpu:x86-64")
    assert "stablehlo.tanh" in exported.mlir_module()
    assert_same(stagec.jit(affine)(PARAMS, X), exported.call(PARAMS, X))


def test_the_default_target_is_portable_and_not_this_cpu():
    exported = stagec.export(lambda x: x + 1)(X)
    assert exported.targets == (targets.portable_host(),)
    assert stagec.export(lambda x: x + 1, ["cpu", "cpu"])(X).targets == exported.targets


def test_a_compiled_function_is_saved(tmp_path):
    path = tmp_path / "model.stagec"
    stagec.jit(affine).lower(PARAMS, X).compile().save(path)
    assert_same(stagec.jit(affine)(PARAMS, X), stagec.load(path)(PARAMS, X))


def test_the_same_export_gives_the_same_bytes():
    first, second = (stagec.export(affine, "cpu:x86-64")(PARAMS, X).serialize() for _ in range(2))
    assert first == second
    assert stagec.load(first).digest == stagec.load(second).digest


# What is kept of a function.


@pytest.mark.parametrize(
    "value",
    [
        True, 3, 2.5, 1j, np.float16(0.5), np.int8(-3), np.uint8(200),
        np.array([True, False]), np.arange(4, dtype=np.int32), np.arange(3, dtype=np.uint32),
        np.ones((2, 2), np.complex64), np.ones((), np.float32), snp.ones(3, "bfloat16"),
    ],
    ids=lambda v: f"{type(v).__name__}-{getattr(v, 'dtype', '')}",
)  # fmt: skip
def test_dtypes_and_weak_types_are_kept(value):
    def f(x):
        return (x + x, x, snp.where(x == x, x, x))

    assert_same(stagec.jit(f)(value), again(f, value)(value))


def test_float64_needs_x64_and_says_so():
    with stagec.enable_x64():
        data = stagec.export(lambda x: x * 2)(np.ones(3)).serialize()
        assert_same(snp.array([2.0, 2.0, 2.0]), stagec.load(data)(np.ones(3)))
    with pytest.raises(DtypeError, match=r"float64\[3\], called with float32\[3\](.*\n)*  Fix: .*STAGEC_ENABLE_X64"):
        stagec.load(data)(np.ones(3))


def test_results_that_need_no_program_are_kept():
    def f(x, y):
        return x, 7, y, x

    loaded = again(f, X, 2)
    assert_same(stagec.jit(f)(X, 2), loaded(X, 2))
    assert loaded._stored_programs()[0].code.signature.variants == ()


def test_results_that_repeat_do_not_share_memory():
    def f(x):
        y = x + 1
        return y, y

    one, two = again(f, X)(X)
    assert one.address() != two.address()


def test_arguments_that_are_overwritten_are_copied():
    x = snp.array([3.0, 1.0, 2.0])
    loaded = again(lambda x: (snp.sort(x), x), x)
    for _ in range(3):
        assert_same((snp.array([1.0, 2.0, 3.0]), snp.array([3.0, 1.0, 2.0])), loaded(x))


def test_static_arguments_are_part_of_the_file():
    @stagec.jit(static_argnames="n")
    def power(x, n, y):
        return x**n + y

    loaded = stagec.load(stagec.export(power)(X, 3, X).serialize())
    assert_same(power(X, 3, X), loaded(X, X))
    assert_same(power(X, 3, X), loaded(X, X, n=3))
    assert str(inspect.signature(loaded)) == "(x, y, *, n=3)"


def test_donated_arguments_are_taken():
    @stagec.jit(donate_argnums=0)
    def step(state, x):
        return state + x

    loaded = stagec.load(stagec.export(step)(X, X).serialize())
    for _ in range(3):
        state = snp.asarray(X).owned_copy()  # in the runtime's memory, which the result may keep
        address = state.address()
        state._exposed = False
        out = loaded(state, X)
        assert out.address() == address
        assert state.is_deleted()
        np.testing.assert_array_equal(np.asarray(out), X + X)


def test_keywords_may_be_given_by_name_or_in_place():
    def f(a, b, *, scale):
        return (a - b) * scale

    loaded = again(f, X, X, scale=2.0)
    expected = stagec.jit(f)(X, 3 * X, scale=2.0)
    for _ in range(3):
        assert_same(expected, loaded(X, 3 * X, scale=2.0))
        assert_same(expected, loaded(X, scale=2.0, b=3 * X))
        assert_same(expected, loaded(b=3 * X, a=X, scale=2.0))
    assert str(inspect.signature(loaded)) == "(a, b, *, scale)"


def test_large_programs_keep_their_queue():
    def f(x):
        return snp.tanh(x @ x) @ x

    x = np.full((300, 300), 1e-3, np.float32)
    loaded = again(f, x)
    np.testing.assert_allclose(np.asarray(stagec.jit(f)(x)), np.asarray(loaded(x)), rtol=1e-5)
    assert loaded._stored_programs()[0].code.variant.traits.driver == "local-task"


def test_many_threads_load_and_call_one_file(affine_file):
    loaded, expected, found = stagec.load(affine_file), stagec.jit(affine)(PARAMS, X), []

    def work():
        for _ in range(50):
            found.append(np.array_equal(np.asarray(loaded(PARAMS, X)["y"]), np.asarray(expected["y"])))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [True] * 400


# Structures.

Pair = collections.namedtuple("Pair", "left right")


@stagec.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    name: str = dataclasses.field(metadata={"static": True})
    sizes: tuple = dataclasses.field(default=(1, 2.5, None, "a"), metadata={"static": True})


@pytest.mark.parametrize(
    "tree",
    [
        [X, (X, [X]), {"b": X, "a": ()}],
        Pair(X, {"k": X}),
        Layer(X, "first"),
        collections.OrderedDict([("z", X), ("a", X)]),
        collections.defaultdict(list, {"x": X}),
        {1: X, 2: None},
        {("a", 1): X},
    ],
    ids=lambda t: type(t).__name__,
)
def test_structures_are_kept(tree):
    def f(t):
        return stagec.tree.map(lambda x: x + 1, t)

    loaded = again(f, tree)
    for _ in range(2):
        assert_same(stagec.jit(f)(tree), loaded(tree))


CLASSES = """
import collections, dataclasses, stagec
Pair = collections.namedtuple("Pair", "left right")
@stagec.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
"""


@pytest.fixture
def classes(tmp_path, monkeypatch):
    (tmp_path / "artifact_classes.py").write_text(CLASSES)
    monkeypatch.syspath_prepend(str(tmp_path))
    import artifact_classes

    yield artifact_classes
    del sys.modules["artifact_classes"]


def in_process(code, path):
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(path)!r}, {str(ROOT)!r}]\n{code}"],
        capture_output=True,
        text=True,
    )


def test_a_class_is_never_imported_for_a_file(classes, tmp_path):
    path = tmp_path / "layer.stagec"
    stagec.export(lambda layer: classes.Layer(layer.w + 1))(classes.Layer(X)).save(path)
    done = in_process(f"import stagec\nstagec.load({str(path)!r})", tmp_path)
    assert "ArtifactError" in done.stderr
    assert "artifact_classes.Layer" in done.stderr
    assert "Fix: import the module first" in done.stderr
    code = (
        "import stagec, artifact_classes, numpy as np\nlayer = artifact_classes.Layer(np.zeros((2, 4), np.float32))\n"
    )
    done = in_process(code + f"print(type(stagec.load({str(path)!r})(layer)).__name__)", tmp_path)
    assert done.stdout.strip() == "Layer", done.stderr


def test_a_named_tuple_that_is_not_here_is_made_anew(classes, tmp_path):
    path = tmp_path / "pair.stagec"
    stagec.export(lambda x: classes.Pair(x, x + 1))(X).save(path)
    code = f"""
import stagec, numpy as np
pair = stagec.load({str(path)!r})(np.zeros((2, 4), np.float32))
assert "artifact_classes" not in sys.modules
print(type(pair).__name__, pair._fields, float(pair.right.max()))
"""
    done = in_process(code, tmp_path)
    assert done.stdout.strip() == "Pair ('left', 'right') 1.0", done.stderr


def test_static_data_without_a_json_form_cannot_be_saved():
    @stagec.tree_util.register_dataclass
    @dataclasses.dataclass
    class Odd:
        w: object
        f: object = dataclasses.field(metadata={"static": True})

    with pytest.raises(PytreeError, match="Odd holds a function"):
        stagec.export(lambda o: o.w)(Odd(X, len.__call__ and (lambda: 1))).serialize()


# Weights.

W = np.linspace(0, 1, 100, dtype=np.float32).reshape(4, 25)


def closed(x):
    return x @ snp.asarray(W)


def test_weights_are_kept_once_for_all_signatures(tmp_path):
    w = snp.asarray(W)
    two = [stagec.export(lambda x: x @ w)(SPEC((n, 4), "float32")) for n in (2, 3)]
    stagec.save(tmp_path / "two.stagec", {"two": two, "one": stagec.export(lambda x: x @ w + 1)(X)})
    assert len(open_path(tmp_path / "two.stagec").manifest["weights"]) == 1
    loaded = stagec.load(tmp_path / "two.stagec")
    np.testing.assert_allclose(np.asarray(loaded["two"](X)), X @ W, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(loaded["one"](X)), X @ W + 1, rtol=1e-6)


def test_large_weights_of_a_large_file_are_used_where_they_are_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "_WHOLE_BYTES", 0)
    monkeypatch.setattr(container, "_MAPPED_BYTES", W.nbytes)
    path = tmp_path / "closed.stagec"
    w = snp.asarray(W)
    stagec.export(lambda x: x @ w)(X).save(path)
    loaded = stagec.load(path)
    (weight,) = loaded._stored_programs()[0].captured
    assert weight.address() % 4096 == 0
    np.testing.assert_allclose(np.asarray(loaded(X)), X @ W, rtol=1e-6)


def test_weights_can_be_left_out_and_given_when_loading(tmp_path):
    path = tmp_path / "closed.stagec"
    w = snp.asarray(W)
    stagec.export(lambda x: x @ w, weights=False)(X).save(path)
    with pytest.raises(
        ArtifactError, match=r"without its weights\n  Fix: stagec.load\(path, weights=\[...\]\): f32\[4,25\]"
    ):
        stagec.load(path)
    for value in (W, 2 * W, snp.asarray(W)):
        np.testing.assert_allclose(np.asarray(stagec.load(path, weights=[value])(X)), X @ np.asarray(value), rtol=1e-6)
    with pytest.raises(ArtifactError, match="do not fit"):
        stagec.load(path, weights=[W.T])
    with pytest.raises(ArtifactError, match="do not fit"):
        stagec.load(path, weights=[])


def test_weights_in_the_file_can_be_replaced():
    w = snp.asarray(W)
    data = stagec.export(lambda x: x @ w)(X).serialize()
    np.testing.assert_allclose(np.asarray(stagec.load(data, weights=[3 * W])(X)), X @ (3 * W), rtol=1e-6)


# Several functions and signatures.


def test_the_signature_is_chosen_by_the_arguments(tmp_path):
    path = tmp_path / "shapes.stagec"
    double = stagec.export(lambda x: x * 2)
    stagec.save(path, [double(SPEC((n,), t)) for n in (2, 3) for t in ("float32", "int32")])
    loaded = stagec.load(path)
    for n in (2, 3):
        for t in ("float32", "int32"):
            assert_same(snp.full(n, 6, t), loaded(np.full(n, 3, t)))
    types = r"float32\[2\] or int32\[2\] or float32\[3\] or int32\[3\]"
    with pytest.raises(ShapeError, match=rf"compiled for x of {types}, called with float32\[4\]"):
        loaded(np.ones(4, np.float32))
    with pytest.raises(DtypeError, match=rf"compiled for x of {types}, called with bool\[3\]"):
        loaded(np.ones(3, bool))


def test_a_loaded_function_has_the_docstring_of_the_exported_one():
    def documented(x, n):
        """Add `n`.

        Exactly.
        """
        return x + n

    assert again(documented, X, 1.0).__doc__ == documented.__doc__
    assert again(functools.partial(documented, n=2.0), X).__doc__ == documented.__doc__
    assert again(lambda x: x + 1, X).__doc__ is None


def test_several_functions_are_called_by_name(tmp_path):
    path = tmp_path / "both.stagec"
    stagec.save(path, {"plus": stagec.export(lambda x: x + 1)(X), "minus": stagec.export(lambda x: x - 1)(X)})
    loaded = stagec.load(path)
    assert list(loaded.functions) == ["plus", "minus"]
    assert_same(snp.asarray(X + 1), loaded["plus"](X))
    assert_same(snp.asarray(X - 1), loaded.functions["minus"](X))
    with pytest.raises(ArtifactError, match=r"several functions: plus, minus\n(.*\n)?  Fix: .*loaded\['plus'\]"):
        loaded(X)
    with pytest.raises(KeyError, match="no function 'times'; it has plus, minus"):
        loaded["times"]


def test_what_cannot_be_saved_is_said(tmp_path):
    one = stagec.export(lambda x: x + 1)(X)
    path = tmp_path / "x.stagec"
    with pytest.raises(ArtifactError, match="twice for the same arguments"):
        stagec.save(path, [one, one])
    for wrong in ([], {}, 3, {"a": 3}, {1: one}, [one, affine]):
        with pytest.raises(TypeError, match=r"save takes exported functions"):
            stagec.save(path, wrong)
    with pytest.raises(TypeError, match="several functions"):
        stagec.save(path, [one, stagec.export(affine)(PARAMS, X)])
    assert not path.exists()


def test_programs_with_arrays_without_elements_are_exported():
    empty, x = np.ones((0, 3), np.float32), np.arange(3, dtype=np.float32)
    assert_same(snp.asarray(empty), again(lambda x: x, empty)(empty))
    for found, expected in zip(again(lambda e, x: (snp.sin(e), e.sum(0) + x), empty, x)(empty, x), (empty, x)):
        assert_same(snp.asarray(expected), found)


def test_operations_that_need_an_array_without_elements_cannot_be_exported():
    with pytest.raises(UnsupportedError, match=r"cannot be exported for f32\[0,3\].*no elements"):
        stagec.export(lambda e, x: stagec.lax.reduce(e, x, lambda a, b: a * b + 1, (0,)))(
            SPEC((0, 3), "float32"), SPEC((), "float32")
        )


def test_programs_that_call_python_cannot_be_exported():
    def f(x):
        stagec.debug.print("{}", x)
        return x + 1

    with pytest.raises(UnsupportedError, match="f cannot be exported: it calls Python functions"):
        stagec.export(f)(X)


def test_debug_nans_names_the_result_of_a_loaded_function(affine_file):
    loaded = stagec.load(affine_file)
    bad = {**PARAMS, "b": np.array([0, np.nan, 1], np.float32)}
    with stagec.debug_nans(True), pytest.raises(FloatingPointError, match="affine returned 2 NaN in result 1"):
        loaded(bad, X)
    assert np.isnan(np.asarray(loaded(bad, X)["y"])).any()


# Refusals of a call.


def test_a_call_with_other_arguments_is_explained(affine_file):
    loaded = stagec.load(affine_file)
    with pytest.raises(ShapeError, match=r"affine was compiled for x of float32\[2,4\], called with float32\[3,4\]"):
        loaded(PARAMS, np.ones((3, 4), np.float32))
    with pytest.raises(DtypeError, match=r"compiled for params\['w'\] of float32\[4,3\], called with int32\[4,3\]"):
        loaded({**PARAMS, "w": np.ones((4, 3), np.int32)}, X)
    with pytest.raises(stagec.errors.ArgumentTypeError, match="affine: missing argument 'x'"):
        loaded(PARAMS)
    with pytest.raises(PytreeError, match="another structure of x: it is a list instead of an array"):
        loaded(PARAMS, x=[X])
    with pytest.raises(stagec.errors.ArgumentTypeError, match="argument x of affine is not an array"):
        loaded(PARAMS, "text")
    with pytest.raises(stagec.errors.ArgumentTypeError, match="argument x of affine is not an array"):
        loaded(PARAMS, SPEC((2, 4), "float32"))


def test_a_loaded_function_does_not_become_a_part_of_another(affine_file):
    loaded = stagec.load(affine_file)
    with pytest.raises(UnsupportedError, match="affine was loaded from"):
        stagec.jit(lambda x: loaded(PARAMS, x))(X)
    with pytest.raises(UnsupportedError, match="affine was loaded from"):
        stagec.jit(lambda x: loaded(PARAMS, X)["y"] + x)(1.0)


# Files.


def test_a_file_that_is_no_artifact_is_refused(tmp_path):
    path = tmp_path / "model.stagec"
    with pytest.raises(FileNotFoundError, match=r"model\.stagec"):
        stagec.load(path)
    with pytest.raises(IsADirectoryError):
        stagec.load(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"model\.stagec is not loaded: it is empty"):
        stagec.load(path)
    path.write_text("hello" * 100)
    with pytest.raises(ArtifactError, match="it is not an artifact\n  Fix: name a file that `stagec compile`"):
        stagec.load(str(path))


def test_a_file_of_another_format_is_refused(affine_file):
    data = bytearray(affine_file.read_bytes())
    data[8] = 9
    with pytest.raises(ArtifactError, match="it has format 9, and this stagec reads format 6"):
        stagec.load(bytes(data))


def test_a_digest_pins_a_file(affine_file):
    digest = stagec.load(affine_file).digest
    stagec.load(affine_file, digest=digest.upper())
    with pytest.raises(ArtifactError, match=f"its digest is {digest}, not {'0' * 64}"):
        stagec.load(affine_file, digest="0" * 64)


def test_a_failed_save_leaves_the_old_file(affine_file, tmp_path, monkeypatch):
    import os

    path = tmp_path / "model.stagec"
    path.write_bytes(affine_file.read_bytes())
    exported = stagec.export(lambda x: x + 1)(X)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        exported.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == affine_file.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["model.stagec"]
    with pytest.raises(FileNotFoundError, match=r"nowhere/model\.stagec"):
        exported.save(tmp_path / "nowhere" / "model.stagec")


def test_a_mapped_file_may_be_replaced_while_it_is_used(tmp_path):
    path = tmp_path / "model.stagec"
    w = snp.asarray(W)
    stagec.export(lambda x: x @ w)(X).save(path)
    loaded = stagec.load(path)
    stagec.export(lambda x: x + 1)(X).save(path)
    np.testing.assert_allclose(np.asarray(loaded(X)), X @ W, rtol=1e-6)
    assert_same(snp.asarray(X + 1), stagec.load(path)(X))


def test_nothing_warns(affine_file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stagec.load(affine_file)(PARAMS, X)


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3", "elsewhere"])
def test_weights_are_packed_once(target, monkeypatch):
    """Where the file has no module for this machine, so is what is compiled from its StableHLO."""
    w = np.random.default_rng(0).normal(size=(200, 300)).astype(np.float32)
    weight, x = snp.asarray(w), np.ones((10, 200), np.float32)
    data = stagec.export(lambda x: x @ weight, "cuda:sm_80" if target == "elsewhere" else target)(x).serialize()
    made, of = [], Packing.of
    monkeypatch.setattr(Packing, "of", lambda self, array: made.append(self) or of(self, array))
    loaded = stagec.load(data)
    for _ in range(3):
        np.testing.assert_allclose(loaded(x), x @ w, rtol=1e-4, atol=1e-4)
    assert len(made) == 1
    for row in loaded._stored_programs():
        assert row.code.variant.traits.packed == tuple(made)


def test_weights_that_the_file_does_not_hold_are_not_packed():
    weight, x = snp.ones((200, 300)), np.ones((10, 200), np.float32)
    loaded = stagec.load(stagec.export(lambda x: x @ weight, weights=False)(x).serialize(), weights=[weight])
    np.testing.assert_array_equal(loaded(x), np.full((10, 300), 200, np.float32))
    assert loaded._stored_programs()[0].code.variant.traits.packed == ()
