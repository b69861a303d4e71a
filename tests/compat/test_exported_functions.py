"""`jax.export` under `stagec.compat`: what JAX reads of stagec's files, and stagec of JAX's, for symbolic shapes."""

from __future__ import annotations

import collections
import os
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax
from stagec.compat import export
from stagec.errors import ArtifactError, DimensionError, DtypeError, PytreeError, ShapeError, UnsupportedError

F32, I32 = np.dtype("float32"), np.dtype("int32")
SIZES = ({"b": 4, "n": 6, "k": 3, "h": 5}, {"b": 3, "n": 2, "k": 1, "h": 3})
Pair = collections.namedtuple("Pair", "u v")
export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")
pytestmark = pytest.mark.usefixtures("untried")


def definite(x: Any) -> Any:
    return x @ x.mT + snp.eye(x.shape[-1], dtype=x.dtype)


def windows(x: Any) -> Any:
    return lax.reduce_window(x, np.float32(0), lax.add, (2, x.shape[0]), (1, 1), "SAME")


def convolved(x: Any) -> Any:
    return (lax.conv_general_dilated(x, np.ones((3, 2, 3, 3), F32), (2, 1), "SAME") ** 2).sum()


def sliced(x: Any, i: Any) -> Any:
    return lax.dynamic_slice(x, (i, 1), (x.shape[0] - 1, 2)), lax.dynamic_update_slice(x, x[1:] * 2, (i, 0))


def special(x: Any) -> Any:
    return lax.erf(x), lax.erf_inv(x * 0.3), lax.lgamma(x), snp.tan(x), snp.arcsinh(x), lax.bessel_i1e(x)


def containers(arguments: Any, i: Any) -> Any:
    x, y = arguments["x"], arguments["y"]
    return {"k": i * 2, "r": Pair(snp.sin(x).sum(1) * i, [y[: x.shape[0] - 1] + i])}


# A function, and the shapes of its arguments: of float32, or of int32 after a colon.
CASES: dict[str, tuple[Any, Any]] = {
    "arithmetic of sizes": (lambda x, y: (x.reshape(-1)[: x.shape[0]], y + x.shape[0] % 3), ("b, 2*b, n", "b//2 + 1")),
    "softmax": (stagec.nn.softmax, ("b, n",)),
    "a layer": (lambda x: stagec.nn.gelu(x @ np.ones((4, 3), F32)) / x.shape[0], ("b, 4",)),
    "statistics": (lambda x: (x.mean(), x.std(0), snp.median(x, 1)), ("b, 5",)),
    "running sums": (lambda x: (snp.cumsum(x, 0), lax.cumsum(x, 1, reverse=True), lax.cummax(x, 0)), ("b, n",)),
    "windows": (windows, ("b, n",)),
    "indices": (lambda x, i: (x[i], x.at[i].add(1.0), x[i, i], x.at[i, i].get(mode="clip")), ("b, n", "k:i")),
    "slices": (sliced, ("n, 4", ":i")),
    "rows": (lambda x: (lax.map(lambda r: r.sum(), x), lax.scan(lambda c, r: (c + r, c * r), x[0] * 0, x)), ("b, n",)),
    "a loop over a size": (lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c * 2 + x[i], x[0]), ("b, n",)),
    "a conditional": (lambda x: lax.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, x), ("b, n",)),
    "sorts": (lambda x: (snp.sort(x, 1), snp.argsort(-x, 0), lax.top_k(x, 2)), ("b, n",)),
    "a convolution": (convolved, ("b, 2, h, h",)),
    "the gradient of a convolution": (stagec.grad(convolved), ("b, 2, h, h",)),
    "padding": (lambda x: (snp.pad(x, ((1, 2), (0, 4))), x[::-1], snp.roll(x, 1, 0)), ("b, n",)),
    "counts": (
        lambda x: (snp.arange(x.shape[0]) * 2, snp.eye(x.shape[0]), snp.linspace(0, 1, 5) * x.shape[1]),
        ("b, n",),
    ),
    "special functions": (special, ("b, n",)),
    "a gradient": (stagec.grad(lambda x: (snp.tanh(x @ x.T) ** 2).mean()), ("b, n",)),
    "products": (lambda x, y: snp.einsum("bij,bjk->ik", x, y), ("b, n, 4", "b, 4, k")),
    "factorizations": (lambda x: (snp.linalg.cholesky(definite(x)), snp.linalg.inv(definite(x))), ("b, 3, 3",)),
    "random numbers": (lambda x: stagec.random.normal(stagec.random.key(0), x.shape), ("b, n",)),
    "reshapes": (lambda x, y: (x.reshape(x.shape[0], -1, 2), y.reshape(-1, 4).sum(1)), ("b, 2*n, 3", "4*b")),
    "indices of a batch": (lambda x, i: stagec.vmap(lambda row, j: row[j])(x, i), ("b, n", "b:i")),
    "containers": (containers, ({"x": "b, 2*b", "y": "b*b//3 + b"}, ":i")),
}
CONSTRAINTS = ["b >= 2", "n >= 2", "h >= 3", "3*n >= b", "k <= b"]


