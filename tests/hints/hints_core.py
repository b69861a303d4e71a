"""Hints of traces, arrays, pytrees, dtypes and devices."""

# ruff: noqa: E501

import collections
import dataclasses

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import dtypes, tree, tree_util

V = snp.array([3.0, 1.0, 2.0])
P = snp.array([2, 0, 1])
MODULE = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n  return %x : tensor<3xf32>\n}"


def cyclic():
    found = [V]
    found.append(found)
    return found


def deep(levels):
    found = V
    for _ in range(levels):
        found = [found]
    return found


@dataclasses.dataclass
class Point:
    x: float
    y: float


class Plain:
    pass


class Data:
    def __init__(self, x, data):
        self.x, self.data = x, data


tree_util.register_pytree_node(Data, lambda d: ((d.x,), d.data), lambda data, children: Data(children[0], data))


def give(x, data):
    return tree.structure(Data(x, data))


def only(platforms, backend):
    with stagec.config.override(platforms=platforms):
        return stagec.devices(backend)


class Foreign:
    """An array of another library."""

    dtype, shape = np.dtype("float32"), (2,)

    def __array__(self, dtype=None, copy=None):
        return np.ones(2, np.float32)


class Frame:
    """A table of another library."""

    def to_numpy(self):
        return np.ones(2, np.float32)


def donated():
    x = V + 1
    stagec.jit(lambda x: x * 2, donate_argnums=0)(x)
    return x


def registered():
    class Custom:
        def __init__(self, x):
            self.x = x

    tree_util.register_pytree_node(Custom, lambda c: ((c.x,), None), lambda _, children: Custom(*children))
    return stagec.jit(lambda c: c.x + 1)(Custom(1.0))


as_passed = stagec.jit(lambda x, y=None: y)
mode_static = stagec.jit(lambda x, mode: x if mode == "up" else -x, static_argnames="mode")

