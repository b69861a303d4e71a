"""Machine code of kernels by LLVM itself: what it is like, and what happens where it cannot be made."""

import platform
import struct
import types

import ml_dtypes
import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from passes.kernels import llvm
from passes.kernels.dispatch import Kernel
from passes.kernels.writer import Buffer, Writer
from stagec import lax
from stagec.compiler import log
from stagec.compiler.direct import library, linker, machine_code

X = np.linspace(-4, 4, 1003, dtype=np.float32)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, 0.5], np.float32)
FUNCTIONS = {
    "exp": snp.exp,
    "log": snp.log,
    "tanh": snp.tanh,
    "rsqrt": lax.rsqrt,
    "log1p": snp.log1p,
    "expm1": snp.expm1,
    "maximum": lambda x: snp.maximum(x, x[::-1]),
    "minimum": lambda x: snp.minimum(x, x[::-1]),
    "powers": lambda x: abs(x) ** 1.5,
    "half": lambda x: x.astype(snp.float16).astype(snp.float32) * 2,
    "bfloat16": lambda x: x.astype(snp.bfloat16) * 3,
    "sum": lambda x: x.sum(),
    "greatest": lambda x: (x.max(), x.min(), x.argmax()),
    "integers": lambda x: (x.astype(snp.int32) // 3, x.astype(snp.int8) % 5),
    "complex": lambda x: lax.complex(x, 2 * x) * lax.complex(x, x),
}


@pytest.fixture(autouse=True)
def nothing_cached():
    stagec.clear_caches()
    log.clear()
    with stagec.config.override(enable_cache=False):
        yield
    stagec.clear_caches()


def computed(function, *arrays):
    """The results, and the reasons for which the compiler generated code."""
    log.clear()
    found = [np.asarray(leaf) for leaf in stagec.tree.leaves(stagec.jit(lambda *x: function(*x))(*arrays))]
    records = log.records("compile")
    assert [r.fields["flags"] for r in records if "flags" in r.fields] == ["direct"]
    return found, [r.fields["reason"] for r in records if r.message == "machine code by the compiler"]


@pytest.mark.parametrize("x", [X, np.tile(SPECIAL, 40)], ids=["numbers", "special"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_code_generators_make_the_same_bits(name, x, monkeypatch):
    own, reasons = computed(FUNCTIONS[name], x)
    assert reasons == []
    stagec.clear_caches()
    monkeypatch.setattr(machine_code, "_binding", lambda: None)
    with np.errstate(all="ignore"):
        compilers, reasons = computed(FUNCTIONS[name], x)
    assert reasons == ["llvmlite is not installed, or of a release that was not tested"]
    for a, b in zip(own, compilers, strict=True):
        a, b = (r.astype(np.float32) if r.dtype == ml_dtypes.bfloat16 else r for r in (a, b))
        if platform.machine() == "aarch64" and name in ("sum", "maximum", "minimum", "greatest"):
            # The compiler adds up a vector in another order there, and its maximum takes subnormal numbers for zero.
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
            continue
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind == "f":
            assert (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all()


def test_zeros_of_both_signs_are_two_constants():
    found, _ = computed(lambda x: (snp.maximum(x, 0.0), x + -0.0, x * -0.0, x * 0.0), SPECIAL)
    x = SPECIAL[:2]
    for actual, expected in zip(found, (np.maximum(x, 0.0), x, x * np.float32(-0.0), x * np.float32(0.0))):
        np.testing.assert_array_equal(np.signbit(actual[:2]), np.signbit(expected))


def test_what_a_loop_does_not_change_is_computed_before_it_and_frozen():
    w, x = Writer(), Buffer("%x", 4096, "f32")

    def element(i, j):
        at = w.add(w.mul(i, 64), j)
        w.store(w.load(x, w.add(at, 16)), x, at)
        w.store(w.load(x, w.add(at, 17)), x, at)

    w.loop(0, 8, 1, lambda i, _: w.loop(0, 8, 1, lambda j, _: element(i, j)))
    text = llvm.printed([("moved", Kernel.written("moved", w, [x], [], [1]))], "x86_64-unknown-unknown-eabi-elf")
    _, outer, inner, *_ = text.split("\nloop")
    assert (outer.count("mul"), outer.count("freeze")) == (1, 1)
    # The counter's address, which both stores take, and those of the loads.
    assert (inner.count("mul"), inner.count("freeze"), inner.count("getelementptr")) == (0, 0, 3)


def test_what_has_no_form_here_is_left_to_the_compiler(monkeypatch):
    monkeypatch.delitem(llvm._PRINTERS, "math.tanh")
    (found,), reasons = computed(lambda x: snp.tanh(x) + 1, X)
    assert reasons == ["no form in LLVM IR: math.tanh"]
    np.testing.assert_allclose(found, np.tanh(X) + 1, atol=1e-6)


def test_the_stage_asm_shows_the_code_that_runs(monkeypatch):
    lowered = stagec.jit(lambda x: snp.tanh(x) + 1).lower(X)
    own = lowered.as_text("asm")
    assert "elements:" in own and linker.EXPORT not in own
    stagec.clear_caches()
    monkeypatch.setattr(machine_code, "_binding", lambda: None)
    assert linker.EXPORT in lowered.as_text("asm")


def test_another_release_of_llvmlite_is_not_used(monkeypatch):
    import llvmlite

    monkeypatch.setattr(llvmlite, "__version__", "0.44.0")
    machine_code._binding.cache_clear()
    try:
        assert computed(lambda x: x + 1, X)[1] == ["llvmlite is not installed, or of a release that was not tested"]
    finally:
        machine_code._binding.cache_clear()


def test_the_tables_are_those_of_the_compiler(monkeypatch):
    """Their version, and the traits of a kernel, in the library that each code generator makes."""
    found = []
    for module, name in ((linker, "library"), (linker, "linked")):
        made = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, made=made: found.append(made(*args)) or found[-1])
    function = lambda x: x * 2 + 1  # noqa: E731
    computed(function, X)
    stagec.clear_caches()
    monkeypatch.setattr(machine_code, "_binding", lambda: None)
    computed(function, X)
    own, compilers = found
    traits = struct.pack("<qhBBiihh", 0, 0, 0, 2, 1, 1, 1, 0)
    assert own.count(traits) == 1 and compilers.count(traits) >= 1
    for library_ in found:
        assert b"kernels\0" in library_ and b"elements\0" in library_


def test_the_processor_is_described_without_what_llvm_does_not_know(capfd):
    computed(lambda x: x * 3, X)
    assert capfd.readouterr().err == ""
    assert library.target  # the compiler's description, from which the features come


@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_a_processor_without_fused_multiply_adds_calls_no_function_for_them(name):
    """Which would take a hundred times as long, and which the direct route does not link."""
    function = FUNCTIONS[name]
    lowered = stagec.jit(lambda x: function(x), target="cpu:x86-64-v2").lower(X[X > 0])
    assembly = lowered.as_text("asm")
    assert "mulps" in assembly and "fma" not in assembly
    found = np.asarray(lowered.compile()(X[X > 0]))
    exact = getattr(np, name)(X[X > 0].astype(np.float64))
    assert (np.abs(found - exact) <= 6 * np.spacing(np.abs(exact).astype(np.float32))).all()


def test_code_is_generated_without_the_reduction_of_addresses_which_others_keep(monkeypatch):
    asked = []
    binding = types.SimpleNamespace(set_option=lambda _, option: asked.append(option))
    monkeypatch.setattr(machine_code, "_binding", lambda: binding)
    machine = types.SimpleNamespace(emit_object=asked.append)
    machine_code._Prepared(machine, "module").emitted("object")
    assert asked == ["-disable-lsr=true", "module", "-disable-lsr=false"]
