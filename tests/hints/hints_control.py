"""Hints of control flow, of callbacks, and of printing."""

import numpy as np
from hints_lax import C, P, V, X, doubled, own, reverse_only, with_jvp, with_vjp

import stagec
import stagec.numpy as snp
from stagec import debug, lax, nn
from stagec.experimental import io_callback
from stagec.scipy import special


def closed_over(p):
    @stagec.custom_jvp
    def f(x):
        return x * p

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f(1.0)


CASES = [
    # Callbacks.
    (
        "decorate the function around the call with stagec.custom_jvp and give it a derivative with defjvp, or with "
        "stagec.custom_vjp and defvjp; with lax.stop_gradient around the arguments the derivative is zero",
        lambda: stagec.grad(doubled)(1.0),
        lambda: [
            np.testing.assert_equal(float(stagec.grad(f)(1.0)), slope)
            for f, slope in [(with_jvp, 2), (with_vjp, 2), (lambda x: x + doubled(lax.stop_gradient(x)), 1)]
        ],
    ),
    (
        "leave out ordered=True, or go through the elements with lax.map",
        lambda: stagec.vmap(lambda x: io_callback(lambda v: v, x, x, ordered=True))(V),
        lambda: (
            stagec.vmap(lambda x: io_callback(lambda v: v, x, x))(V),
            lax.map(lambda x: io_callback(lambda v: v, x, x, ordered=True), V),
        ),
    ),
    (
        "say how to call the function, with vmap_method='sequential', or 'expand_dims' or 'broadcast_all' if it takes "
        "arrays with more leading axes",
        lambda: stagec.vmap(doubled)(V),
        lambda: [
            stagec.vmap(lambda x, m=m: stagec.pure_callback(lambda v: 2 * v, x, x, vmap_method=m))(V)
            for m in ("sequential", "expand_dims", "broadcast_all")
        ],
    ),
    (
        "give stagec.ShapeDtypeStruct(shape, dtype)",
        lambda: stagec.pure_callback(abs, float, V),
        lambda: stagec.pure_callback(abs, stagec.ShapeDtypeStruct((3,), "float32"), V),
    ),
    (
        "leave sharding out; arrays are on one device",
        lambda: stagec.pure_callback(abs, V, V, sharding=1),
        lambda: stagec.pure_callback(abs, V, V),
    ),
    (
        "use one of None, 'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', 'legacy_vectorized'",
        lambda: stagec.pure_callback(abs, V, V, vmap_method="best"),
        lambda: stagec.pure_callback(abs, V, V, vmap_method="sequential"),
    ),
    (
        "return arrays of the promised shapes and dtypes, or change result_shape_dtypes",
        lambda: stagec.pure_callback(lambda v: np.ones(2), V, V),
        lambda: (
            stagec.pure_callback(abs, V, V),
            stagec.pure_callback(lambda v: np.ones(2, "f4"), stagec.ShapeDtypeStruct((2,), "float32"), V),
        ),
    ),
    # Control flow.
    (
        "slice the leaves to one size",
        lambda: lax.associative_scan(lambda a, b: a, (V, V[:2])),
        lambda: lax.associative_scan(lambda a, b: (a[0] + b[0], a[1] + b[1]), (V[:2], V[:2])),
    ),
    (
        "begin with carry of float32, or return carry.astype('int32')",
        lambda: lax.scan(lambda c, x: (c + 1.5, x), np.int32(0), V),
        lambda: (
            lax.scan(lambda c, x: (c + 1.5, x), np.float32(0), V),
            lax.scan(lambda c, x: ((c + 1.5).astype("int32"), x), np.int32(0), V),
        ),
    ),
    (
        "begin with carry of shape (3,), or return one of shape ()",
        lambda: lax.scan(lambda c, x: (c + V, x), 0.0, V),
        lambda: (lax.scan(lambda c, x: (c + V, x), snp.zeros(3), V), lax.scan(lambda c, x: ((c + V).sum(), x), 0.0, V)),
    ),
    (
        "return the carry with the containers, lengths and keys of the initial value",
        lambda: lax.scan(lambda c, x: ((c, c), x), 0.0, V),
        lambda: lax.scan(lambda c, x: (c, x), 0.0, V),
    ),
    (
        "return arrays, numbers, or containers of them",
        lambda: lax.scan(lambda c, x: (c, "text"), 0.0, V),
        lambda: lax.scan(lambda c, x: (c, {"y": (x, 1)}), 0.0, V),
    ),
    (
        "give an axis from -1 to 0",
        lambda: stagec.vmap(lambda x: lax.all_gather(x, "i", axis=3), axis_name="i")(V),
        lambda: [stagec.vmap(lambda x, a=a: lax.all_gather(x, "i", axis=a), axis_name="i")(V) for a in (-1, 0)],
    ),
    (
        f"pass pairs of numbers from 0 to {len(V) - 1}, each source and each destination once",
        lambda: stagec.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 1)]), axis_name="i")(V),
        lambda: stagec.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]), axis_name="i")(V),
    ),
    (
        f"pass the numbers from 0 to {len(V) - 1} in another order",
        lambda: stagec.vmap(lambda x: lax.pshuffle(x, "i", [0, 0]), axis_name="i")(V),
        lambda: stagec.vmap(lambda x: lax.pshuffle(x, "i", range(len(V))[::-1]), axis_name="i")(V),
    ),
    (
        f"take apart an axis of size {len(V)}, or a multiple of it with tiled=True",
        lambda: stagec.vmap(lambda x: lax.psum_scatter(snp.ones(7) * x, "i"), axis_name="i")(V),
        lambda: stagec.vmap(
            lambda x: (
                lax.psum_scatter(snp.ones(len(V)) * x, "i"),
                lax.psum_scatter(snp.ones(2 * len(V)) * x, "i", tiled=True),
            ),
            axis_name="i",
        )(V),
    ),
    (
        "pass 'varying' or 'reduced' or 'unreduced' for it",
        lambda: stagec.vmap(lambda x: lax.pcast(x, "i", to="all"), axis_name="i")(V),
        lambda: stagec.vmap(lambda x: lax.pcast(x, "i", to="varying"), axis_name="i")(V),
    ),
    (
        "pass a name, or a tuple of names",
        lambda: stagec.vmap(lambda x: lax.pcast(x, 0, to="varying"), axis_name="i")(V),
        lambda: stagec.vmap(lambda x: lax.pcast(x, ("i",), to="varying"), axis_name="i")(V),
    ),
    (
        "call it inside a function that vmap(..., axis_name='i') maps",
        lambda: lax.psum(V, "i"),
        lambda: stagec.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(V),
    ),
    ("use a string", lambda: stagec.vmap(abs, axis_name=["i"])(V), lambda: stagec.vmap(abs, axis_name="i")(V)),
    (
        "convert one of them, as with .astype('float32')",
        lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int), V),
        lambda: lax.cond(True, lambda x: x, lambda x: x.astype(int).astype("float32"), V),
    ),
    (
        "broadcast, pad or slice one of them to the other's shape",
        lambda: lax.cond(True, lambda x: x, lambda x: x[:2], V),
        lambda: lax.cond(True, lambda x: x[:2], lambda x: x[:2], V),
    ),
    (
        "return the same containers from every branch",
        lambda: lax.cond(True, lambda x: x, lambda x: (x,), V),
        lambda: lax.cond(True, lambda x: (x,), lambda x: (x,), V),
    ),
    (
        "pass the function itself, as in lax.cond(x > 0, f, g, x), not its result",
        lambda: lax.cond(True, abs(V), abs, V),
        lambda: lax.cond(V[0] > 0, abs, abs, V),
    ),
    ("index it first, as in index[0]", lambda: lax.switch(P, [abs, abs], V), lambda: lax.switch(P[0], [abs, abs], V)),
    ("give at least one function", lambda: lax.switch(0, [], V), lambda: lax.switch(0, [abs], V)),
    (
        "use lax.cond for a boolean",
        lambda: lax.switch(V[0] > 1, [abs, abs], V),
        lambda: lax.cond(V[0] > 1, abs, abs, V),
    ),
    (
        "convert it with astype(int)",
        lambda: lax.switch(V[0], [abs, abs], V),
        lambda: lax.switch(V[0].astype(int), [abs, abs], V),
    ),
    (
        "reduce it with .all() or .any(); snp.where chooses element by element",
        lambda: lax.cond(V > 1, abs, abs, V),
        lambda: (lax.cond((V > 1).all(), abs, abs, V), lax.cond((V > 1).any(), abs, abs, V), snp.where(V > 1, V, 0)),
    ),
    ("give them by position", lambda: lax.cond(True, abs, abs, V, operand=V), lambda: lax.cond(True, abs, abs, V)),
    (
        "use grad or vjp, or define the function with custom_jvp, from which both modes follow",
        lambda: stagec.jvp(reverse_only, (1.0,), (1.0,)),
        lambda: (stagec.grad(reverse_only)(1.0), stagec.vjp(reverse_only, 1.0), stagec.jvp(with_jvp, (1.0,), (1.0,))),
    ),
    (
        "pass the value as an argument, so that the rule can say what its derivative is",
        lambda: stagec.grad(stagec.jit(closed_over))(2.0),
        lambda: stagec.grad(lambda p: own(1.0, p))(2.0),
    ),
    (
        "convert one of them with astype",
        lambda: lax.fori_loop(np.int32(0), np.int8(3), lambda i, c: c, V),
        lambda: lax.fori_loop(np.int32(0), np.int8(3).astype("int32"), lambda i, c: c, V),
    ),
    (
        "convert them with astype(int)",
        lambda: lax.fori_loop(0.0, 3.0, lambda i, c: c, V),
        lambda: lax.fori_loop(0, np.float32(3.0).astype(int), lambda i, c: c, V),
    ),
    (
        "index the bounds first, as in n[0]",
        lambda: lax.fori_loop(0, P, lambda i, c: c, V),
        lambda: lax.fori_loop(0, P[0], lambda i, c: c, V),
    ),
    (
        "leave unroll out, or make the bounds Python integers",
        lambda: stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, V, unroll=2))(3),
        lambda: (
            stagec.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, V))(3),
            lax.fori_loop(0, 3, lambda i, c: c, V, unroll=2),
        ),
    ),
    (
        "return the condition alone, as in lambda carry: carry[0] < 10",
        lambda: lax.while_loop(lambda c: (c < 9, c), lambda c: c + 1, 0),
        lambda: lax.while_loop(lambda carry: carry[0] < 10, lambda c: (c[0] + 1,), (0,)),
    ),
    (
        "reduce it with .any() or .all()",
        lambda: lax.while_loop(lambda c: c < 9, lambda c: c + 1, V),
        lambda: lax.while_loop(lambda c: (c < 9).all(), lambda c: c + 1, V),
    ),
    (
        "compare, as in carry != 0",
        lambda: lax.while_loop(lambda c: c, lambda c: c - 1, 3),
        lambda: lax.while_loop(lambda c: c != 0, lambda c: c - 1, 3),
    ),
    (
        "an array of rank 0 is the same in every step: close over it",
        lambda: lax.scan(lambda c, x: (c, x), 0.0, V[0]),
        lambda: lax.scan(lambda c, x: (c + V[0], x), 0.0, V),
    ),
    (
        "slice the leaves to one leading size",
        lambda: lax.scan(lambda c, x: (c, x), 0.0, (V, V[:2])),
        lambda: lax.scan(lambda c, x: (c, x), 0.0, (V[:2], V[:2])),
    ),
    (
        "pass xs, or length=n",
        lambda: lax.scan(lambda c, x: (c, x), 0.0),
        lambda: lax.scan(lambda c, x: (c, x), 0.0, length=3),
    ),
    (
        "return carry, y; y may be None",
        lambda: lax.scan(lambda c, x: c, 0.0, V),
        lambda: lax.scan(lambda c, x: (c, None), 0.0, V),
    ),
    (
        "give a positive integer, or True for all steps",
        lambda: lax.scan(lambda c, x: (c, x), 0.0, V, unroll=0),
        lambda: [lax.scan(lambda c, x: (c, x), 0.0, V, unroll=u) for u in (1, True)],
    ),
    (
        "leave length out, or slice xs to it",
        lambda: lax.scan(lambda c, x: (c, x), 0.0, V, length=2),
        lambda: (lax.scan(lambda c, x: (c, x), 0.0, V), lax.scan(lambda c, x: (c, x), 0.0, V[:2], length=2)),
    ),
    (
        "give a length of 0 or more",
        lambda: lax.scan(lambda c, x: (c, x), 0.0, length=-1),
        lambda: lax.scan(lambda c, x: (c, x), 0.0, length=0),
    ),
    (
        "let the condition depend on values that have no cotangents",
        lambda: stagec.linear_transpose(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x), 1.0)(1.0),
        lambda: stagec.linear_transpose(
            lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1], 1.0
        )(1.0),
    ),
    (
        "pass the value to that function as an argument; it may be a callback, or have a derivative of its own",
        lambda: stagec.grad(closed_over)(2.0),
        lambda: stagec.grad(lambda p: own(1.0, p))(2.0),
    ),
    # Functions on top of these.
    (
        "use 'fast' or 'stable'",
        lambda: nn.standardize(V, algorithm="best"),
        lambda: [nn.standardize(V, algorithm=a) for a in ("fast", "stable")],
    ),
    (
        "choose an axis of even size; its halves are the values and the gates",
        lambda: nn.glu(X),
        lambda: nn.glu(X, axis=0),
    ),
    ("leave exact out, or use math.factorial", lambda: special.factorial(3, exact=True), lambda: special.factorial(3)),
    ("take the parts with real() and imag() first", lambda: special.gammaln(C), lambda: special.gammaln(snp.real(C))),
    ("a @ b.mT or a.mT @ b", lambda: X @ X, lambda: (X @ X.mT, X.mT @ X)),
    # Printing.
    (
        "name every argument in the format string: {} or {x}",
        lambda: debug.print("{}", 1, 2),
        lambda: (debug.print("{} {}", 1, 2), debug.print("{x}", x=1)),
    ),
    (
        'pass what it names: debug.print("x = {x}", x=x)',
        lambda: debug.print("{x}"),
        lambda: debug.print("x = {x}", x=V),
    ),
    (
        "write {x} for an argument, and {{ }} for braces that are to be printed",
        lambda: debug.print("{", 1),
        lambda: debug.print("{{ }} {x}", x=1),
    ),
    (
        "write {} without a format, or format each element: {:.2f} {:.2f}",
        lambda: debug.print("{:.2f}", V),
        lambda: (debug.print("{}", V), debug.print("{:.2f} {:.2f}", *V[:2])),
    ),
    (
        'pass a format string, "x = {x}", and not an f-string, which is formatted while tracing',
        lambda: stagec.jit(lambda x: debug.print(f"{x}", x))(V),
        lambda: stagec.jit(lambda x: debug.print("x = {x}", x=x))(V),
    ),
]
