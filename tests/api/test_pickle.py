"""What can be sent to another process: jitted functions, loaded functions, arrays."""

import copy
import functools
import os
import pickle
import re
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest
from pickled_functions import Model, clipped, decorated, hidden, jitted, plain, straight

import stagec
import stagec.numpy as snp

X = snp.array([1.0, 2.0])


def elsewhere(data, call):
    """`call`, an expression of `f`, in a new process that unpickles `f`."""
    imports = "import pickle, sys, stagec, stagec.numpy as snp, numpy as np"
    code = f"{imports}; f = pickle.load(sys.stdin.buffer); print({call})"
    path = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code], input=data, capture_output=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_decorated_function_is_pickled_by_its_name(dumps, protocol):
    data = dumps(decorated, protocol)
    assert pickle.loads(data) is decorated and len(data) < 100
    assert pickle.loads(dumps([Model(3).scaled, Model.scaled], protocol))[0](X).tolist() == [3, 6]


def test_a_jitted_function_of_another_name_is_pickled_with_the_function_s_name():
    found = pickle.loads(pickle.dumps(jitted))
    assert found._function is plain and found(X).tolist() == jitted(X).tolist()
    half = stagec.jit(functools.partial(snp.multiply, 0.5))
    assert pickle.loads(pickle.dumps(half))(X).tolist() == [0.5, 1]
    bound = stagec.jit(Model(5).__class__.scaled._function.__get__(Model(5)))
    assert pickle.loads(cloudpickle.dumps(bound))(X).tolist() == [5, 10]


def test_what_has_no_name_is_refused_with_advice():
    def local(x):
        return x

    fix = "define it with def at the top of a module; or pickle it by value, with cloudpickle.dumps"
    for function in (lambda x: x, local):
        with pytest.raises(pickle.PicklingError) as caught:
            pickle.dumps(stagec.jit(function))
        first, second = str(caught.value).splitlines()
        assert re.search(r"^jit of .* at test_pickle\.py:\d+ cannot be pickled: it has no name that", first)
        assert second == f"  Fix: {fix}"
    with pytest.raises(pickle.PicklingError) as caught:
        pickle.dumps(hidden)
    assert "pickled_functions.wrapped is something else" in str(caught.value)
    assert "wrapped = stagec.jit(wrapped)" in str(caught.value)


def test_cloudpickle_takes_closures_with_their_settings():
    offset = snp.array([10.0, 20.0])
    f = stagec.jit(
        lambda x, n, y: x * n + offset + y,
        static_argnames="n",
        donate_argnums=0,
        keep_unused=True,
        fast_math=True,
        target="cpu:x86-64-v2",
    )
    assert elsewhere(cloudpickle.dumps(f), "f(snp.ones(2), 3, snp.ones(2)).tolist()") == "[14.0, 24.0]"
    found = pickle.loads(cloudpickle.dumps(f))
    settings, rules = found._settings, found._settings.rules
    assert (rules.static_nums, rules.static_names) == (f._settings.rules.static_nums, f._settings.rules.static_names)
    assert (rules.donate_nums, rules.donate_names) == (f._settings.rules.donate_nums, f._settings.rules.donate_names)
    assert (settings.keep_unused, settings.fast_math, settings.target) == (True, True, f._settings.target)
    placed = pickle.loads(cloudpickle.dumps(stagec.jit(lambda x: x, device="cpu", inline=True)))
    assert placed._settings.device is stagec.devices("cpu")[0] and placed._settings.inline


@pytest.mark.parametrize(
    "transform", [stagec.grad, stagec.vmap, stagec.value_and_grad, stagec.jacrev, stagec.checkpoint]
)
def test_cloudpickle_takes_transformed_functions(transform):
    f = transform(stagec.jit(lambda x: snp.sin(x) * 2))
    x = snp.ones(2) if transform is stagec.vmap else snp.float32(1)
    for g in (f, stagec.jit(f)):
        assert str(pickle.loads(cloudpickle.dumps(g))(x)) == str(g(x))


def test_functions_of_the_main_module_go_by_value_with_cloudpickle_alone(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import pickle, sys, cloudpickle, stagec
@stagec.jit
def f(x):
    return x * 2
assert pickle.loads(pickle.dumps(f)) is f
sys.stdout.buffer.write(cloudpickle.dumps(f))
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, check=True)
    assert elsewhere(done.stdout, "f(4.0), f.__name__") == "8.0 f"


def test_jitted_and_loaded_functions_are_copied_as_functions_are():
    f = stagec.jit(lambda x: x)
    assert copy.copy(f) is f and copy.deepcopy({"f": f})["f"] is f


def saved(path, factor=2.0):
    f = stagec.export(lambda x: x * factor)
    stagec.save(path, {"double": f(X), "both": [f(X), f(snp.ones(3))]})


