"""`jax.profiler` under stagec.compat."""

import gzip
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


def _fields(message):
    """The fields of a message of Protocol Buffers: their numbers, and integers or bytes."""
    at, found = 0, []

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        value = number()
        if key & 7 == 2:
            at, value = at + value, message[at : at + value]
        found.append((key >> 3, value))
    return found


def _profile(data):
    """What each sample of a profile for pprof says: the place, the numbers by their names, and the labels."""
    fields = _fields(gzip.decompress(data))
    texts = [value.decode() for number, value in fields if number == 6]
    kinds = [texts[dict(_fields(value))[1]] for number, value in fields if number == 1]
    names = {d[1]: texts[d[2]] for number, value in fields if number == 5 for d in [dict(_fields(value))]}
    lines = {
        d[1]: names[dict(_fields(d[4]))[1]] for number, value in fields if number == 4 for d in [dict(_fields(value))]
    }
    samples = []
    for number, value in fields:
        if number == 2:
            parts = _fields(value)
            numbers = [v for n, v in parts if n == 2]
            if isinstance(numbers[0], bytes):  # packed, as JAX writes them: numbers without field numbers
                continue
            labels = {texts[d[1]]: texts[d[2]] for n, v in parts if n == 3 for d in [dict(_fields(v))]}
            samples.append((lines[dict(parts)[1]], dict(zip(kinds, numbers)), labels))
    return kinds, samples


def test_a_profile_of_memory_tells_which_arrays_are_alive(tmp_path):
    kept = [jnp.ones((3, 217)) for _ in range(4)]
    jax.profiler.save_device_memory_profile(tmp_path / "memory.prof")
    kinds, samples = _profile((tmp_path / "memory.prof").read_bytes())
    assert kinds == ["allocations", "space"]
    (mine,) = [sample for sample in samples if sample[0] == "float32[3,217]"]
    assert mine[1:] == ({"allocations": 4, "space": 4 * 4 * 3 * 217}, {"kind": "buffer", "device": "cpu:0"})
    del kept
    assert "float32[3,217]" not in [place for place, *_ in _profile(jax.profiler.device_memory_profile("cpu"))[1]]


def test_profiles_of_memory_have_the_form_of_those_of_jax():
    theirs = pytest.importorskip("jax", reason="the oracle")
    kept = theirs.numpy.ones(3)
    assert _profile(theirs.profiler.device_memory_profile())[0] == _profile(jax.profiler.device_memory_profile())[0]
    del kept
