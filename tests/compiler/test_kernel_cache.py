"""The machine code of kernels is kept, in memory and on disk: only kernels that are new are generated."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.kernels import llvm
from stagec.compiler import kernel_cache, log
from stagec.compiler.cache import DiskCache, default_cache
from stagec.compiler.direct import machine_code, object_file
from stagec.compiler.direct.machines import MACHINES
from stagec.compiler.key import digest
from stagec.core.errors import CacheWarning

X = np.random.default_rng(0).standard_normal((40, 40), dtype=np.float32)


@pytest.fixture(autouse=True)
def directory(tmp_path):
    with stagec.config.override(enable_cache=True, cache_dir=str(tmp_path), cache_layers="", cache_remote=""):
        stagec.clear_caches()
        yield tmp_path
    stagec.clear_caches()


def layer(x, scale=1.0):
    """Some kernels, of which the scale changes the last one."""
    hidden = snp.tanh(x @ x)
    return snp.exp(hidden - hidden.max(1, keepdims=True)).sum(0) * scale


def computed(scale, **options):
    """The result, how many kernels were known, and how many were generated."""
    log.clear()
    result = np.asarray(stagec.jit(lambda x: layer(x, scale), **options)(X))
    (found,) = [record.fields for record in log.records("cache") if record.message == "kernels"]
    return result, found["known"], found["generated"]


def expected(scale):
    hidden = np.tanh(X @ X)
    return np.exp(hidden - hidden.max(1, keepdims=True)).sum(0) * scale


def is_right(result, scale):
    np.testing.assert_allclose(result, expected(scale), rtol=1e-5)


def files(directory):
    return sorted(path for path in directory.iterdir() if path.suffix == ".kernel")


@pytest.mark.parametrize("enabled", [True, False])
def test_after_an_edit_only_what_changed_is_generated(enabled):
    with stagec.config.override(enable_cache=enabled):
        _, known, generated = computed(2.0)
        assert known == 0 and generated > 1
        result, *counts = computed(3.0)
        assert counts == [generated - 1, 1]
        is_right(result, 3.0)


def test_the_disk_knows_kernels_that_memory_has_forgotten(directory):
    _, _, generated = computed(2.0)
    assert len(files(directory)) == generated
    stagec.clear_caches()
    result, *counts = computed(3.0)
    assert counts == [generated - 1, 1]
    is_right(result, 3.0)


def test_without_the_disk_clear_caches_forgets_all_kernels():
    with stagec.config.override(enable_cache=False):
        _, _, generated = computed(2.0)
        stagec.clear_caches()
        assert computed(2.0)[1:] == (0, generated)


@pytest.mark.parametrize("at", [20, 200, -1], ids=["prelude", "header", "code"])
def test_a_damaged_kernel_is_generated_again(directory, at):
    _, _, generated = computed(2.0)
    for path in files(directory):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
    stagec.clear_caches()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, *counts = computed(3.0)
    assert [w.category for w in caught] == [CacheWarning]
    assert counts == [0, generated]
    is_right(result, 3.0)
    stagec.clear_caches()
    assert computed(4.0)[1:] == (generated - 1, 1)


def test_a_kernel_that_others_may_write_to_is_not_run(directory):
    _, _, generated = computed(2.0)
    for path in files(directory):
        os.chmod(path, 0o666)
    stagec.clear_caches()
    with pytest.warns(CacheWarning, match="other users may write"):
        assert computed(3.0)[1:] == (0, generated)


def test_kernels_of_other_processors_and_other_sources_are_other_kernels(monkeypatch):
    _, _, generated = computed(2.0)
    assert computed(2.0, target="cpu:x86-64-v3")[1:] == (0, generated)
    stagec.clear_caches()
    monkeypatch.setattr(kernel_cache.key, "environment_contributors", lambda: {"stagec source": "edited"})
    assert computed(3.0)[1:] == (0, generated)


def test_memory_is_bounded(monkeypatch):
    with stagec.config.override(enable_cache=False):
        _, _, generated = computed(2.0)
        monkeypatch.setattr(kernel_cache, "_BYTES", kernel_cache._used)
        result, *counts = computed(3.0)
        assert counts == [generated - 1, 1] and len(kernel_cache._memory) == 1
        is_right(result, 3.0)


def test_the_code_of_a_kernel_does_not_depend_on_the_others(monkeypatch):
    given, generated = [], machine_code.generated
    monkeypatch.setattr(machine_code, "generated", lambda *args: given.append(args) or generated(*args))
    computed(2.0)
    ((kernels, target),) = given
    together = generated(kernels, target)
    assert len(together) > 1
    assert together == {symbol: generated({symbol: kernel}, target)[symbol] for symbol, kernel in kernels.items()}
    # Constants are those of one function only.
    sizes = {code.sections[i].data for code in together.values() for i in range(1, len(code.sections))}
    assert len(sizes) > 1


def positions(*functions):
    """Calls each function more often than its operations are written in place of the calls."""
    return lambda x: snp.stack([function(v) for function in functions for v in x])


# Programs with a kernel that calls procedures.
CALLING = {
    "sines": positions(snp.sin, snp.cos),
    "cosines": positions(snp.cos, snp.sin),
    "between": lambda x: [snp.sort(x)[::-1] @ x, positions(snp.sin, snp.cos)(x)],
    "others": lambda x: [positions(snp.tan, snp.cos)(x[::-1]), snp.sort(x) @ x, positions(snp.sin, snp.cos)(x)],
}


def called(name):
    """The bytes of a program's results, how many kernels were known, and how many were generated."""
    log.clear()
    with stagec.enable_x64():
        found = stagec.jit(lambda x: CALLING[name](x))(np.linspace(-3, 9, 8))
    (counts,) = [record.fields for record in log.records("cache") if record.message == "kernels"]
    return [leaf.tobytes() for leaf in stagec.tree.leaves(found)], counts["known"], counts["generated"]