def described(specs: Any) -> Any:
    scope = export.SymbolicScope(CONSTRAINTS)

    def spec(text: str) -> Any:
        shape, _, kind = text.partition(":")
        return stagec.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), I32 if kind else F32)

    return stagec.tree.map(spec, specs)


def values(specs: Any, sizes: dict[str, int]) -> Any:
    rng = np.random.default_rng(0)

    def value(text: str) -> Any:
        shape, _, kind = text.partition(":")
        found = [eval(size, dict(sizes)) for size in shape.split(",") if size]
        return rng.integers(0, 2, found).astype(I32) if kind else rng.standard_normal(found).astype(F32)

    return stagec.tree.map(value, specs)


def exported(name: str) -> export.Exported:
    function, specs = CASES[name]
    return export.export(stagec.jit(function))(*described(specs))


def close(found: Any, wanted: Any) -> None:
    for left, right in zip(stagec.tree.leaves(found), stagec.tree.leaves(wanted), strict=True):
        assert np.shape(left) == np.shape(right)
        np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", CASES)
def test_a_function_that_is_read_again_takes_any_size(name: str) -> None:
    function, specs = CASES[name]
    read = export.deserialize(exported(name).serialize())
    arguments = values(specs, SIZES[0])
    with stagec.disable_jit():  # the program itself, evaluated
        close(read.call(*arguments), function(*stagec.tree.map(snp.asarray, arguments)))


CALLED_BY_JAX = """
import collections, pathlib, pickle, sys
import jax, numpy as np
from jax import export
Pair = collections.namedtuple("Pair", "u v")
export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")
folder = pathlib.Path(sys.argv[1])
for path in sorted(folder.glob("*.stagec")):
    found = export.deserialize(bytearray(path.read_bytes()))
    calls = pickle.loads(path.with_suffix(".calls").read_bytes())
    results = [[np.asarray(x) for x in jax.tree.leaves(found.call(*call))] for call in calls]
    types = [[str(a.dtype), [str(n) for n in a.shape]] for a in (*found.in_avals, *found.out_avals)]
    path.with_suffix(".results").write_bytes(pickle.dumps((results, types)))
first = export.deserialize(bytearray((folder / "derivatives").read_bytes()))
x, i = {"x": np.ones((2, 4), "f"), "y": np.arange(3, dtype="f")}, np.int32(3)
slope = jax.grad(lambda x: first.call(x, i)["r"].u.sum())
outer = export.export(jax.jit(lambda x, i: first.call(x, i)["k"]))
scope = export.SymbolicScope(["q >= 2"])
shapes = [export.symbolic_shape(text, scope=scope) for text in ("q, 2*q", "floordiv(q^2, 3) + q")]
whole = outer({"x": jax.ShapeDtypeStruct(shapes[0], "f"), "y": jax.ShapeDtypeStruct(shapes[1], "f")}, i)
try:
    first.call({"x": np.ones((1, 2), "f"), "y": np.ones(1, "f")}, i)
    message = ""
except Exception as error:
    message = str(error.__cause__)
second = jax.grad(lambda x: slope(x)["x"].sum())(x)["x"]
print(pickle.dumps((slope(x)["x"], np.asarray(second), message, str(whole.out_avals))).hex())
"""


