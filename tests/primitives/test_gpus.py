"""The primitive table on other devices than the CPU: right, or refused before anything is compiled.

Vulkan runs on Mesa's lavapipe where there is no GPU. `python -m pytest -m gpu` runs what needs a CUDA or ROCm device.
STAGEC_ALL_CASES=1 takes every case instead of one of each row, for ROCm of each third row.
Programs are compiled together: each further one costs much less than a program of its own.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from cases import Case
from comparison import differences
from platforms import first_device
from test_registry import bundles

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.backends import Target
from stagec.compiler import build
from stagec.core.aval import ShapedArray
from stagec.core.primitive import Primitive
from stagec.core.recording import trace_flat

DEVICES = ["vulkan", pytest.param("cuda", marks=pytest.mark.gpu), pytest.param("rocm", marks=pytest.mark.gpu)]
# Compiled for where there is none, and what a kernel's code begins with.
TARGETS = ["cuda:sm_80", "rocm:gfx942"]
KERNELS = {"cuda": rb"\.version [^\0]*", "rocm": rb"\x7fELF"}
SIZE = 20


@pytest.fixture
def device(request: pytest.FixtureRequest) -> str:
    first_device(request.param)
    return request.param


on_devices = pytest.mark.parametrize("device", DEVICES, indirect=True)


def _name(bundle: list[Case]) -> str:
    return f"{bundle[0].name}..{bundle[-1].name}"


def _call(case: Case, args: Any) -> list[Any]:
    out = Primitive.registry[case.name](*args, **case.params)
    return list(out) if Primitive.registry[case.name].multiple else [out]


def _slack(case: Case, expected: Any) -> float:
    """What a cancelling part of a complex number may be off: drivers round `a * b - c * d` once or twice."""
    if expected.dtype.kind != "c":
        return case.atol
    size = np.abs(expected[np.isfinite(expected)])
    return max(case.atol, 8 * float(np.finfo(expected.dtype).eps) * float(size.max(initial=0)))


@on_devices
@pytest.mark.parametrize("bundle", bundles(1, SIZE), ids=_name)
def test_the_table_agrees_with_numpy(device: str, bundle: list[Case]) -> None:
    run = stagec.jit(lambda arguments: [_call(c, a) for c, a in zip(bundle, arguments)], device=device)
    wrong = []
    with stagec.enable_x64():
        for case, results in zip(bundle, run([list(c.args) for c in bundle])):
            wrong += differences(case, [r.numpy() for r in results], _slack)
    assert wrong == []


def _compile(function: Any, avals: list[ShapedArray], target: str) -> bytes:
    def flat(*values: Any) -> list[Any]:
        return stagec.tree.leaves(function(*values))

    graph, captured = trace_flat(flat, avals, [""] * len(avals), "program")
    assert not captured
    return build.compile_graph(graph, build.ProgramOptions(Target.parse(target)), "program")[0]


def _check_kernels(module: bytes, target: str, folder: pathlib.Path) -> None:
    """A module has kernels, and NVIDIA's assembler takes those for CUDA."""
    backend = Target.parse(target).backend
    kernels = re.findall(KERNELS[backend], module)
    assert kernels
    if backend == "cuda":
        _assemble(kernels, folder)