def test_kernels_that_call_procedures_are_the_same_in_all_programs(monkeypatch):
    given, generated = [], machine_code.generated
    monkeypatch.setattr(machine_code, "generated", lambda *args: given.append(args) or generated(*args))
    expected = {}
    for name in CALLING:
        stagec.clear_caches()
        default_cache().clear()
        expected[name], *_ = called(name)
    assert len(given) == len(CALLING)
    for kernels, _ in given[:2]:
        assert llvm.printed(kernels.items(), "x86_64").count("define internal") == 2
    for kernels, target in given:
        together = generated(kernels, target)
        assert together == {symbol: generated({symbol: kernel}, target)[symbol] for symbol, kernel in kernels.items()}
    stagec.clear_caches()
    default_cache().clear()
    counts = {}
    for name in CALLING:
        result, *counts[name] = called(name)
        assert result == expected[name]
    # Nothing but what the procedures do tells the kernels of the first two apart.
    assert counts["cosines"][1] == 1
    assert counts["between"][0] == counts["sines"][1] and counts["others"][0] > 0


def test_kernels_that_call_procedures_are_known_from_other_processes(directory):
    expected, _, generated = called("sines")
    default_cache().clear()
    stagec.clear_caches()
    code = "from tests.compiler.test_kernel_cache import called; assert called('sines')[2]; called('others')"
    environment = {**os.environ, "STAGEC_CACHE_DIR": str(directory), "STAGEC_ENABLE_CACHE": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=Path(__file__).parents[2])
    for path in directory.glob("*.stagec"):
        path.unlink()
    assert called("sines") == (expected, generated, 0)


def object_of(*functions):
    """An object file for a processor with vectors of 64 bytes."""
    binding = machine_code._binding()
    module = binding.parse_assembly("\n".join(['target triple = "x86_64-unknown-linux-gnu"', *functions]))
    machine = machine_code._machine("x86_64-unknown-linux-gnu", "x86-64-v4", "+avx512f,+avx512vl")
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module))


def adding(name, *types):
    """A function that adds a constant of each type, which differs from function to function."""
    lines = []
    for i, (count, type_) in enumerate(types):
        vector = f"<{count} x {type_}>"
        values = ", ".join(f"{type_} {name.encode()[0] + i + k}.5" for k in range(count))
        lines += [
            f"%a{i} = load {vector}, ptr %p",
            f"%b{i} = fadd {vector} %a{i}, <{values}>",
            f"store {vector} %b{i}, ptr %p",
        ]
    return "\n".join([f'define void @{name}(ptr %p) section ".text.{name}" {{', *lines, "ret void", "}"])


