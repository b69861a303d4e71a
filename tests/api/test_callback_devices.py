"""Python functions called from programs on a device that is no CPU."""

import threading

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax

f32 = stagec.ShapeDtypeStruct((), "float32")
DTYPES = "bool int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 float32 complex64".split()


@pytest.fixture(scope="module")
def device(vulkan):
    return vulkan


def test_callbacks_get_cpu_arrays_and_results_go_back_to_the_device(device):
    seen = []

    def twice(x):
        seen.append(x)
        return np.asarray(x) * 2

    @stagec.jit
    def f(x):
        y = snp.where(x > 1, x, -x)
        return stagec.pure_callback(twice, y, y) + 1

    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    y = f(stagec.device_put(x, device))
    assert y.device is device
    assert seen[0].device.is_cpu
    np.testing.assert_array_equal(seen[0], np.where(x > 1, x, -x))
    np.testing.assert_array_equal(y, np.where(x > 1, x, -x) * 2 + 1)


def test_every_dtype_comes_through(device):
    arrays = [np.asarray(snp.arange(5).astype(d)) for d in DTYPES]
    f = stagec.jit(lambda xs: stagec.pure_callback(lambda xs: xs, xs, xs))
    for before, after in zip(arrays, f(stagec.device_put(arrays, device)), strict=True):
        assert (after.dtype, after.device) == (before.dtype, device)
        np.testing.assert_array_equal(after, before)


def test_print_in_a_loop_shows_every_step(device, capsys):
    @stagec.jit
    def f(x):
        def body(i, x):
            stagec.debug.print("{i}: {x}", i=i, x=x)
            return x * 2

        return lax.fori_loop(0, 3, body, x)

    y = f(stagec.device_put(np.array([1, 2], np.int32), device))
    assert capsys.readouterr().out == "0: [1 2]\n1: [2 4]\n2: [4 8]\n"
    assert np.asarray(y).tolist() == [8, 16]


def test_calls_take_their_turn_among_those_that_do_not_wait(device):
    seen = []
    step = stagec.jit(lambda x: x + 1, donate_argnums=0)
    look = stagec.jit(lambda x: (stagec.debug.callback(lambda x: seen.append(np.array(x)), x), x * 2)[1])
    x = stagec.device_put(np.zeros(1000, np.float32), device)
    for _ in range(5):
        x = step(look(step(step(x))))
    expected, value = [], 0.0
    for _ in range(5):
        expected.append(value + 2)
        value = (value + 2) * 2 + 1
    assert [s[0] for s in seen] == expected
    assert all((s == s[0]).all() for s in seen)
    np.testing.assert_array_equal(x, np.full(1000, value, np.float32))


def test_a_callback_may_use_the_device(device):
    inner = stagec.jit(lambda x: x * 3)

    def callback(x):
        y = inner(stagec.device_put(x, device))
        assert y.device is device
        return y

    f = stagec.jit(lambda x: stagec.pure_callback(callback, x, x) + 1)
    assert np.asarray(f(stagec.device_put(np.ones(3, np.float32), device))).tolist() == [4.0] * 3


def test_a_callback_may_call_the_function_that_called_it(device):
    def rest(n):
        return factorial(stagec.device_put(n - 1, device)) if n > 1 else np.float32(1)

    factorial = stagec.jit(lambda n: n * stagec.pure_callback(rest, f32, n))
    assert float(factorial(stagec.device_put(np.float32(5), device))) == 120.0


def test_inside_a_callback_the_default_device_is_the_cpu(device):
    seen = []
    f = stagec.jit(lambda x: stagec.debug.callback(lambda x: seen.append(stagec.default_backend()), x))
    with stagec.default_device(device):
        f(1.0)
        assert stagec.default_backend() == device.platform
    assert seen == ["cpu"]


def test_an_exception_reaches_the_caller_and_leaves_the_device_usable(device):
    mistake = KeyError("boom")
    fail = True

    def callback(x):
        if fail:
            raise mistake
        return x

    f = stagec.jit(lambda x: stagec.pure_callback(callback, f32, x.sum()) + 1)
    x = stagec.device_put(np.ones(4, np.float32), device)
    for _ in range(2):
        with pytest.raises(KeyError) as info:
            f(x)
        assert info.value is mistake
    fail = False
    assert float(f(x)) == 5.0


def test_threads_call_one_program_at_once(device):
    gate = threading.Barrier(3, timeout=60)

    def meet(x):
        gate.wait()
        return np.asarray(x) * 2

    f = stagec.jit(lambda x: stagec.pure_callback(meet, f32, x) + 1)
    after = stagec.jit(lambda x: x + 100)
    results = {}

    def work(i):
        results[i] = [float(after(f(stagec.device_put(np.float32(i), device)))) for _ in range(4)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert results == {i: [2.0 * i + 101] * 4 for i in range(3)}
