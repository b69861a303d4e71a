"""Files and stages of programs for open dimensions."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors

W = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)


def predict(x, scale=1.0):
    return stagec.nn.softmax(x @ W) * scale, snp.concatenate([x, x[:1]])


def argument(size):
    return np.random.default_rng(size).standard_normal((size, 5)).astype(np.float32)


def check(function, size, **named):
    x = argument(size)
    for actual, expected in zip(function(x, **named), predict(snp.asarray(x), **named), strict=True):
        assert actual.shape == expected.shape
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-5)


def test_one_file_serves_any_batch(tmp_path):
    path = tmp_path / "predict.stagec"
    exported = stagec.export(predict)("f32[b,5]")
    assert [str(a.short()) for a in exported.out_avals] == ["f32[b,3]", "f32[b + 1,5]"]
    exported.save(path)
    loaded = stagec.load(path)
    for size in (1, 2, 64, 7, 2):
        check(loaded, size)
    with pytest.raises(
        errors.DimensionError, match=r"axis 0 of x has size 0, so b = 0; there is no program for arrays without"
    ):
        loaded(argument(0))
    with pytest.raises(errors.ShapeError, match=r"compiled for x of float32\[b,5\], called with float32\[2,4\]"):
        loaded(np.ones((2, 4), np.float32))


def test_the_argument_that_does_not_fit_is_named():
    exported = stagec.export(lambda x, w, *, scale: x @ w * scale)("f32[b,4]", "f32[4,3]", scale="f32[]")
    loaded = stagec.load(exported.serialize())
    x, w, one = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32), np.float32(1)
    with pytest.raises(errors.ShapeError, match=r"for w of float32\[4,3\], called with float32\[4,5\]"):
        loaded(x, np.ones((4, 5), np.float32), scale=one)
    with pytest.raises(errors.DtypeError, match=r"for w of float32\[4,3\], called with int32\[4,3\]"):
        loaded(x, w.astype(np.int32), scale=one)
    with pytest.raises(errors.DtypeError, match=r"for x of float32\[b,4\], called with int32\[2,4\]"):
        loaded(x.astype(np.int32), w, scale=one)
    with pytest.raises(errors.ShapeError, match=r"for scale of float32\[\], called with float32\[2\]"):
        loaded(x, w, scale=np.ones(2, np.float32))


def test_a_file_checks_what_the_function_implies(tmp_path):
    exported = stagec.export(lambda x, y: (x.reshape(-1, 4).sum(1), x[:8] + y[:8]))("f32[b]", "f32[b >= 8]")
    loaded = stagec.load(exported.serialize())
    ones = np.ones(12, np.float32)
    assert [r.shape for r in loaded(ones, ones)] == [(3,), (8,)]
    with pytest.raises(errors.DimensionError, match=r"the size b/4, of test_open.*:\d+, is not a whole number"):
        loaded(ones[:10], ones[:10])
    with pytest.raises(errors.DimensionError, match="has size 4, so b = 4, but b >= 8"):
        loaded(ones[:4], ones[:4])
    with pytest.raises(errors.DimensionError, match="axis 0 of y has size 8, but its dimension is b, with b = 12"):
        loaded(ones, ones[:8])


def test_a_file_runs_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "predict.stagec"
    stagec.export(predict)(stagec.ShapeDtypeStruct(("b", 5), "float32")).save(path)
    shapes = "[f(np.ones((n, 5), np.float32))[1].shape for n in (1, 9)]"
    program = f"import numpy as np, stagec; f = stagec.load({str(path)!r}); print({shapes})"
    root = pathlib.Path(stagec.__file__).parent.parent
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert found.stdout.strip() == "[(2, 5), (10, 5)]", found.stderr


def test_a_program_for_open_dimensions_is_lowered_printed_and_compiled():
    struct = stagec.ShapeDtypeStruct("b, 5", "float32")
    assert str(struct) == "ShapeDtypeStruct(shape=(b, 5), dtype=float32)"
    jitted = stagec.jit(predict)
    lowered = jitted.lower(struct)
    assert "tensor<?x5xf32>" in lowered.as_text()
    assert "f32[b + 1,5]" in lowered.as_text("graph")
    assert [str(s.shape) for s in jitted.eval_shape(struct)] == ["(b, 3)", "(b + 1, 5)"]
    compiled = lowered.compile()
    for size in (3, 1, 40):
        check(compiled, size)


def test_symbols_of_one_name_have_all_bounds_that_are_stated():
    a, b = stagec.ShapeDtypeStruct("b", "float32"), stagec.ShapeDtypeStruct("b >= 4", "float32")
    compiled = stagec.jit(lambda x, y: x[:4] + y[:4] if x.shape[0] >= 4 else x).lower(a, b).compile()
    assert compiled(np.ones(5, np.float32), np.ones(5, np.float32)).shape == (4,)


@pytest.mark.parametrize("text", ["f32[b+,3]", "f32[b, 2.5]", "f32[-1]"])
def test_a_description_that_is_not_understood_is_an_error(text):
    with pytest.raises(errors.DimensionError, match="are not understood"):
        stagec.export(lambda x: x)(text)