def jumping(name):
    """A function with a table of places to jump to."""
    cases = " ".join(f"i32 {i}, label %c{i}" for i in range(8))
    blocks = "\n".join(f"c{i}:\nstore volatile i32 {i}, ptr %p\nret i32 {i * i * 7}" for i in range(8))
    head = f'define i32 @{name}(i32 %x, ptr %p) section ".text.{name}" {{\nswitch i32 %x, label %c0 [{cases}]'
    return f"{head}\n{blocks}\n}}"


SIZES = [(1, "float"), (1, "double"), (4, "float"), (8, "float"), (16, "float"), (8, "double")]


def test_constants_of_all_sizes_are_divided():
    functions = {name: adding(name, *SIZES[i:]) for i, name in enumerate("abcd")}
    together = object_file.functions(object_of(*functions.values()), list(functions))
    assert together == {name: object_file.functions(object_of(text), [name])[name] for name, text in functions.items()}
    assert {len(s.data) % 64 for code in together.values() for s in code.sections if s.alignment == 64} == {0}


def test_what_cannot_be_divided_is_noticed():
    with pytest.raises(object_file.MixedError):
        object_file.functions(object_of(jumping("a"), jumping("b")), ["a", "b"])
    # A function whose constants precede those of the one before.
    with pytest.raises(object_file.MixedError):
        object_file.functions(object_of(adding("a", *SIZES), adding("b", *SIZES)), ["b", "a"])


def test_tables_without_a_size_are_whole():
    section = bytes([1, 2, 3, 4])
    rows = [[0] * 10, [0, 1, 2, 0, 0, len(section), 0, 0, 1, 0]]
    file = object_file._File.__new__(object_file._File)
    file.machine, file.rows, file.contents, file.relocations = MACHINES[0], rows, [b"code", section], {}
    sections = [object_file.Section(6, 16, b"code", ((0, 2, 1, -4),)), object_file.Section(2, 1, section)]
    assert file._divide(sections, 1, 1, 0) == len(section) and sections[1].data == section
    with pytest.raises(object_file.MixedError):
        file._divide(sections, 1, 1, 2)


def test_constants_that_no_function_uses_belong_to_none():
    texts = {name: adding(name, *SIZES) for name in "abc"}
    alone = {name: object_file.functions(object_of(text), [name])[name] for name, text in texts.items()}
    for names in ("ab", "bc", "ac"):
        found = object_file.functions(object_of(*texts.values()), list(names))
        assert found == {name: alone[name] for name in names}


def test_kernels_whose_constants_cannot_be_told_apart_are_generated_one_by_one(monkeypatch):
    functions = object_file.functions

    def mixed(data, names):
        if len(names) > 1:
            raise object_file.MixedError
        return functions(data, names)

    monkeypatch.setattr(machine_code, "functions", mixed)
    result, _, generated = computed(2.0)
    assert generated > 1
    is_right(result, 2.0)


def test_code_is_stored_as_numbers_and_bytes():
    sections = (object_file.Section(6, 16, b"code", ((1, 2, 1, -4),)), object_file.Section(18, 4, b"1234"))
    code = object_file.Code(sections, 3)
    assert object_file.Code.of_stored(*code.stored()) == code


def test_the_cache_counts_bounds_and_clears_kernels_with_programs(directory):
    _, _, generated = computed(2.0)
    store = default_cache()
    info = store.info()
    assert (info.entries, info.kernels) == (1, generated)
    assert info.bytes == sum(path.stat().st_size for path in directory.iterdir() if path.suffix != ".ledger")
    assert [header.key for header in store.entries()] == [
        path.stem for path in directory.iterdir() if path.suffix == ".stagec"
    ]
    assert store.clear() == 1
    assert files(directory) == []


def test_the_least_recently_used_kernels_leave_first(tmp_path):
    cache = DiskCache(tmp_path, 6 * 8192)
    keys = [digest({"kernel": str(i)}) for i in range(6)]
    for i, key in enumerate(keys):
        cache.put_kernel(key, {"kernel": str(i)}, {}, bytes(4096))
        path = cache._path(key, ".kernel")
        os.utime(path, (i, i))
    assert cache.kernel(keys[0]) is not None  # which makes it the last one
    cache.put(digest({"program": "p"}), {"program": "p"}, {}, bytes(4096))
    assert cache.info().bytes <= 6 * 8192
    assert [cache.kernel(key) is not None for key in keys[:4]] == [True, False, False, True]
