"""Names that do not exist: what they are called elsewhere, what there is instead, where the list is."""

import importlib
import operator
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn
from stagec.core import missing
from stagec.errors import MissingNameError

DOCS = pathlib.Path(stagec.__file__).parent.parent / "docs"
MODULES = {
    name: importlib.import_module(name)
    for name in "stagec stagec.numpy stagec.numpy.linalg stagec.lax stagec.nn stagec.tree_util stagec.debug".split()
}


def missed(somewhere, name):
    with pytest.raises(MissingNameError) as caught:
        operator.attrgetter(name)(somewhere[0])
    text = str(caught.value)
    assert "test_missing_names.py:" in text
    return text


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_where_its_list_is(name):
    text = missed([MODULES[name]], "frobnicate")
    assert text.startswith(f"module {name!r} has no attribute 'frobnicate'")
    page = re.search(rf"(docs/\S+) lists what `{re.escape(name)}` has", text)[1]
    assert (DOCS.parent / page).exists()


@pytest.mark.parametrize(
    ("owner", "name", "expected"),
    [
        (snp, "row_stack", "use snp.vstack(arrays)"),
        (snp, "in1d", "use snp.isin(x, values)"),
        (snp, "sine", "did you mean snp.sin"),
        (snp, "arsinh", "snp.arcsin? docs/reference/numpy.md lists"),
        (snp, "argsrt", "did you mean snp.argsort"),
        (snp, "relu", "use nn.relu"),
        (snp, "vmap", "use stagec.vmap"),
        (snp, "unsqueeze", "use snp.expand_dims(x, axis)"),
        (snp, "cat", "use snp.concatenate(arrays)"),
        (snp, "t", "use x.T"),
        (snp, "random", "use the functions of stagec.random"),
        (snp, "segment_sum", "use stagec.ops.segment_sum"),
        (stagec, "from_numpy", "use snp.array(values)"),
        (lax, "unsqueeze", "use snp.expand_dims(x, axis)"),
        (snp, "busday_count", "elsewhere  numpy.busday_count"),
        (snp.linalg, "norms", "did you mean snp.linalg.norm"),
        (lax, "where", "use snp.where"),
        (lax, "psend", "elsewhere  jax.lax.psend"),
        (nn, "scaled_dot_general", "elsewhere  jax.nn.scaled_dot_general"),
        (nn, "softmx", "did you mean nn.softmax"),
        (stagec, "jitt", "did you mean stagec.jit"),
        (stagec, "relu", "use nn.relu"),
        (snp.ones(2), "exp", "use snp.exp(x)"),
        (snp.ones(2), "softmax", "use nn.softmax(x)"),
        (snp.ones(2), "unsqueeze", "use snp.expand_dims(x, axis)"),
        (snp.ones(2), "numel", "use x.size"),
        (snp.ones(2), "add_", "arrays are immutable; use snp.add, which returns a new one"),
        (snp.ones(2), "fill", "use snp.full_like(x, value)"),
        (snp.ones(2), "fill", "elsewhere  numpy.ndarray.fill"),
        (snp.ones(2), "to_numpy", "use np.asarray(x)"),
        (snp.ones(2), "reshpe", "did you mean x.reshape"),
    ],
)
def test_what_there_is_instead_is_named(owner, name, expected):
    assert expected in missed([owner], name)


def test_modules_that_users_do_not_import_are_not_proposed():
    assert "snp.constants" not in missed([snp], "constans")
    assert "did you mean snp.linalg" in missed([snp], "linlag")


def test_methods_of_tracers_are_missed_with_the_argument():
    with pytest.raises(MissingNameError, match="argument x of <lambda>") as caught:
        stagec.jit(lambda x: x.exp())(1.0)
    assert "use snp.exp(x)" in str(caught.value)


def test_an_import_of_a_missing_name_says_the_same():
    with pytest.raises(ImportError, match=r"use snp\.vstack\(arrays\)") as caught:
        from stagec.numpy import row_stack  # noqa: F401
    assert caught.value.name == "row_stack"
    with pytest.raises(ImportError, match=r"jax\.transfer_guard"):
        from stagec import transfer_guard  # noqa: F401


def test_whether_a_name_exists_can_be_asked():
    assert not hasattr(snp, "row_stack")
    assert not hasattr(stagec, "frobnicate")
    assert not hasattr(snp.ones(2), "exp")
    assert getattr(snp, "row_stack", None) is None


def test_private_names_are_missed_in_few_words():
    with pytest.raises(AttributeError, match=r"^module 'stagec.numpy' has no attribute '__path_of__'$"):
        snp.__path_of__  # noqa: B018
    with pytest.raises(AttributeError, match=r"^'Array' object has no attribute '_private'$"):
        snp.ones(2)._private  # noqa: B018


