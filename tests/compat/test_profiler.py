"""`jax.profiler` under stagec.compat."""

import json

import pytest

import stagec

with stagec.compat.jax():
    import jax
    import jax.numpy as jnp


def _names(folder):
    (file,) = folder.glob("plugins/profile/*/*.trace.json")
    return [event["name"] for event in json.loads(file.read_text())["traceEvents"]]


def test_annotations_are_spans_of_a_trace(tmp_path):
    @jax.profiler.annotate_function
    def product(x):
        return jnp.dot(x, x.T)

    @jax.profiler.TraceAnnotation("decorated")
    def other():
        return 1

    with jax.profiler.trace(tmp_path, create_perfetto_link=False):
        with jax.profiler.TraceAnnotation("label"):
            product(jnp.ones((10, 10)))
        for i in range(2):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                assert other() == 1
    names = _names(tmp_path)
    assert [n for n in names if n.startswith("annotation")] == [
        "annotation label",
        "annotation product",
        *["annotation train", "annotation decorated"] * 2,
    ]
    assert "dot_general" in names


def test_annotations_outside_of_a_trace_change_nothing():
    with jax.profiler.TraceAnnotation("label"):
        assert jax.profiler.annotate_function(lambda x: x + 1, "name")(1) == 2


def test_traces_begin_and_end_in_turn(tmp_path):
    with pytest.raises(RuntimeError, match="no trace has been started"):
        jax.profiler.stop_trace()
    with jax.profiler.trace(tmp_path), pytest.raises(RuntimeError, match="has been started already"):
        jax.profiler.start_trace(tmp_path)
