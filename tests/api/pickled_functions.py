"""Functions of an importable module, for tests of pickling."""

import functools

import stagec
import stagec.numpy as snp


@functools.partial(stagec.jit, static_argnames="power", donate_argnums=0)
def decorated(x, power=2):
    return x**power


def plain(x):
    return snp.sin(x)


jitted = stagec.jit(plain, static_argnums=())


class Model:
    def __init__(self, factor):
        self.factor = factor

    @functools.partial(stagec.jit, static_argnums=0)
    def scaled(self, x):
        return x * self.factor


def logged(f):
    @functools.wraps(f)
    def call(*args):
        return f(*args)

    return call


inner = stagec.jit(plain)


def wrapped(x):
    return x + 1


hidden = stagec.jit(wrapped)
wrapped = logged(hidden)


@stagec.custom_jvp
def clipped(x):
    return snp.clip(x, 0, 1)


@clipped.defjvp
def _(primals, tangents):
    return clipped(*primals), tangents[0]


@stagec.custom_vjp
def straight(x):
    return snp.round(x)


straight.defvjp(lambda x: (straight(x), None), lambda _, ct: (ct,))