X = snp.array([3.0, 1.0, 2.0])
M = snp.ones((2, 3))


# What the table says in words, done. `x` is an array, `numpy` is NumPy.
ADVISED = {
    "use stagec.tree.map(f, tree)": lambda: stagec.tree.map(abs, [X]),
    "use stagec.tree.leaves(tree)": lambda: stagec.tree.leaves([X]),
    "call Python functions with stagec.pure_callback": lambda: stagec.pure_callback(abs, X, X),
    "use stagec.numpy.all(x)": lambda: snp.all(X),
    "use stagec.numpy.asarray(x)": lambda: snp.asarray(X),
    "use stagec.numpy.asarray(x), which is in row-major order always": lambda: snp.asarray(X),
    "arrays are immutable; use stagec.numpy.where, or x.at[index].set(value)": lambda: (
        snp.where(X > 1, X, 0),
        X.at[X > 1].set(0),
    ),
    "use stagec.numpy.float32": lambda: snp.float32(1),
    "use stagec.numpy.isin(x, values)": lambda: snp.isin(X, X[:1]),
    "use stagec.numpy.int32": lambda: snp.int32(1),
    "use stagec.numpy.sort(x, axis=0)": lambda: snp.sort(X, axis=0),
    "use stagec.numpy.prod(x)": lambda: snp.prod(X),
    "use stagec.numpy.round(x)": lambda: snp.round(X),
    "use stagec.numpy.vstack(arrays)": lambda: snp.vstack([X, X]),
    "use stagec.numpy.any(x)": lambda: snp.any(X),
    "use stagec.numpy.int2 or uint2, or bool": lambda: (snp.int2(1), snp.uint2(1), snp.array([1], bool)),
    "use stagec.numpy.trapezoid(y)": lambda: snp.trapezoid(X),
    "arrays are immutable; stagec.numpy.append(x, values) makes a new one": lambda: snp.append(X, X),
    "use numpy.asarray(x)": lambda: np.asarray(X),
    "use stagec.lax.stop_gradient(x)": lambda: lax.stop_gradient(X),
    "arrays are immutable; use stagec.numpy.full_like(x, value)": lambda: snp.full_like(X, 7),
    "use stagec.vmap(f)(x)": lambda: stagec.vmap(abs)(X),
    "arrays are immutable; use x.at[index].set(value)": lambda: X.at[0].set(1),
    "arrays are immutable; use stagec.numpy.resize(x, shape)": lambda: snp.resize(X, (2, 2)),
    "use x.astype(dtype), or stagec.device_put(x, device)": lambda: (X.astype(int), stagec.device_put(X, "cpu")),
    "use x.astype(bool)": lambda: X.astype(bool),
    "use x.astype(float)": lambda: X.astype(float),
    "use x.astype('float16')": lambda: X.astype("float16"),
    "use x.astype(int)": lambda: X.astype(int),
    "use x.astype(dtype)": lambda: X.astype("int32"),
    # Names of PyTorch and TensorFlow.
    "use stagec.numpy.array(values)": lambda: snp.array([1, 2]),
    "take derivatives with stagec.grad(loss)(params)": lambda: stagec.grad(lambda x: x.sum())(X),
    "make a key with stagec.random.key(seed), and pass it to the functions of stagec.random": lambda: (
        stagec.random.normal(stagec.random.key(0))
    ),
    "take layers and optimizers from a library for JAX, as docs/how-to/run-jax-code.md shows": lambda: (
        DOCS / "how-to" / "run-jax-code.md"
    ).read_text(),
    "use stagec.numpy.matmul(x, y)": lambda: snp.matmul(M, M.T),
    "use stagec.numpy.concatenate(arrays)": lambda: snp.concatenate([X, X]),
    "use stagec.numpy.array_split(x, n)": lambda: snp.array_split(X, 2),
    "use stagec.numpy.clip(x, low, high)": lambda: snp.clip(X, 1, 2),
    "use stagec.numpy.copy(x)": lambda: snp.copy(X),
    "leave it out: arrays are in row-major order always": None,
    "use stagec.device_put(x, device)": lambda: stagec.device_put(X, "cpu"),
    "use x.ndim": lambda: X.ndim,
    "use stagec.numpy.divide(x, y)": lambda: snp.divide(X, 2),
    "use stagec.numpy.broadcast_to(x, shape)": lambda: snp.broadcast_to(X, (2, 3)),
    "use stagec.numpy.ravel(x)": lambda: snp.ravel(M),
    "use stagec.numpy.floor_divide(x, y)": lambda: snp.floor_divide(X, 2),
    "use stagec.numpy.take_along_axis(x, indices, axis)": lambda: snp.take_along_axis(X, snp.array([0, 2]), 0),
    "use stagec.numpy.float16": lambda: snp.float16(1),
    "use stagec.numpy.take(x, indices, axis)": lambda: snp.take(M, snp.array([0, 2]), 1),
    "use stagec.nn.standardize(x, axis=-1)": lambda: nn.standardize(M, axis=-1),
    "use stagec.lax.map(f, xs)": lambda: lax.map(abs, X),
    "use stagec.numpy.where(mask, value, x)": lambda: snp.where(X > 1, 0, X),
    "use stagec.numpy.multiply(x, y)": lambda: snp.multiply(X, 2),
    "use stagec.lax.dynamic_slice_in_dim(x, start, size, axis)": lambda: lax.dynamic_slice_in_dim(X, 1, 2, 0),
    "use stagec.numpy.negative(x)": lambda: snp.negative(X),
    "leave it out: stagec.grad alone takes derivatives, and stagec.lax.stop_gradient(x) leaves one out": lambda: (
        lax.stop_gradient(X)
    ),
    "use x.size": lambda: X.size,
    "use stagec.numpy.transpose(x, axes)": lambda: snp.transpose(M, (1, 0)),
    "use stagec.random.uniform(key, shape)": lambda: stagec.random.uniform(stagec.random.key(0), (2,)),
    "use stagec.random.normal(key, shape)": lambda: stagec.random.normal(stagec.random.key(0), (2,)),
    "use the functions of stagec.random, which take a key": lambda: stagec.random.normal(stagec.random.key(0)),
    "use stagec.numpy.max(x, axis)": lambda: snp.max(M, 1),
    "use stagec.numpy.mean(x, axis)": lambda: snp.mean(M, 1),
    "use stagec.numpy.min(x, axis)": lambda: snp.min(M, 1),
    "use stagec.numpy.prod(x, axis)": lambda: snp.prod(M, 1),
    "use stagec.numpy.sum(x, axis)": lambda: snp.sum(M, 1),
    "use stagec.numpy.repeat(x, n)": lambda: snp.repeat(X, 2),
    "use stagec.numpy.subtract(x, y)": lambda: snp.subtract(X, 2),
    "use x.T": lambda: M.T,
    "use stagec.lax.top_k(x, k)": lambda: lax.top_k(X, 2),
    "use stagec.numpy.unstack(x)": lambda: snp.unstack(X),
    "use stagec.numpy.expand_dims(x, axis)": lambda: snp.expand_dims(X, 0),
    "use stagec.numpy.reshape(x, shape)": lambda: snp.reshape(M, (3, 2)),
}


