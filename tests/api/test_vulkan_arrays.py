"""Arrays and calls on a Vulkan device: transfers, donation, mixing, threads."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp

DTYPES = [np.bool_, np.int8, np.uint16, np.int32, np.float16, ml_dtypes.bfloat16, np.float32, np.complex64]


def sample(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 7


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (5, 7), (4097,), (0, 2)])
def test_data_survives_the_way_there_and_back(vulkan, dtype, shape):
    x = (np.arange(np.prod(shape, dtype=int)) % 5).reshape(shape).astype(dtype)
    there = stagec.device_put(x, vulkan)
    there.buffer_view()
    there._numpy = None  # so that the device's data is what is read
    np.testing.assert_array_equal(np.asarray(there), x)
    assert there.device is vulkan and there.dtype == x.dtype


def test_computation_follows_committed_data(vulkan):
    f = stagec.jit(lambda x, y: snp.sin(x) @ y + 1)
    x, y = sample(3, 4), sample(4, 5)
    expected = np.sin(x) @ y + 1
    for first, second in [(x, y), (snp.asarray(x), y), (x, stagec.device_put(y, vulkan))]:
        result = f(stagec.device_put(first, vulkan), second)
        assert result.device is vulkan and result.committed
        np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert f(x, y).device is stagec.devices("cpu")[0]


def test_data_of_two_devices_does_not_meet(vulkan):
    x, y = stagec.device_put(sample(3), vulkan), stagec.device_put(sample(3), "cpu")
    for call in (stagec.jit(lambda a, b: a + b), lambda a, b: a + b):
        with pytest.raises(stagec.errors.DeviceError, match="committed to different ones") as caught:
            call(x, y)
        assert "VulkanDevice(id=0)" in str(caught.value) and "CpuDevice(id=0)" in str(caught.value)


def test_a_function_or_a_block_may_choose_the_device(vulkan):
    double = stagec.jit(lambda x: x * 2, device=vulkan)
    assert double(sample(3)).device is vulkan and double(sample(3)).committed
    with stagec.default_device("vulkan"):
        result = stagec.jit(lambda x: x * 2)(sample(3))
    assert result.device is vulkan and not result.committed
    np.testing.assert_array_equal(result, sample(3) * 2)


def test_operations_outside_jit_keep_the_device(vulkan):
    x = stagec.device_put(sample(3), vulkan)
    y = snp.exp(x)[1:] * 2
    assert y.device is vulkan and y.committed
    np.testing.assert_allclose(y, np.exp(sample(3))[1:] * 2, rtol=1e-6)
    np.testing.assert_allclose(stagec.jit(lambda a: a + 1)(y), np.exp(sample(3))[1:] * 2 + 1, rtol=1e-6)


def test_closed_over_weights_go_along(vulkan):
    weights = sample(64, 64)
    f = stagec.jit(lambda x: x @ snp.asarray(weights))
    x = sample(2, 64)
    np.testing.assert_allclose(f(stagec.device_put(x, vulkan)), x @ weights, rtol=1e-4)


def test_a_donated_array_is_taken_and_the_result_is_right(vulkan):
    step = stagec.jit(lambda x, g: x - 0.5 * g, donate_argnums=0)
    x, g = stagec.device_put(sample(100), vulkan), snp.ones(100)
    expected = sample(100)
    for _ in range(4):
        old, x = x, step(x, g)
        expected = expected - 0.5
        assert old.is_deleted()
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    with pytest.raises(stagec.errors.DonationError):
        np.asarray(old)


def test_a_result_that_is_its_argument_is_donated_without_it(vulkan):
    argument = stagec.jit(lambda x: x + 1)(stagec.device_put(sample(100), vulkan))
    before = np.array(argument)
    result, _ = stagec.jit(lambda x: (x, x * 2))(argument)
    updated = stagec.jit(lambda x: x.at[0].set(7.0), donate_argnums=0)(result)
    assert result.is_deleted() and float(updated[0]) == 7
    assert np.array_equal(argument, before)


def test_results_that_are_arguments_and_updates_in_place_leave_arguments_alone(vulkan):
    f = stagec.jit(lambda x: (x, x.at[0].set(9.0), snp.sort(x)[::-1]))
    x = stagec.device_put(sample(6), vulkan)
    same, updated, turned = f(x)
    np.testing.assert_array_equal(x, sample(6))
    np.testing.assert_array_equal(same, sample(6))
    np.testing.assert_array_equal(updated, [9, *sample(6)[1:]])
    np.testing.assert_array_equal(turned, sample(6)[::-1])


def test_arrays_without_elements(vulkan):
    x = stagec.device_put(np.zeros((0, 3), np.float32), vulkan)
    result = stagec.jit(lambda x: x + 1)(x)
    assert result.shape == (0, 3) and result.device is vulkan


def test_a_call_returns_before_its_result_is_ready(vulkan):
    f = stagec.jit(lambda x: snp.tanh(x @ x))
    x = stagec.device_put(sample(300, 300), vulkan)
    f(x).block_until_ready()
    assert not all(f(x).is_ready() for _ in range(20))


def test_pickle_and_dlpack_give_the_data(vulkan):
    x = stagec.jit(lambda a: a + 1)(stagec.device_put(sample(5), vulkan))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), sample(5) + 1)
    np.testing.assert_array_equal(np.from_dlpack(x), sample(5) + 1)


@pytest.mark.parametrize("target", ["cpu", "vulkan"])
def test_results_may_live_until_the_interpreter_ends(vulkan, target):
    code = (
        f"import numpy as np, stagec; stagec.config.update('target', {target!r});"
        "x = stagec.device_put(np.ones((2, 4), np.float32), 'vulkan');"
        "y = stagec.jit(lambda x: x + 1)(x); print(float(y[0, 0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2.0\n", "")


def test_memory_in_use_is_that_of_the_arrays_there(vulkan):
    def used():
        return stagec.memory_stats(vulkan)["bytes_in_use"]

    before = used()
    x = stagec.device_put(sample(1000, 1000), vulkan)
    assert used() == before + x.nbytes
    f = stagec.jit(lambda a: a * 2)
    y = f(x).block_until_ready()
    assert used() == before + 2 * x.nbytes
    for _ in range(20):
        f(x).block_until_ready()
    assert used() == before + 2 * x.nbytes
    assert stagec.memory_stats(vulkan)["bytes_allocated"] >= 2 * x.nbytes
    del y
    x.delete()
    assert used() == before


def test_threads_call_python_from_the_device(vulkan):
    seen = []

    @stagec.jit
    def f(x):
        doubled = stagec.pure_callback(lambda a: np.asarray(a) * 2, stagec.ShapeDtypeStruct(x.shape, x.dtype), x)
        stagec.debug.callback(lambda v: seen.append(float(v)), doubled[0])
        return snp.sum(doubled) + x[1]

    def work(number):
        inputs = [stagec.device_put(np.float32([number, k, 1]), vulkan) for k in range(10)]
        return [float(f(x)) - (2 * (number + k + 1) + k) for k, x in enumerate(inputs)]

    with ThreadPoolExecutor(6) as pool:
        wrong = [error for errors in pool.map(work, range(6)) for error in errors if error]
    assert not wrong and sorted(seen) == sorted(2.0 * number for number in range(6) for _ in range(10))


def test_eight_threads_share_the_device(vulkan):
    f = stagec.jit(lambda x, k: snp.tanh(x) * k)
    x = stagec.device_put(sample(1000), vulkan)
    f(x, np.float32(0)).block_until_ready()

    def work(number):
        wrong = 0
        for step in range(20):
            k = np.float32(number * 100 + step)
            result = f(x, k)
            result.is_ready()
            wrong += not np.allclose(result, np.tanh(sample(1000)) * k, rtol=1e-5)
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [0] * 8
