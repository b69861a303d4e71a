"""Hints of values that tracers do not have."""

# ruff: noqa: E501

import cmath
import math
import pickle

import numpy as np
from hints_core import V

import stagec
import stagec.numpy as snp
from stagec import lax

kept = []


def leak():
    stagec.jit(lambda x: kept.append(x) or x)(1.0)
    return kept.pop()


def branch(x, n):
    return x if x > n else n


def branch_of_one(x):
    return x if x > 0 else -x


def branch_of_array(x):
    return x if x.sum() > 0 else -x


def branch_of_part(params):
    return params["x"] if params["n"] > 0 else -params["x"]


def both(x, y):
    return x if x > 0 and y > 0 else y


def checked(x):
    assert x > 0
    return x


def loop(n):
    i = 0
    while i < n:
        i += 1
    return i


TABLE = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
PAIR = (1, 2)
LAYERS = [snp.sin, snp.cos]


def store(i):
    table = TABLE.copy()
    table[i] = 0
    return table


def store_anew(i):
    table = TABLE
    table = snp.asarray(table).at[i].set(0)
    return table


CASES = [
    # Values that tracers do not have.
    (
        "keep the choice in the program with snp.where or lax.cond, or make x and n static with static_argnames=('x', 'n')",
        lambda: stagec.jit(branch)(1.0, 2.0),
        lambda: (
            stagec.jit(branch, static_argnames=("x", "n"))(1.0, 2.0),
            stagec.jit(lambda x, n: snp.where(x > n, x, n))(1.0, 2.0),
            stagec.jit(lambda x, n: lax.cond(x > n, lambda: x, lambda: n))(1.0, 2.0),
        ),
    ),
    (
        "keep the choice in the program with snp.where or lax.cond, or make x static with static_argnames='x', and pass Python numbers",
        lambda: stagec.jit(branch_of_one)(V[0]),
        lambda: stagec.jit(branch_of_one, static_argnames="x")(V[0].item()),
    ),
    (
        "keep the choice in the program with snp.where or lax.cond",
        lambda: stagec.jit(branch_of_array)(V),
        lambda: (
            stagec.jit(lambda x: snp.where(x.sum() > 0, x, -x))(V),
            stagec.jit(lambda x: lax.cond(x.sum() > 0, lambda: x, lambda: -x))(V),
        ),
    ),
    (
        "keep the choice in the program with snp.where or lax.cond, or pass params['n'] as an argument of its own, a Python number that static_argnames names",
        lambda: stagec.jit(branch_of_part)({"x": V, "n": 1}),
        lambda: stagec.jit(lambda params, n: params["x"] if n > 0 else -params["x"], static_argnames="n")({"x": V}, 1),
    ),
    (
        "keep the choice in the program with snp.where or lax.cond, or decide outside the function, by values that are known while tracing",
        lambda: lax.scan(lambda c, x: (c if x > 1 else -c, x), 0.0, V),
        lambda: (
            lax.scan(lambda c, x: (snp.where(x > 1, c, -c), x), 0.0, V),
            lax.scan(lambda c, x: (c if len(V) > 1 else -c, x), 0.0, V),
        ),
    ),
    (
        "write & | ~ for and, or, not; keep the choice in the program with snp.where or lax.cond, or make x static with static_argnames='x'",
        lambda: stagec.jit(both)(1.0, 2.0),
        lambda: stagec.jit(lambda x, y: snp.where((x > 0) & ~(y > 0), x, y))(1.0, 2.0),
    ),
    (
        "write (0 < x) & (x < 1); keep the choice in the program with snp.where or lax.cond, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: 0 < x < 1)(0.5),
        lambda: stagec.jit(lambda x: (x > 0) & (x < 1))(0.5),
    ),
    (
        "write (a < b) & (b < c) for a < b < c; keep the choice in the program with snp.where or lax.cond, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: 0.0 < math.pi * x + math.e * x < 1000.0 == snp.full(3, 1000.0).max() + 1000.0)(
            0.5
        ),
        lambda: stagec.jit(lambda x: (x > 0) & (x < 1))(0.5),
    ),
    (
        "use snp.maximum(x, y), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: max(x, 0.0))(0.5),
        lambda: stagec.jit(lambda x: snp.maximum(x, 0.0))(0.5),
    ),
    (
        "use snp.sort(snp.array(values)), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: sorted([x, 0.0]))(0.5),
        lambda: stagec.jit(lambda x: snp.sort(snp.array([x, 0.0])))(0.5),
    ),
    (
        "use snp.isin(x, values), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: x in (1.0, 2.0))(0.5),
        lambda: stagec.jit(lambda x: snp.isin(x, snp.array([1.0, 2.0])))(0.5),
    ),
    (
        "check the result outside, or in a Python function that stagec.debug.callback calls, or make x static with static_argnames='x'",
        lambda: stagec.jit(checked)(0.5),
        lambda: (stagec.jit(lambda x: stagec.debug.callback(checked, x))(0.5), checked(stagec.jit(lambda x: x)(0.5))),
    ),
    (
        "loop with lax.while_loop, or make n static with static_argnames='n'",
        lambda: stagec.jit(loop)(3),
        lambda: (
            stagec.jit(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0))(3),
            stagec.jit(loop, static_argnames="n")(3),
        ),
    ),
    (
        "use x.astype(int), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: int(x))(1.5),
        lambda: (stagec.jit(lambda x: x.astype(int))(1.5), stagec.jit(lambda x: int(x), static_argnames="x")(1.5)),
    ),
    (
        "use x.astype(float), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: float(x))(1),
        lambda: (stagec.jit(lambda x: x.astype(float))(1), stagec.jit(lambda x: float(x), static_argnames="x")(1)),
    ),
    (
        "use x.astype(complex), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: complex(x))(1),
        lambda: stagec.jit(lambda x: x.astype(complex))(1),
    ),
    (
        "call snp.sin, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: math.sin(x))(1.5),
        lambda: (stagec.jit(lambda x: snp.sin(x))(1.5), stagec.jit(lambda x: math.sin(x), static_argnames="x")(1.5)),
    ),
    (
        "call snp.pow, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: math.pow(x, 2))(1.5),
        lambda: stagec.jit(lambda x: snp.pow(x, 2))(1.5),
    ),
    (
        "call stagec.scipy.special.gammaln, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: math.lgamma(x))(1.5),
        lambda: stagec.jit(lambda x: stagec.scipy.special.gammaln(x))(1.5),
    ),
    (
        "use x.astype(complex), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: cmath.phase(x))(1.5),
        lambda: stagec.jit(lambda x: snp.angle(x.astype(complex)))(1.5),
    ),
    (
        "call snp.sin, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: np.sin(x))(1.5),
        lambda: stagec.jit(lambda x: snp.sin(x))(1.5),
    ),
    (
        "call snp.linalg.norm",
        lambda: stagec.jit(lambda x: np.linalg.norm(x))(V),
        lambda: stagec.jit(lambda x: snp.linalg.norm(x))(V),
    ),
    (
        "call a function of stagec.numpy, or NumPy's in stagec.pure_callback",
        lambda: stagec.jit(lambda x: np.fft.fft(x, out=x))(snp.ones(2)),
        lambda: (
            stagec.jit(lambda x: snp.fft.fft(x))(snp.ones(2)),
            stagec.jit(lambda x: stagec.pure_callback(np.sort, x, x))(snp.ones(2)),
        ),
    ),
    (
        "loop with lax.fori_loop, or make n static with static_argnames='n'",
        lambda: stagec.jit(lambda n: [i + 1 for i in range(n)])(3),
        lambda: (
            stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(3),
            stagec.jit(lambda n: [i + 1 for i in range(n)], static_argnames="n")(3),
        ),
    ),
    (
        "index snp.array([1, 2, 3])[i] instead of a list, or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: [1, 2, 3][i])(1),
        lambda: (
            stagec.jit(lambda i: snp.array([1, 2, 3])[i])(1),
            stagec.jit(lambda i: [1, 2, 3][i], static_argnames="i")(1),
        ),
    ),
    (
        "index snp.array(values)[i] instead of a list; loop with lax.fori_loop, or make i static with static_argnames='i'",
        lambda: stagec.jit(eval(compile("lambda i: [1, 2, 3][i]", "hints_without_source.py", "eval")))(1),
        lambda: stagec.jit(lambda i: snp.array([1, 2, 3])[i])(1),
    ),
    (
        "index snp.array(PAIR)[i] instead of a tuple, or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: PAIR[i])(1),
        lambda: stagec.jit(lambda i: snp.array(PAIR)[i])(1),
    ),
    (
        "call one of the functions with lax.switch(i, LAYERS, x), or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i, x: LAYERS[i](x))(1, V),
        lambda: stagec.jit(lambda i, x: lax.switch(i, LAYERS, x))(1, V),
    ),
    (
        "index snp.asarray(TABLE)[i], or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: TABLE[i])(1),
        lambda: stagec.jit(lambda i: snp.asarray(TABLE)[i])(1),
    ),
    (
        "index snp.asarray(TABLE)[0, i], or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: TABLE[0, i])(1),
        lambda: stagec.jit(lambda i: snp.asarray(TABLE)[0, i])(1),
    ),
    (
        "index snp.asarray(TABLE)[p]",
        lambda: stagec.jit(lambda p: TABLE[p])(np.array([1, 0])),
        lambda: stagec.jit(lambda p: snp.asarray(TABLE)[p])(np.array([1, 0])),
    ),
    (
        "index snp.asarray(values)[i], or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: np.concatenate([TABLE, TABLE, TABLE, TABLE, TABLE, TABLE])[i])(1),
        lambda: stagec.jit(lambda i: snp.asarray(np.concatenate([TABLE, TABLE]))[i])(1),
    ),
    (
        "call snp.asarray(TABLE).take, or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: TABLE.take(i))(1),
        lambda: stagec.jit(lambda i: snp.asarray(TABLE).take(i))(1),
    ),
    (
        "keep the shape, with snp.where(condition, values, 0)",
        lambda: stagec.jit(lambda x: TABLE[x > 1])(TABLE),
        lambda: stagec.jit(lambda x: snp.where(x > 1, TABLE, 0))(TABLE),
    ),
    (
        "make a new array: table = snp.asarray(table).at[i].set(value), or make i static with static_argnames='i'",
        lambda: stagec.jit(store)(1),
        lambda: stagec.jit(store_anew)(1),
    ),
    (
        "take a part of a fixed size, with lax.dynamic_slice_in_dim(snp.asarray(TABLE), start, size), or make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: TABLE[i : i + 1])(1),
        lambda: stagec.jit(lambda i: lax.dynamic_slice_in_dim(snp.asarray(TABLE), i, 1))(1),
    ),
    # Sizes.
    *(
        (
            "make n static with static_argnames='n', or keep the largest size, and choose elements with snp.where",
            lambda sized=sized: stagec.jit(sized)(2, V),
            lambda sized=sized: (
                stagec.jit(sized, static_argnames="n")(2, V[:2]),
                stagec.jit(lambda n, x: snp.where(snp.arange(3) < n, x, 0))(2, V),
            ),
        )
        for sized in (
            lambda n, x: np.zeros(n),
            lambda n, x: np.full((n, 2), 1.0),
            lambda n, x: np.arange(n),
            lambda n, x: snp.zeros(n),
            lambda n, x: x.reshape(n, -1),
            lambda n, x: snp.reshape(x, (n, 1)),
        )
    ),
    (
        "keep the largest size, and choose elements with snp.where",
        lambda: stagec.jit(lambda x: snp.zeros((x > 1).sum()))(V),
        lambda: stagec.jit(lambda x: snp.where(x > 1, x, 0))(V),
    ),
    *(
        (
            "compute it with Python or NumPy, as math.prod(x.shape) does",
            lambda sized=sized: stagec.jit(sized)(V),
            lambda: (
                stagec.jit(lambda x: x.reshape(math.prod(x.shape)))(V),
                stagec.jit(lambda x: x.reshape(np.prod(x.shape)))(V),
            ),
        )
        for sized in (
            lambda x: x.reshape(snp.prod(snp.array(x.shape))),
            lambda x: snp.zeros(int(snp.prod(snp.array(x.shape)))),
            lambda x: x if snp.array(x.shape).max() > 2 else -x,
        )
    ),
    # Numbers that Python alone computes with.
    (
        "make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: len(hex(i)))(1),
        lambda: stagec.jit(lambda i: len(hex(i)), static_argnames="i")(1),
    ),
    (
        "make i static with static_argnames='i'",
        lambda: stagec.jit(lambda i: len("text"[i]))(1),
        lambda: stagec.jit(lambda i: len("text"[i]), static_argnames="i")(1),
    ),
    (
        "decide by what is known while tracing, such as shapes and static arguments",
        lambda: stagec.jit(lambda p: len(hex(p.sum())))(np.array([1, 0])),
        lambda: stagec.jit(lambda p: len(hex(p.size)))(np.array([1, 0])),
    ),
    (
        "print it when the program runs, with stagec.debug.print(\"{x:.3f}\", x=x), or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: f"{x:.3f}")(1.5),
        lambda: (
            stagec.jit(lambda x: stagec.debug.print("{x:.3f}", x=x))(1.5),
            stagec.jit(lambda x: print(f"{x:.3f}"), static_argnames="x")(1.5),
        ),
    ),
    (
        "leave .item() out: an array without axes is a number, or make x static with static_argnames='x', and pass Python numbers",
        lambda: stagec.jit(lambda x: x.item() + 1)(V[0]),
        lambda: stagec.jit(lambda x: x + 1)(V[0]),
    ),
    (
        "use list(x), whose elements are arrays",
        lambda: stagec.jit(lambda x: x.tolist())(V),
        lambda: stagec.jit(lambda x: list(x))(V),
    ),
    (
        "keep the choice in the program with snp.where or lax.cond, or compute it outside the function that vmap maps",
        lambda: stagec.vmap(branch_of_one)(V),
        lambda: stagec.vmap(lambda x: snp.where(x > 0, x, -x))(V),
    ),
    (
        "call the function of the same name in stagec.numpy, or take np.asarray(lax.stop_gradient(x))",
        lambda: stagec.grad(lambda x: np.sin(x))(1.5),
        lambda: (
            stagec.grad(lambda x: snp.sin(x))(1.5),
            stagec.grad(lambda x: x * np.asarray(lax.stop_gradient(x)))(1.5),
        ),
    ),
    (
        "return the value from the function instead of storing it in a global, an attribute or a closure",
        lambda: leak() + 1,
        lambda: stagec.jit(lambda x: (x, x))(1.0),
    ),
    (
        "use Python values as keys of dicts, elements of sets and static arguments, and keep arrays in lists",
        lambda: stagec.jit(lambda x: {x: 1})(1.0),
        lambda: stagec.jit(lambda x: {"x": [x]})(1.0),
    ),
    (
        "return it from the function, and pickle the result",
        lambda: stagec.jit(lambda x: pickle.dumps(x))(1.0),
        lambda: pickle.loads(pickle.dumps(stagec.jit(lambda x: x)(1.0))),
    ),
    ("call snp.sum", lambda: stagec.jit(lambda x: math.fsum(x))(V), lambda: stagec.jit(lambda x: snp.sum(x))(V)),
    (
        "call stagec.scipy.special.erf, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: math.erf(x))(1.5),
        lambda: stagec.jit(lambda x: stagec.scipy.special.erf(x))(1.5),
    ),
    (
        "call stagec.scipy.special.erfc, or make x static with static_argnames='x'",
        lambda: stagec.jit(lambda x: math.erfc(x))(1.5),
        lambda: stagec.jit(lambda x: stagec.scipy.special.erfc(x))(1.5),
    ),
    (
        "keep the choice in the program with snp.where or lax.cond, or pass p['a'] and p['b'] as arguments of their own, a Python number that static_argnames names",
        lambda: stagec.jit(lambda p: 1 if p["a"] > p["b"] else 2)({"a": 1, "b": 2}),
        lambda: stagec.jit(lambda a, b: 1 if a > b else 2, static_argnames=("a", "b"))(1, 2),
    ),
    (
        "keep the choice in the program with snp.where or lax.cond, or make the argument that it comes from static with static_argnames",
        lambda: stagec.closure_convert(lambda x: 1.0 if x > 0 else 2.0, 1.0),
        lambda: stagec.closure_convert(lambda x: snp.where(x > 0, 1.0, 2.0), 1.0),
    ),
]