def test_a_loaded_function_is_pickled_by_path_and_checksum(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("model.stagec")
    loaded = stagec.load("model.stagec")
    assert copy.deepcopy(loaded) is loaded
    data = pickle.dumps(loaded["double"])
    assert len(data) < 400
    monkeypatch.chdir("/")
    assert elsewhere(data, "f(np.ones(2, np.float32)).tolist()") == "[2.0, 2.0]"
    assert list(pickle.loads(pickle.dumps(loaded)).functions) == ["double", "both"]
    saved(tmp_path / "model.stagec", 3.0)
    with pytest.raises(stagec.errors.ArtifactError, match=r"model\.stagec is not loaded: its digest is"):
        pickle.loads(data)


def test_a_function_that_was_loaded_from_bytes_is_pickled_with_them():
    w = snp.arange(100.0)
    exported = stagec.export(lambda x: x.sum() * w, weights=False)(X)
    loaded = stagec.load(exported.serialize(), weights=[w + 1])
    assert elsewhere(pickle.dumps(loaded), "f(np.ones(2, np.float32))[:3].tolist()") == "[2.0, 4.0, 6.0]"


@pytest.mark.parametrize(
    "x",
    [snp.ones((2, 3)), snp.asarray(1.5), snp.zeros((0, 2)), snp.ones(3, "bfloat16"), jitted(X), snp.array([True])],
    ids=str,
)
def test_arrays_are_pickled_and_copied(x):
    for found in (pickle.loads(pickle.dumps(x)), copy.deepcopy([x])[0], copy.copy(x)):
        assert (found.shape, found.dtype, found.weak_type) == (x.shape, x.dtype, x.weak_type)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(x))


def test_stages_show_what_they_are():
    @stagec.jit
    def f(x, params):
        return x + params["w"], x.sum()

    traced = f.trace(X, {"w": X})
    text = "f(x: float32[2], params['w']: float32[2]) -> float32[2], float32[]"
    assert repr(traced) == f"<stagec.Traced {text}>"
    assert repr(traced.lower()) == f"<stagec.Lowered {text} for cpu>"
    assert repr(traced.lower().compile()) == f"<stagec.Compiled {text} for cpu>"
    many = stagec.jit(lambda *xs: xs[0]).lower(*range(20))
    assert repr(many).endswith("xs[5]: int32[], ...) -> int32[] for cpu>")


def test_dask_runs_jitted_functions_in_processes_and_on_workers(tmp_path):
    pytest.importorskip("distributed")
    program = tmp_path / "program.py"
    program.write_text("""
import dask, distributed, stagec, stagec.numpy as snp

offset = snp.array([10.0, 20.0])

@stagec.jit
def f(x):
    return x * 2 + offset

if __name__ == "__main__":
    calls = [dask.delayed(f)(snp.ones(2) * i) for i in range(3)]
    print([y.tolist() for y in dask.compute(*calls, scheduler="processes", num_workers=1)])
    with distributed.Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        print(client.submit(f, snp.ones(2)).result().tolist())
""")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[[10.0, 20.0], [12.0, 22.0], [14.0, 24.0]]\n[12.0, 22.0]\n", done.stderr


@pytest.mark.parametrize("jitted_before", [True, False])
def test_transformations_of_a_function_that_has_run_are_pickled_by_value(jitted_before):
    def squares(x):
        return (x * x).sum()

    f = stagec.jit(squares) if jitted_before else squares
    made = [stagec.grad(f), stagec.jit(stagec.grad(f)), stagec.vmap(f), stagec.hessian(f), stagec.checkpoint(f)]
    made += [snp.vectorize(f, signature="(n)->()"), stagec.named_call(f)]
    for function in made:
        function(snp.ones((2, 2)) if function is made[2] else X)
    again = pickle.loads(cloudpickle.dumps(made))
    assert again[0](X).tolist() == again[1](X).tolist() == [2, 4]
    assert again[2](snp.ones((2, 2))).tolist() == [2, 2]
    assert again[3](X).tolist() == [[2, 0], [0, 2]] and float(again[4](X)) == float(again[5](X)) == 5


def test_a_transformation_keeps_the_attributes_that_users_gave_a_function():
    def noted(x):
        return x

    noted.note = "kept"
    f = stagec.jit(noted)
    f(1.0)
    assert stagec.grad(f).note == stagec.grad(noted).note == "kept"


@pytest.mark.parametrize("function", [clipped, straight])
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_a_function_with_a_derivative_of_its_own_is_pickled_by_its_name(dumps, function):
    assert pickle.loads(dumps(function)) is function
    local = stagec.custom_jvp(lambda x: x * 2)
    local.defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0] * 3))
    found = pickle.loads(cloudpickle.dumps(local))
    assert float(stagec.grad(found)(1.0)) == 3


def test_programs_and_graphs_are_their_own_copies():
    lowered = decorated.lower(X)
    for value in (
        lowered,
        lowered.compile(),
        decorated.trace(X),
        decorated.trace(X).graph,
        decorated.trace(X).jaxpr.graph,
    ):
        assert copy.copy(value) is value and copy.deepcopy([value])[0] is value
