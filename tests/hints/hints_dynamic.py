"""Hints of open dimensions."""

import numpy as np

import stagec
import stagec.numpy as snp
from stagec import lax


def opened(fun, **dynamic):
    return stagec.jit(fun, dynamic=dynamic)


def total(x):
    return x.sum()


def rows(x):
    return x.reshape(-1, 4).sum(1)


def steps(x):
    return sum(x[i] for i in range(x.shape[0]))


def steps_of_arrays(x):
    return lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], snp.zeros(()))


def either(x):
    return x[:8] if x.shape[0] >= 8 else x


def keyed(x):
    return x * {1: 10.0}.get(x.shape[0], 1.0)


def selected(x):
    return x * snp.where(snp.asarray(x.shape[0]) == 1, 10.0, 1.0)


def named(x):
    return stagec.vmap(lambda v: v * 2, axis_name="i")(x)


def nameless(x):
    return stagec.vmap(lambda v: v * 2)(x)


def spectrum(x):
    return snp.fft.fft(x)


def joint(x, y):
    return x.sum() + y.sum()


V, X, EIGHT = np.ones(3), np.ones((2, 3)), np.ones(8)

LESS = stagec.jit(lambda x: x[1:]).lower(stagec.ShapeDtypeStruct("b", "float32"))

CASES = [
    (
        "the program is for arrays that have elements; call the function",
        lambda: LESS.compile()(snp.ones(1)),
        lambda: stagec.jit(lambda x: x[1:])(snp.ones(1)),
    ),
    (
        "pass an array whose size fits, as by padding it",
        lambda: opened(rows, x="b")(np.ones(6)),
        lambda: opened(rows, x="b")(np.ones(8)),
    ),
    (
        "name a dimension b, or a multiple of it, for another axis",
        lambda: opened(joint, x="b*b", y="_")(V, V),
        lambda: opened(joint, x="b*b", y="b")(np.ones(9), V),
    ),
    (
        "pass a size within the bounds, or state other bounds",
        lambda: opened(total, x="b >= 4")(V),
        lambda: opened(total, x="b >= 4")(EIGHT),
    ),
    (
        "pass a size that is 4*b, as by padding the array",
        lambda: opened(total, x="4*b")(V),
        lambda: opened(total, x="4*b")(EIGHT),
    ),
    (
        "pass arrays whose sizes agree, or give the dimension a name of its own",
        lambda: opened(joint, x="b", y="b")(V, EIGHT),
        lambda: opened(joint, x="b", y="c")(V, EIGHT),
    ),
    ("name one of: x", lambda: opened(total, y="b")(V), lambda: opened(total, x="b")(V)),
    (
        "write one for each axis, _ for those that are static, or ... for all others",
        lambda: opened(total, x="b")(X),
        lambda: opened(total, x="b, ...")(X),
    ),
    (
        'write dynamic={"x": "b, _"}: for each argument its dimensions, _ for those that are static',
        lambda: stagec.jit(total, dynamic="b, _")(X),
        lambda: stagec.jit(total, dynamic={"x": "b, _"})(X),
    ),
    (
        "leave axis_name out, or leave the dimension static",
        lambda: opened(named, x="b")(V),
        lambda: opened(nameless, x="b")(V),
    ),
    (
        "use array operations instead, such as snp.arange, lax.fori_loop or lax.scan, or leave this dimension static",
        lambda: opened(steps, x="b")(V),
        lambda: opened(steps_of_arrays, x="b")(V),
    ),
    (
        "compare snp.asarray of the size with snp.where, use its text as the key, or leave this dimension static",
        lambda: opened(keyed, x="b")(V),
        lambda: opened(selected, x="b")(V),
    ),
    (
        "state a bound that decides it, such as 'b >= 8' for a dimension, or leave this dimension static",
        lambda: opened(either, x="b")(EIGHT),
        lambda: opened(either, x="b >= 8")(EIGHT),
    ),
    (
        "name the axes to remove, as in axis=0, or state a bound that decides it, such as 'b >= 8' for a dimension, "
        "or leave this dimension static",
        lambda: opened(lambda x: snp.squeeze(x[None]), x="b")(V),
        lambda: opened(lambda x: snp.squeeze(x[None], axis=0), x="b")(V),
    ),
    (
        "leave the dimension static in the specification, or write the operation in another way",
        lambda: opened(spectrum, x="b")(V),
        lambda: opened(spectrum, x="_")(V),
    ),
    (
        "write each dimension as a number, a name, or an expression such as '2*b + 1', 'b >= 8', 'n >= b' or '4*b'",
        lambda: opened(total, x="b +")(V),
        lambda: opened(total, x="2*b + 1")(V),
    ),
]
