"""Hints of checks in programs."""

import numpy as np

import stagec
import stagec.numpy as snp
from stagec.experimental import checkify


def checked(x):
    checkify.check(x > 0, "negative")
    return x


@stagec.custom_jvp
def ruled(x):
    return checked(x)


ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0]))

CASES = [
    (
        "call checkify.checkify(f)(...), and throw the error that it returns",
        lambda: stagec.jit(checked)(np.float32(1)),
        lambda: stagec.jit(checkify.checkify(checked))(np.float32(1))[0].throw(),
    ),
    (
        "compare, or reduce it with snp.all",
        lambda: checkify.check(snp.ones(2) > 0, ""),
        lambda: checkify.check(snp.all(snp.ones(2) > 0), ""),
    ),
    (
        "format what is known while tracing into the message",
        lambda: checkify.check(True, "{}", "text"),
        lambda: checkify.check(True, "text"),
    ),
    (
        "pass what checkify(f) returns first",
        lambda: checkify.check_error(checkify.checkify(checked)(1.0)),
        lambda: checkify.check_error(checkify.checkify(checked)(1.0)[0]),
    ),
    (
        "differentiate first: checkify.checkify(stagec.grad(f))",
        lambda: stagec.grad(lambda x: checkify.checkify(ruled)(x)[1])(1.0),
        lambda: checkify.checkify(stagec.grad(ruled))(1.0),
    ),
]