def test_every_advice_of_the_table_is_tried_here():
    given = {text for table in [*missing._INSTEAD.values(), missing._OF_TENSORS] for text in table.values()}
    assert given == set(ADVISED)


@pytest.mark.parametrize("advice", [text for text, use in ADVISED.items() if use is not None])
def test_what_the_table_advises_works(advice):
    ADVISED[advice]()


def test_arrays_go_through_numpys_files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert snp.asarray(np.load(tmp_path / "x.npy")).tolist() == X.tolist()


def test_what_the_table_replaces_does_not_exist():
    owners = {"stagec": stagec, "stagec.numpy": snp, "Array": X}
    for owner, table in missing._INSTEAD.items():
        assert [name for name in table if hasattr(owners[owner], name)] == []


def test_an_update_that_is_not_there_says_which_are():
    with pytest.raises(stagec.errors.MissingNameError, match=r"did you mean x.at\[i\].set\?") as caught:
        X.at[0].st(1)
    assert "there are get, set, add" in str(caught.value)
    with pytest.raises(AttributeError):
        X.at[0].__array_interface__  # noqa: B018


def test_the_names_of_jax_exist_there_and_not_here():
    jax = pytest.importorskip("jax")
    code = (
        "import importlib, sys, jax, stagec\n"
        "from stagec.core import missing\n"
        "for module, names in missing._JAX.items():\n"
        "    here = importlib.import_module(module)\n"
        "    there = importlib.import_module(module.replace('stagec', 'jax'))\n"
        "    for name in names.split():\n"
        "        if hasattr(here, name): print('here:', module, name)\n"
        "        if not hasattr(there, name):\n"
        "            try: importlib.import_module(there.__name__ + '.' + name)\n"
        "            except ImportError: print('not in JAX:', there.__name__, name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "", jax.__version__