CASES = [
    (
        "pass str(module) of an MLIR module, exported.serialize() of jax.export, or a path",
        lambda: stagec.from_stablehlo(5),
        lambda: stagec.from_stablehlo(MODULE),
    ),
    # Arrays.
    (
        "check the size before indexing",
        lambda: snp.ones((0, 3))[0],
        lambda: [x[0] for x in (snp.ones((0, 3)), V) if x.size],
    ),
    ("wrap the list in snp.array", lambda: V + [1.0, 2.0, 3.0], lambda: V + snp.array([1.0, 2.0, 3.0])),
    ("pass arrays or numbers", lambda: V + {"a": 1}, lambda: V + 1),
    (
        "x = x.at[index].set(value) gives a new array; under jit it is done in place",
        lambda: V.__setitem__(0, 1),
        lambda: stagec.jit(lambda x: x.at[0].set(1))(V),
    ),
    ("use x.size, which is 1", lambda: len(V[0]), lambda: V[0].size),
    (
        "format its elements, x.tolist(), or the whole with np.array2string(x, precision=3)",
        lambda: f"{V:.3f}",
        lambda: ([f"{v:.3f}" for v in V.tolist()], np.array2string(V, precision=3)),
    ),
    (
        "arrays cannot be static arguments or dictionary keys; pass x.item() or x.tobytes()",
        lambda: hash(V),
        lambda: {V[0].item(): 1, V.tobytes(): 2},
    ),
    ("convert it with int(x)", lambda: [1, 2][V[1]], lambda: [1, 2][int(V[1])]),
    ("use x.any() or x.all()", lambda: bool(V), lambda: (bool(V.any()), bool(V.all()))),
    (
        "write (0 < V) & (V < 1); use x.any() or x.all()",
        lambda: 0 < V < 1,
        lambda: ((V > 0) & (V < 1)).any(),
    ),
    ("use snp.maximum(x, y)", lambda: max(V, 0), lambda: snp.maximum(V, 0)),
    (
        "index it, as in x[0], or use x.item() where it has one element",
        lambda: float(V),
        lambda: (float(V[0]), V[:1].item()),
    ),
    (
        "pass max_version=(1, 0), or let it copy",
        lambda: V.__dlpack__(copy=False),
        lambda: (V.__dlpack__(max_version=(1, 0)), V.__dlpack__()),
    ),
    ("leave copy=False out, and get a copy", lambda: V.__array__(np.int32, copy=False), lambda: V.__array__(np.int32)),
    (
        "use the result of that call instead, or do not donate the argument (donate_argnums)",
        lambda: donated() + 1,
        lambda: stagec.jit(lambda x: x * 2)(V) + 1,
    ),
    ("use snp.array or snp.asarray", lambda: stagec.Array(V), lambda: (snp.array(V), snp.asarray(V))),
    (
        "pass one of stagec.devices()",
        lambda: stagec.device_put(V, 3),
        lambda: stagec.device_put(V, stagec.devices()[0]),
    ),
    ("use one of cpu:0", lambda: stagec.device_put(V, "cpu:7"), lambda: stagec.device_put(V, "cpu:0")),
    ("use one of cpu, vulkan, rocm, cuda", lambda: stagec.devices("abacus"), lambda: stagec.devices("cpu")),
    ("add vulkan to the list", lambda: only("cpu", "vulkan"), lambda: only("cpu,vulkan", "cpu")),
    # Arguments.
    ("convert it with np.asarray(x)", lambda: as_passed(Foreign()), lambda: as_passed(np.asarray(Foreign()))),
    ("convert it with x.to_numpy()", lambda: as_passed(Frame()), lambda: as_passed(Frame().to_numpy())),
    (
        "convert it with x['d'].to_numpy()",
        lambda: as_passed({"d": Frame()}),
        lambda: as_passed({"d": Frame().to_numpy()}),
    ),
    ("convert it with x.to_numpy()", lambda: snp.sum(Frame()), lambda: snp.sum(Frame().to_numpy())),
    (
        "pass it as a static argument, static_argnames='mode'",
        lambda: stagec.jit(lambda x, mode: x if mode == "up" else -x)(1.0, "up"),
        lambda: mode_static(1.0, "up"),
    ),
    (
        "take it out of params, whose leaves are arrays, and pass it as a static argument",
        lambda: stagec.jit(lambda params: params["x"])({"x": V, "mode": "up"}),
        lambda: mode_static({"x": V}["x"], "up"),
    ),
    (
        "make an array of it, or close over it, as with functools.partial",
        lambda: as_passed({1, 2}),
        lambda: (
            as_passed(snp.array([1, 2])),
            stagec.jit(lambda x, chosen={1, 2}: x + len(chosen))(1.0)
            if False
            else stagec.jit(lambda x: x + len({1, 2}))(1.0),
        ),
    ),
    (
        "pass it as a static argument, static_argnames='x', or register its class with tree_util.register_pytree_node",
        lambda: as_passed(Plain()),
        lambda: (registered(), stagec.jit(lambda x: 1.0, static_argnames="x")(Plain())),
    ),
    (
        "take it out of x, whose leaves are arrays, and pass it as a static argument, or register its class with tree_util.register_pytree_node",
        lambda: as_passed({"p": Plain()}),
        lambda: (registered(), stagec.jit(lambda x, p=Plain: x + (Plain is p), static_argnames="p")(1.0)),
    ),
    (
        "pass a tuple instead of a list or an array, or a class with __hash__ and __eq__",
        lambda: mode_static(1.0, ["up"]),
        lambda: mode_static(1.0, ("up",)),
    ),
    (
        "static arguments need a Python value: make it static in the outer function too",
        lambda: stagec.jit(lambda m: mode_static(1.0, m))(1),
        lambda: stagec.jit(lambda m: mode_static(1.0, m), static_argnames="m")("up"),
    ),
    (
        "name an existing parameter",
        lambda: stagec.jit(lambda x: x, static_argnames="y"),
        lambda: stagec.jit(lambda x: x, static_argnames="x"),
    ),
    (
        "count from 0",
        lambda: stagec.jit(lambda x: x, static_argnums=1),
        lambda: stagec.jit(lambda x: x, static_argnums=0),
    ),
    (
        "leave one of the two out: a static argument is a Python value and has no buffer to donate",
        lambda: stagec.jit(lambda x: x, static_argnums=0, donate_argnums=0),
        lambda: (stagec.jit(lambda x: x, static_argnums=0), stagec.jit(lambda x: x, donate_argnums=0)),
    ),
    # Pytrees.
    (
        "flatten the nesting, for example by stacking the levels into one array",
        lambda: tree.leaves(deep(100_000)),
        lambda: tree.leaves(snp.stack([V, V])),
    ),
    ("break the cycle; a pytree ends in leaves", lambda: tree.leaves(cyclic()), lambda: tree.leaves([V, [V]])),
    (
        "pass None there",
        lambda: tree.map(lambda a, b: a, [1, None], [1, 2]),
        lambda: tree.map(lambda a, b: a, [1, None], [1, None]),
    ),
    (
        "pass 2 elements there",
        lambda: tree.map(lambda a, b: a, [1, 2], [1]),
        lambda: tree.map(lambda a, b: a, [1, 2], [1, 2]),
    ),
    (
        "give both trees the same keys",
        lambda: tree.map(lambda a, b: a, {"a": 1}, {"b": 1}),
        lambda: tree.map(lambda a, b: a, {"a": 1}, {"a": 1}),
    ),
    (
        "give both trees equal static data, such as fields and the order of keys",
        lambda: tree.map(lambda a, b: a, Data(1, "a"), Data(1, "b")),
        lambda: tree.map(lambda a, b: a, Data(1, "a"), Data(2, "a")),
    ),
    (
        "keep arrays among its children (data fields), not in its static data",
        lambda: give(1, np.ones(2)) == give(1, np.zeros(2)),
        lambda: give(np.ones(2), 1) == give(np.zeros(2), 1),
    ),
    (
        "keep arrays among its children (data fields)",
        lambda: hash(give(1, np.ones(1))),
        lambda: hash(give(np.ones(1), (1,))),
    ),
    (
        "pass as many leaves as `num_leaves` says",
        lambda: tree.structure([1, 2]).unflatten([1]),
        lambda: tree.structure([1, 2]).unflatten([1, 2]),
    ),
    (
        "name each field of __init__ once",
        lambda: tree_util.register_dataclass(Point, ["x"], []),
        lambda: tree_util.register_dataclass(copy_of(Point), ["x", "y"], []),
    ),
    (
        "put @dataclasses.dataclass below @register_dataclass, or pass data_fields and meta_fields",
        lambda: tree_util.register_dataclass(Plain),
        lambda: (
            tree_util.register_dataclass(copy_of(Point)),
            tree_util.register_dataclass(type("Other", (Plain,), {}), [], []),
        ),
    ),
    (
        "remove the second registration",
        lambda: tree_util.register_pytree_node(Data, None, None),
        lambda: tree.leaves(Data(1, 2)),
    ),
    (
        "pass the class itself",
        lambda: tree_util.register_static(Plain()),
        lambda: tree_util.register_static(type("Fixed", (), {})),
    ),
    (
        "use keys of one type, such as str, or an OrderedDict, whose own order is taken",
        lambda: tree.leaves({1: 2, "a": 3}),
        lambda: (tree.leaves({"1": 2, "a": 3}), tree.leaves(collections.OrderedDict({1: 2, "a": 3}))),
    ),
    (
        "pass an identity",
        lambda: tree.reduce_associative(max, []),
        lambda: tree.reduce_associative(max, [], identity=0),
    ),
    ("pass an initializer", lambda: tree.reduce(max, []), lambda: tree.reduce(max, [], 0)),
    # Dtypes.
    (
        "use one of bool, int8 to int64, uint8 to uint64, bfloat16, float16, float32, float64, complex64, complex128, or a small one, such as float8_e4m3fn and int4",
        lambda: snp.zeros(2, np.longdouble),
        lambda: [
            snp.zeros(2, d)
            for d in ("bool", "int8", "int32", "uint8", "uint32", "bfloat16", "float16", "float32", "complex64", "int4")
        ],
    ),
    ("use finfo for floating dtypes", lambda: dtypes.iinfo("float32"), lambda: dtypes.finfo("float32")),
    ("use iinfo for integers", lambda: dtypes.finfo("int32"), lambda: dtypes.iinfo("int32")),
    (
        "convert the float0 operand",
        lambda: dtypes.promote_types(dtypes.float0, "int8"),
        lambda: dtypes.promote_types("int32", "int8"),
    ),
    ("pass at least one array, scalar or dtype", lambda: snp.result_type(), lambda: snp.result_type(V, 1, "int8")),
    (
        "keep such values outside of arrays, or encode them as numbers first",
        lambda: snp.zeros(2, "U3"),
        lambda: snp.array([ord(c) for c in "abc"]),
    ),
    (
        "pass a dict or a dataclass of arrays, one for each field",
        lambda: as_passed(np.zeros(2, "i4,f4")),
        lambda: as_passed({"f0": np.zeros(2, "i4"), "f1": np.zeros(2, "f4")}),
    ),
]


def copy_of(cls):
    return dataclasses.make_dataclass("Copy", [(f.name, float) for f in dataclasses.fields(cls)])
