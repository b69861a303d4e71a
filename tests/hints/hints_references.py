"""Hints of mutable references."""

import stagec
import stagec.numpy as snp
from stagec import lax

OUTER = stagec.new_ref(0.0)
KEPT = []


def write(x):
    OUTER[...] = x
    return x


def write_known(x):
    OUTER[...] = lax.stop_gradient(x)
    return x


def write_inner(x):
    inner = stagec.new_ref(0.0)
    inner[...] = x
    return inner[...]


def keep(x):
    KEPT.append(stagec.new_ref(x))


def frozen():
    ref = stagec.new_ref(1.0)
    stagec.freeze(ref)
    return ref[...]


def both(ref):
    return ref[...] + OUTER[...]


def escaped():
    stagec.jit(keep)(1.0)
    return KEPT.pop()[...]


CASES = [
    (
        "give a size of 0 or more, and a stride above 0",
        lambda: stagec.ds(0, -1),
        lambda: snp.arange(4)[stagec.ds(0, 2, 2)],
    ),
    (
        "slice no more elements than the axis has",
        lambda: snp.arange(4)[stagec.ds(0, 5)],
        lambda: snp.arange(4)[stagec.ds(0, 4)],
    ),
    (
        "slice a known number of elements, and mask the surplus with snp.where",
        lambda: stagec.jit(lambda n: snp.arange(4)[stagec.ds(0, n)])(2),
        lambda: stagec.jit(lambda n: snp.where(snp.arange(4) < n, snp.arange(4)[stagec.ds(0, 4)], 0))(2),
    ),
    (
        "give references a tangent made by stagec.new_ref",
        lambda: stagec.jvp(lambda r: r[...], (OUTER,), (1.0,)),
        lambda: stagec.jvp(lambda r: r[...], (OUTER,), (stagec.new_ref(1.0),)),
    ),
    (
        "return the value and write it outside; stagec.jit and the loops and conditionals of stagec.lax write "
        "references, rules of custom derivatives, checkpoint and make_graph do not",
        lambda: stagec.checkpoint(write)(1.0),
        lambda: OUTER.set(stagec.checkpoint(lambda x: x)(1.0)),
    ),
    (
        "make the reference inside the function that is mapped",
        lambda: stagec.vmap(write)(snp.ones(2)),
        lambda: stagec.vmap(write_inner)(snp.ones(2)),
    ),
    (
        "write lax.stop_gradient(value), or make the reference inside the differentiated function",
        lambda: stagec.grad(write)(1.0),
        lambda: (stagec.grad(write_known)(1.0), stagec.grad(write_inner)(1.0)),
    ),
    (
        "use references in the function that makes them, and return ref[...], the value",
        escaped,
        lambda: stagec.jit(write_inner)(1.0),
    ),
    ("take len() of ranks above 0", lambda: len(OUTER), lambda: len(stagec.new_ref(snp.ones(2)))),
    (
        "convert the value with astype('float32')",
        lambda: OUTER.set(snp.array(1j)),
        lambda: OUTER.set(snp.array(1j).real.astype("float32")),
    ),
    (
        "read the value with ref[...], and iterate that",
        lambda: list(OUTER),
        lambda: list(stagec.new_ref(snp.ones(1))[...]),
    ),
    ("read the value with ref[...]", lambda: snp.sin(OUTER), lambda: snp.sin(OUTER[...])),
    (
        "leave kind out",
        lambda: stagec.new_ref(1.0, kind="no_grad_no_remat"),
        lambda: stagec.new_ref(1.0),
    ),
    (
        "read the value with ref[...], or freeze the reference where it was made",
        lambda: stagec.jit(lambda: stagec.freeze(OUTER))(),
        lambda: stagec.jit(lambda: OUTER[...])(),
    ),
    ("make one with stagec.new_ref", lambda: stagec.freeze(1.0), lambda: stagec.freeze(stagec.new_ref(1.0))),
    ("use the value that stagec.freeze returned", frozen, lambda: stagec.freeze(stagec.new_ref(1.0))),
    ("return ref[...], its value", stagec.jit(lambda: stagec.new_ref(1.0)), stagec.jit(lambda: write_inner(1.0))),
    (
        "write it in body_fun",
        lambda: lax.while_loop(lambda c: write(c) < 0, lambda c: c, 1.0),
        lambda: lax.while_loop(lambda c: c < 0, write, 1.0),
    ),
    (
        "pass each reference once",
        lambda: stagec.jit(lambda a, b: a[...] + b[...])(OUTER, OUTER),
        lambda: stagec.jit(lambda a: a[...] + a[...])(OUTER),
    ),
    ("pass it, or close over it", lambda: stagec.jit(both)(OUTER), lambda: stagec.jit(both)(stagec.new_ref(1.0))),
    (
        "pass the values as arguments, and return the new ones",
        lambda: stagec.jit(write).lower(1.0),
        lambda: stagec.jit(lambda x: x).lower(1.0),
    ),
]