@pytest.fixture(scope="module")
def of_jax(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What JAX, in a process of its own, makes of all cases."""
    pytest.importorskip("jax")
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to read a file")
    folder = tmp_path_factory.mktemp("exported")
    for i, (name, (_, specs)) in enumerate(CASES.items()):
        (folder / f"{i}.stagec").write_bytes(exported(name).serialize())
        (folder / f"{i}.calls").write_bytes(pickle.dumps([values(specs, sizes) for sizes in SIZES]))
    specs = described(({"x": "b, 2*b", "y": "b*b//3 + b"}, ":i"))
    derived = export.export(stagec.jit(containers))(*specs)
    (folder / "derivatives").write_bytes(derived.serialize(vjp_order=2))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", CALLED_BY_JAX, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return folder, pickle.loads(bytes.fromhex(done.stdout))


@pytest.mark.parametrize("name", CASES)
def test_jax_calls_what_stagec_exports(name: str, of_jax: Any) -> None:
    function, specs = CASES[name]
    path = pathlib.Path(of_jax[0]) / f"{list(CASES).index(name)}.results"
    results, types = pickle.loads(path.read_bytes())
    for sizes, found in zip(SIZES, results, strict=True):
        with stagec.disable_jit():
            close(found, function(*stagec.tree.map(snp.asarray, values(specs, sizes))))
    ours = exported(name)
    avals = (*ours.in_avals, *ours.out_avals)
    assert [dtype for dtype, _ in types] == [a.dtype.name for a in avals]
    scope = export.SymbolicScope(CONSTRAINTS)
    for aval, (_, shape) in zip(avals, types):
        assert export.symbolic_shape(", ".join(shape), scope=scope) == aval.shape


def test_jax_differentiates_what_stagec_exports_with_derivatives(of_jax: Any) -> None:
    slope, second, message, outer = of_jax[1]
    x, i = {"x": np.ones((2, 4), F32), "y": np.arange(3, dtype=F32)}, np.int32(3)
    close(slope, stagec.grad(lambda x: containers(x, i)["r"].u.sum())(x)["x"])
    close(second, -np.sin(x["x"]) * 3)
    assert "b is 1, but b >= 2" in message and "int32[]" in outer


CALLED_BY_STAGEC = """
import pathlib, pickle, sys
import jax, jax.numpy as jnp, numpy as np
from jax import export
scope = export.SymbolicScope(["n >= b", "b >= 2"])
b, n = export.symbolic_shape("b, n", scope=scope)
spec = {"x": jax.ShapeDtypeStruct((b, n), "float32"), "y": jax.ShapeDtypeStruct((b * n // 2 + 1,), "int32")}
f = jax.jit(lambda d: (d["x"].reshape(-1)[: b * b], d["y"][:-1].sum() + b))
found = export.export(f, platforms=("cpu", "cuda"))(spec)
pathlib.Path(sys.argv[1]).write_bytes(found.serialize(vjp_order=1))
x = {"x": np.arange(12, dtype="f").reshape(3, 4), "y": np.arange(7, dtype="i4")}
print(pickle.dumps([np.asarray(r) for r in found.call(x)]).hex())
"""


def test_stagec_reads_what_jax_exports(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("flatbuffers", reason="JAX needs flatbuffers to write a file")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", CALLED_BY_STAGEC, str(tmp_path / "file")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=True)
    found = export.deserialize((tmp_path / "file").read_bytes())
    assert [str(a) for a in found.in_avals] == ["float32[b,n]", "int32[(b*n)//2 + 1]"]
    assert str(found.out_avals[0]) == "float32[min(b**2, b*n)]"
    assert found.platforms == ("cpu", "cuda") and found.uses_global_constants
    x = {"x": np.arange(12, dtype=F32).reshape(3, 4), "y": np.arange(7, dtype=I32)}
    close(found.call(x), pickle.loads(bytes.fromhex(done.stdout)))
    assert [a.dtype.name for a in found.vjp().out_avals] == ["float32", "void"]
    again = export.deserialize(found.serialize(vjp_order=1))
    close(again.call(x), found.call(x))
    with pytest.raises(UnsupportedError, match="n >= b"):
        found.call({"x": np.zeros((3, 2), F32), "y": np.zeros(4, I32)})


def test_attributes_say_what_was_exported() -> None:
    specs = described(({"x": "b, 2*b", "y": "b*b//3 + b"}, ":i"))
    made = export.export(stagec.jit(containers), disabled_checks=[export.DisabledSafetyCheck.custom_call("f")])(*specs)
    read = export.deserialize(made.serialize())
    for found in (made, read):
        assert found.fun_name == "containers" and found.platforms == ("cpu",) and found.nr_devices == 1
        assert found.in_tree == stagec.tree.structure((({"x": 0, "y": 0}, 0), {}))
        assert found.out_tree == stagec.tree.structure({"k": 0, "r": Pair(0, [0])})
        assert [a.short() for a in found.out_avals] == ["i32[]", "f32[b]", "f32[b - 1]"]
        assert found.disabled_safety_checks[0].is_custom_call() == "f"
        assert "stablehlo.get_dimension_size" in found.mlir_module()
        assert found.calling_convention_version == export.maximum_supported_calling_convention_version
    assert made.has_vjp() and not read.has_vjp()
    with pytest.raises(ValueError, match="serialized without its derivative"):
        read.vjp()


def test_derivatives_are_exported_too() -> None:
    made = exported("containers")
    x, i = {"x": np.ones((2, 4), F32), "y": np.arange(3, dtype=F32)}, np.int32(3)
    nothing = np.zeros((), stagec.dtypes.float0)
    found = made.vjp().call(x["x"], x["y"], i, nothing, np.ones(2, F32), np.ones(1, F32))
    close(found[0], np.cos(x["x"]) * 3)
    close(found[1], np.array([1, 0, 0]))
    assert found[2].dtype == stagec.dtypes.float0
    close(stagec.grad(lambda x: made.call(x, i)["r"].u.sum())(x)["x"], found[0])


def test_several_platforms_and_known_shapes_are_exported() -> None:
    x = snp.arange(6.0).reshape(2, 3)
    for platforms in (None, ("cpu", "cuda"), ("cuda", "cpu")):
        made = export.export(stagec.jit(snp.sin), platforms=platforms)(x)
        close(export.deserialize(made.serialize()).call(x), np.sin(x))
        assert made.uses_global_constants is (platforms is not None)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (({"x": np.ones((2, 5), F32), "y": np.ones(4, F32)}, np.int32(1)), DimensionError, "its dimension is 2"),
        (({"x": np.ones((2, 4), F32), "y": np.ones((4, 1), F32)}, np.int32(1)), ShapeError, "another shape"),
        (({"x": np.ones((2, 4), I32), "y": np.ones(4, F32)}, np.int32(1)), DtypeError, "another dtype"),
        (({"x": np.ones((1, 2), F32), "y": np.ones(3, F32)}, np.int32(1)), DimensionError, "b = 1, but b >= 2"),
        (({"x": np.ones((2, 4), F32)}, np.int32(1)), PytreeError, "no key 'y'"),
        (({"x": np.ones((8, 16), F32), "y": np.ones(10, F32)}, np.int32(1)), DimensionError, r"-b \+ 3\*n >= 0"),
    ],
)
def test_arguments_of_other_types_are_refused(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        export.export(stagec.jit(containers))(*described(({"x": "b, 2*b", "y": "n + b"}, ":i"))).call(*call)


def test_what_cannot_be_exported_is_refused() -> None:
    x = snp.ones(3)
    with pytest.raises(ValueError, match=r"pass jax\.jit"):
        export.export(snp.sin)
    with pytest.raises(UnsupportedError, match="calls a Python function"):
        export.export(stagec.jit(lambda x: stagec.debug.print("{}", x)))(x)
    with pytest.raises(ArtifactError, match=r"no function of jax\.export"):
        export.deserialize(b"something else")
    unknown = collections.namedtuple("unknown", "a")
    with pytest.raises(ValueError, match="is not registered for serialization"):
        export.export(stagec.jit(unknown))(x).serialize()
    with pytest.raises(TypeError, match=r"files of jax\.export hold texts"):
        export.export(stagec.jit(lambda x: {1: x}))(x).serialize()
    with pytest.raises(UnsupportedError, match=r"files of jax\.export do not hold"):
        export.export(stagec.jit(lambda key: 1))(stagec.random.key(0)).serialize()
    with pytest.raises(DimensionError, match="do not say what b is"):
        export.export(stagec.jit(lambda x: x))(stagec.ShapeDtypeStruct(export.symbolic_shape("b*n"), F32))
    damaged = export.export(stagec.jit(lambda x: Pair(x, x)))(x).serialize().replace(b'["u", "v"]', b'["u", !v"]')
    with pytest.raises(ArtifactError, match=r"data of tests\.Pair that cannot be read"):
        export.deserialize(damaged)
    with pytest.raises(ValueError, match="is not registered as a pytree"):
        export.register_pytree_node_serialization(
            bytes, serialized_name="bytes", serialize_auxdata=bytes, deserialize_auxdata=bytes
        )
    with pytest.raises(ValueError, match="is registered for serialization already"):
        export.register_namedtuple_serialization(Pair, serialized_name="Another")
    with pytest.raises(ValueError, match="give the constraints to the scope"):
        export.symbolic_shape("b", constraints=["b >= 2"], scope=export.SymbolicScope())


def test_classes_are_read_by_the_functions_that_were_registered() -> None:
    class Holder:
        def __init__(self, x: Any, name: str) -> None:
            self.x, self.name = x, name

    stagec.tree_util.register_pytree_node(Holder, lambda h: ((h.x,), h.name), lambda name, xs: Holder(xs[0], name))
    export.register_pytree_node_serialization(
        Holder, serialized_name="Holder", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode
    )
    function = stagec.jit(lambda h: (Holder(h.x * 2, "out"), collections.OrderedDict(b=h.x, a=1.0)))
    made = export.export(function)(Holder(snp.ones(2), "in"))
    found, ordered = export.deserialize(made.serialize()).call(Holder(snp.ones(2), "in"))
    assert found.name == "out" and found.x.tolist() == [2, 2] and list(ordered) == ["b", "a"]


def test_arguments_are_described_by_a_prefix_of_texts() -> None:
    arguments = ({"a": np.ones((4, 3)), "b": np.ones((4, 5))}, np.ones(4, I32))
    specs = export.symbolic_args_specs(arguments, ({"a": "b, _", "b": "b, ..."}, "b"), constraints=["b >= 4"])
    assert [spec.shape[1:] for spec in stagec.tree.leaves(specs)] == [(3,), (5,), ()]
    assert export.symbolic_dim_bounds(2 * specs[1].shape[0]) == (8, np.inf)
    assert all(spec.shape[0] >= 4 for spec in stagec.tree.leaves(specs)) and specs[1].dtype == I32
    assert export.symbolic_args_specs(arguments, [None, "n"])[0]["a"].shape == (4, 3)
