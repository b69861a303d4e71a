"""Devices: where data is, where computations run, and what happens when data of several meets."""

import pickle
import threading
import warnings

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec.runtime import device, devices as devices_module


def affine(x, y):
    return x * 2 + y


def sample(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 7


def test_the_cpu_is_the_default_device():
    assert stagec.default_backend() == "cpu"
    assert stagec.devices() == stagec.devices("cpu") and stagec.local_device_count() == 1
    x = snp.ones(3)
    assert x.device is stagec.devices("cpu")[0] and x.devices() == {x.device} and not x.committed


def test_device_put_commits_and_device_get_gives_numpy():
    tree = {"w": sample(3), "b": [1, snp.ones(2)]}
    put = stagec.device_put(tree, "cpu")
    assert all(leaf.committed for leaf in stagec.tree.leaves(put))
    back = stagec.device_get(put)
    np.testing.assert_array_equal(back["w"], tree["w"])
    assert type(back["b"][0]) is np.ndarray and back["b"][0].dtype == np.int32
    assert repr(stagec.device_get([1, 0.5, "name", snp.ones(2)])) == "[1, 0.5, 'name', array([1., 1.], dtype=float32)]"


def test_device_put_copies_what_the_caller_can_write_to():
    x = sample(4)
    put = stagec.device_put(x)
    x[:] = -1
    assert not put.committed
    np.testing.assert_array_equal(put, sample(4))


def test_device_put_of_other_things_is_refused():
    with pytest.raises(stagec.errors.ArgumentTypeError, match="device_put takes arrays and numbers, not str"):
        stagec.device_put(["text"], "cpu")


def test_device_put_inside_jit_passes_tracers_through():
    np.testing.assert_array_equal(stagec.jit(lambda x: stagec.device_put(x, "cpu") + 1)(sample(3)), sample(3) + 1)


def test_results_of_committed_data_are_committed():
    x, y = stagec.device_put(sample(3), "cpu"), snp.ones(3)
    f = stagec.jit(affine)
    for _ in range(3):  # the slow path, then the fast one
        assert f(x, y).committed and f(y, x).committed and not f(y, y).committed
    assert (x + y).committed and not (y + y).committed


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tpu", "'tpu' is not a known platform"),
        ("cpu:7", "there is no device 'cpu:7'"),
        ("cpu:x", "there is no device 'cpu:x'"),
        (3, "a device is a Device or a string such as 'cpu', not int"),
    ],
)
def test_an_unknown_device_is_an_error_with_the_fix(name, message):
    with pytest.raises(stagec.errors.DeviceError, match=message) as caught:
        stagec.device_put(1.0, name)
    assert "Fix:" in str(caught.value)


def test_platforms_limit_what_may_be_used():
    refused = pytest.raises(stagec.errors.DeviceError, match="'vulkan' is not among those allowed")
    with stagec.config.override(platforms="cpu"), refused:
        stagec.devices("vulkan")
    unknown = pytest.raises(stagec.errors.DeviceError, match="'quantum' is not a known platform")
    with stagec.config.override(platforms="cpu, quantum"), unknown:
        stagec.devices()


def test_default_device_is_a_context():
    with stagec.default_device(stagec.devices("cpu")[0]):
        assert not stagec.jit(affine)(sample(2), 1.0).committed


def test_devices_survive_pickling():
    device = stagec.devices()[0]
    assert pickle.loads(pickle.dumps(device)) is device


def test_memory_stats_see_an_allocation():
    before = stagec.memory_stats("cpu")["bytes_in_use"]
    kept = stagec.jit(lambda x: x + 1)(snp.ones(100_000)).block_until_ready()
    assert stagec.memory_stats("cpu")["bytes_in_use"] >= before + kept.nbytes


def test_one_of_target_backend_and_device():
    with pytest.raises(stagec.errors.TargetError, match="jit takes one of target, backend and device"):
        stagec.jit(affine, target="cpu", device="cpu")


# Programs that run while Python goes on.


LARGE = (1500, 1500)


def heavy(x):
    return snp.sin(x) * snp.exp(-x) + snp.tanh(x)


def test_a_large_program_returns_before_its_result_is_ready():
    f = stagec.jit(lambda x: heavy(heavy(heavy(x))))
    x = snp.asarray(sample(*LARGE))
    f(x).block_until_ready()
    seen = []
    for _ in range(20):
        y = f(x)
        seen.append(y.is_ready())
        y.block_until_ready()
        assert y.is_ready()
    assert not all(seen)


def test_chained_calls_give_the_same_as_waiting_for_each():
    f = stagec.jit(heavy)
    x = snp.asarray(sample(*LARGE))
    chained = waited = x
    for _ in range(8):
        chained = f(chained)
        waited = f(waited).block_until_ready()
    np.testing.assert_array_equal(chained, waited)


def test_an_argument_may_be_dropped_or_written_to_after_the_call():
    f = stagec.jit(heavy)
    x = sample(*LARGE)
    expected = np.array(f(x))
    for _ in range(10):
        mine = x.copy()
        y = f(mine)
        mine[:] = 0
        np.testing.assert_array_equal(y, expected)
        ours = snp.asarray(x)
        y = f(ours)
        del ours
        np.testing.assert_array_equal(y, expected)


