"""What stagec says of sizes that vary, and of programs for open dimensions."""

import numpy as np

import stagec
import stagec.numpy as snp
from stagec.compiler import log


def test_explain_says_that_a_new_size_does_not_compile():
    f = stagec.jit(lambda x: snp.exp(x) * 3, dynamic={"x": "b, _"})
    f(np.ones((3, 4), np.float32))
    found = stagec.explain(f, np.ones((9, 4), np.float32))
    assert found.status == "memory"
    assert "open dimensions: b; other sizes run the same program" in found.notes
    other = stagec.explain(f, np.ones((9, 5), np.float32))
    assert other.differing[0].what == "shape of x"


def test_explain_and_the_log_offer_open_dimensions_after_the_third_size(monkeypatch):
    said = []
    monkeypatch.setattr(log, "event", lambda kind, message, **fields: said.append(message))
    f = stagec.jit(lambda x, y: snp.sin(x) + y)
    for size in (3, 5):
        f(np.ones((size, 4), np.float32), np.ones((size, 1), np.float32))
    assert not any("sizes vary" in message for message in said)
    notes = stagec.explain(f, np.ones((8, 4), np.float32), np.ones((8, 1), np.float32)).notes
    text = "sizes vary; jit(dynamic={'x': 'b, _', 'y': 'b, _'}) would compile once for all of them"
    assert text in notes
    for size in (8, 9):
        f(np.ones((size, 4), np.float32), np.ones((size, 1), np.float32))
    assert sum(text in message for message in said) == 1


def test_a_function_with_open_dimensions_is_lowered_and_compiled_for_any_size():
    f = stagec.jit(lambda x: x.sum(0), dynamic={"x": "b, _"})
    lowered = f.lower(np.ones((3, 4), np.float32))
    assert "tensor<?x4xf32>" in lowered.as_text()
    compiled = lowered.compile()
    for size in (1, 6):
        np.testing.assert_array_equal(np.asarray(compiled(np.ones((size, 4), np.float32))), np.full(4, float(size)))