def _assemble(kernels: list[bytes], folder: pathlib.Path) -> None:
    """Run the assembler of a CUDA toolkit, or of the package nvidia-cuda-nvcc."""
    packages = importlib.util.find_spec("nvidia")
    places = [f"{place}/cuda_nvcc/bin" for place in (packages.submodule_search_locations or ())] if packages else []
    assembler = shutil.which("ptxas", path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    if not assembler:
        pytest.skip("compiled, but not assembled: no ptxas here (pip install nvidia-cuda-nvcc-cu12 has it)")
    for i, kernel in enumerate(kernels):
        (folder / f"{i}.ptx").write_bytes(kernel)
        for card in ("sm_80", "sm_90"):
            command = [assembler, "-O1", f"-arch={card}", f"{i}.ptx", "-o", f"{i}.cubin"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


def _on_targets(parts: list[list[Case]]) -> list[Any]:
    """All parts for CUDA; for ROCm, whose kernels take the same way through the compiler, a third of them."""
    sample = slice(None) if os.environ.get("STAGEC_ALL_CASES") else slice(None, None, 3)
    rows = [(target, part) for target in TARGETS for part in (parts if target == TARGETS[0] else parts[sample])]
    return [pytest.param(target, part, id=f"{_name(part)}-{target}") for target, part in rows]


@pytest.mark.parametrize(("target", "bundle"), _on_targets(bundles(1, SIZE)))
def test_the_table_compiles_without_a_device(bundle: list[Case], target: str, tmp_path: pathlib.Path) -> None:
    def program(*values: Any) -> list[Any]:
        rest = iter(values)
        return [r for c in bundle for r in _call(c, [next(rest) for _ in c.args])]

    with stagec.enable_x64():
        avals = [ShapedArray.of(np.shape(a), np.asarray(a).dtype) for c in bundle for a in c.args]
        _check_kernels(_compile(program, avals, target), target, tmp_path)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("target", ["vulkan:portable", "vulkan:valhall2", "vulkan:mali-g78"])
def test_a_dtype_that_the_target_lacks_is_refused_before_compiling(dtype: str, target: str, compiles: Any) -> None:
    def loss(x: Any) -> Any:
        return lax.add(x, x)

    with stagec.enable_x64(), compiles() as made, pytest.raises(stagec.errors.UnsupportedError) as caught:
        _compile(loss, [ShapedArray.of((3,), np.dtype(dtype))], target)
    text = str(caught.value)
    assert made == []
    assert f"add of {dtype} does not exist on {target}, which has no 64-bit floats" in text
    assert "test_gpus.py" in text and "return lax.add(x, x)" in text
    assert f"operand 0  {dtype}[3]" in text and "Fix: compute in float32" in text


def test_the_line_inside_a_loop_is_named() -> None:
    def program(x: Any) -> Any:
        return lax.scan(lambda c, _: (snp.tanh(c.astype("float64")).astype("float32"), None), x, None, length=3)[0]

    with stagec.enable_x64(), pytest.raises(stagec.errors.UnsupportedError, match=r"convert_element_type of float64"):
        _compile(program, [ShapedArray.of((), np.dtype("float32"))], "vulkan:portable")


@on_devices
def test_float32_functions_need_no_float64(device: str) -> None:
    if device != "vulkan":
        pytest.skip("only Vulkan has devices without float64")
    x = np.linspace(0.1, 40, 64, dtype=np.float32)
    far = x.copy()
    far[::13] = [1e9, -1e10, 1e20, 16367173 * 2.0**72, 1e38]
    calls = {name: [far] for name in ("sin", "cos", "tan")}
    calls |= {name: [x] for name in ("cbrt", "log1p", "expm1", "exp")}
    calls |= {name: [x, np.float32([1.5, -0.5] * 32)] for name in ("pow", "rem")}
    with stagec.config.override(target="vulkan:portable"):
        found = stagec.jit(lambda v: {n: Primitive.registry[n](*a) for n, a in v.items()}, device=device)(calls)
    for name, args in calls.items():
        expected = Primitive.registry[name].eval(*[a.astype(np.float64) for a in args])
        np.testing.assert_allclose(np.asarray(found[name]), expected, rtol=2e-6, atol=2e-7, err_msg=name)


def _step(w: Any, x: Any, y: Any) -> Any:
    """A step of gradient descent, the gradient written out."""
    hidden = snp.tanh(x @ w[0])
    ct = (stagec.nn.softmax(hidden @ w[1]) - y) / len(x)
    ct_hidden = (ct @ w[1].T) * (1 - hidden * hidden)
    return w[0] - 0.1 * (x.T @ ct_hidden), w[1] - 0.1 * (hidden.T @ ct)


def _normalized(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / snp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def _data(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


PROGRAMS: dict[str, tuple[Any, list[Any]]] = {
    "softmax": (lambda x: stagec.nn.softmax(x), [_data(64, 96)]),
    "layer norm": (_normalized, [_data(33, 65)]),
    "training step": (
        _step,
        [[_data(7, 16), _data(16, 4)], _data(12, 7), np.eye(4, dtype=np.float32)[np.arange(12) % 4]],
    ),
    "gather and scatter": (
        lambda x, i: (x[i], snp.zeros((9, 3)).at[i].add(x[i])),
        [_data(9, 3), np.array([8, 0, 0, 3])],
    ),
    "sort": (lambda x: (snp.sort(x), snp.argsort(x, axis=0), snp.sort(x.ravel())), [_data(40, 30)]),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), [_data(5)]),
    "while": (lambda x: lax.while_loop(lambda v: v.sum() < 1000, lambda v: v * 1.5, x), [abs(_data(5))]),
    "scan": (lambda x: lax.scan(lambda c, v: (snp.tanh(c + v), c * v), x[0], x), [_data(20, 8)]),
}


def _run_programs(args: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: PROGRAMS[name][0](*values) for name, values in args.items()}


ARGUMENTS = {name: args for name, (_, args) in PROGRAMS.items()}


@pytest.mark.parametrize(("target", "names"), [(TARGETS[0], list(PROGRAMS)), (TARGETS[1], list(PROGRAMS)[::3])])
def test_whole_programs_compile_without_a_device(target: str, names: list[str], tmp_path: pathlib.Path) -> None:
    leaves, structure = stagec.tree.flatten({name: ARGUMENTS[name] for name in names})
    avals = [ShapedArray.of(np.shape(a), np.asarray(a).dtype) for a in leaves]
    _check_kernels(_compile(lambda *a: _run_programs(structure.unflatten(a)), avals, target), target, tmp_path)


@on_devices
def test_whole_programs_agree_with_the_cpu(device: str) -> None:
    expected, actual = (stagec.jit(_run_programs, device=d)(ARGUMENTS) for d in ("cpu", device))
    for name in PROGRAMS:
        for e, a in zip(stagec.tree.leaves(expected[name]), stagec.tree.leaves(actual[name]), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=2e-5, atol=2e-6, err_msg=name)


def _edges(dtype: str, size: int) -> list[Any]:
    info = np.iinfo(dtype)
    edges = np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.max // 2 + 1, 100, info.min + 1], dtype)
    return [np.resize(v.ravel(), size) for v in np.meshgrid(edges, edges)]


@on_devices
@pytest.mark.parametrize("size", [121, 256])
def test_division_is_right_for_every_shape_of_vector(device: str, size: int) -> None:
    pairs = {dtype: _edges(dtype, size) for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64")}
    with stagec.enable_x64():
        run = stagec.jit(lambda v: {d: (lax.div(*xy), lax.rem(*xy)) for d, xy in v.items()}, device=device)
        found = run(pairs)
    for dtype, xy in pairs.items():
        for name, actual in zip(("div", "rem"), found[dtype]):
            with np.errstate(all="ignore"):
                expected = Primitive.registry[name].eval(*xy)
            np.testing.assert_array_equal(np.asarray(actual), expected, err_msg=f"{name} of {dtype}")