def test_an_argument_that_is_still_read_can_be_donated_to_another_queue():
    large, small = stagec.jit(heavy), stagec.jit(lambda x: x.at[0, 0].set(5.0), donate_argnums=0)
    for _ in range(10):
        x = stagec.jit(lambda a: a + 0.5)(sample(*LARGE))
        expected = np.array(stagec.jit(heavy)(np.array(x)))
        y = large(x)
        small(x)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("shape", [(8, 8), (700, 700)])
def test_eight_threads_call_and_compile_the_same_functions(shape):
    functions = [stagec.jit(lambda x, k=k: heavy(x) * k + x.T) for k in range(4)]
    x = sample(*shape)
    expected = [np.array(stagec.jit(lambda x, k=k: heavy(x) * k + x.T)(x)) for k in range(4)]
    stagec.clear_caches()
    wrong, barrier = [], threading.Barrier(8)

    def work(number):
        barrier.wait()
        for step in range(6):
            k = (number + step) % 4
            result = functions[k](x if step % 2 else snp.asarray(x))
            if not np.array_equal(result, expected[k]):
                wrong.append((number, step))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_donated_array_that_is_returned_is_no_warning():
    x = snp.ones((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        total, same = stagec.jit(lambda x: (x.sum(), x), donate_argnums=0)(x)
    assert x.is_deleted() and float(total) == 6 and same.tolist() == [[1, 1, 1]] * 2


def test_a_donated_array_that_no_result_can_use_is_a_warning():
    total = stagec.jit(lambda x: x.sum(), donate_argnums=0)
    with pytest.warns(stagec.errors.DonationWarning, match=r"could not be used.*: x float32\[5\]"):
        total(snp.ones(5))


# GPUs, and software that looks like one.


def device_of(platform, id, software):
    made = devices_module.Device(platform, id, f"{'llvmpipe' if software else 'GeForce'} {id}", handle=id)
    made.info = lambda: f"type: {'cpu' if software else 'discrete gpu'}\n"
    return made


@pytest.fixture
def machine(monkeypatch):
    """Sets what the drivers list: names of platforms to devices."""

    def having(**known):
        monkeypatch.setattr(devices_module, "_of_platform", lambda name: tuple(known.get(name, ())))

    return having


def test_gpu_is_not_a_software_device(machine):
    software = device_of("vulkan", 0, True)
    machine(vulkan=[software])
    for ask in (
        lambda: stagec.devices("gpu"),
        lambda: stagec.jit(snp.sin, device="gpu"),
        lambda: stagec.jit(snp.sin, backend="gpu"),
        lambda: stagec.device_put(1.0, "gpu"),
        lambda: stagec.device_put(1.0, "gpu:0"),
    ):
        with pytest.raises(stagec.errors.DeviceError, match="there is no GPU here") as raised:
            ask()
        assert "vulkan:0  llvmpipe 0  software" in str(raised.value)
        assert "Fix: install the GPU's driver" in str(raised.value) and "device='vulkan'" in str(raised.value)
    with stagec.config.override(platforms="gpu,cpu"), pytest.raises(stagec.errors.DeviceError, match="no GPU"):
        stagec.default_backend()
    assert stagec.devices("vulkan") == [software]


def test_gpu_is_the_first_platform_with_a_gpu(machine):
    card, other, software = device_of("cuda", 0, False), device_of("vulkan", 0, False), device_of("vulkan", 1, True)
    machine(cuda=[card], vulkan=[other, software])
    assert stagec.devices("gpu") == [card]
    machine(vulkan=[other, software])
    assert stagec.devices("gpu") == [other]
    assert stagec.devices("vulkan") == [other, software]


def test_gpus_come_before_software_devices(monkeypatch):
    class Driver:
        def query_available_devices(self):
            return [{"name": "llvmpipe", "device_id": 7}, {"name": "GeForce", "device_id": 8}]

        def dump_device_info(self, handle):
            return "type: cpu\n" if handle == 7 else "type: discrete gpu\n"

    class Binding:
        def get_cached_hal_driver(self, platform):
            return Driver()

    monkeypatch.setattr(device, "binding", Binding)
    found = devices_module._of_driver.__wrapped__.__wrapped__("vulkan")
    assert [(d.device_kind, d.id, d._handle) for d in found] == [("GeForce", 0, 8), ("llvmpipe", 1, 7)]


@pytest.mark.parametrize(
    ("platform", "text", "reason"),
    [
        (
            "cuda",
            "UNAVAILABLE; CUDA driver library 'libcuda.so'/'nvcuda.dll' not available; please ensure installed",
            "the driver's library, (libcuda.so.1|nvcuda.dll), was not found",
        ),
        ("vulkan", "c.c:441: UNAVAILABLE; [vkCreateInstance] VK_ERROR", r"its driver answers \[vkCreateInstance\] VK_"),
    ],
)
def test_a_missing_driver_is_a_whole_sentence(monkeypatch, platform, text, reason):
    def fails(name):
        raise RuntimeError(text)

    monkeypatch.setattr(devices_module, "_of_platform", fails)
    with pytest.raises(stagec.errors.DeviceError, match=f"there is no {platform} device here: {reason}"):
        stagec.jit(snp.sin, device=platform)


def test_block_until_ready_waits_for_every_array_of_a_pytree(monkeypatch):
    waited = []
    x, y = snp.ones(2), stagec.jit(lambda x: x + 1)(snp.ones(3))
    monkeypatch.setattr(type(x), "block_until_ready", lambda self: waited.append(self))
    tree = {"a": x, "b": [1, y, "text"]}
    assert stagec.block_until_ready(tree) is tree
    assert [id(a) for a in waited] == [id(x), id(y)]
