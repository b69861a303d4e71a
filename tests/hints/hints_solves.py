"""Hints of solvers, of rules for batches, and of platforms."""

import stagec
import stagec.numpy as snp
from stagec import custom_derivatives as own, lax
from stagec.custom_batching import custom_vmap
from stagec.flatten_util import ravel_pytree
from stagec.scipy.optimize import minimize
from stagec.scipy.sparse.linalg import cg, gmres

V = snp.ones(3)


def linear(fun=lambda r, x: r * x, fun_transpose=lambda r, ct: r * ct):
    return own.linear_call(fun, fun_transpose, 2.0, V)


def residual(r):
    return own.linear_call(lambda r, x: r * x, lambda r, ct: r * ct, r, 1.0)


def argument(r):
    return own.linear_call(lambda _, x: 2 * x, lambda _, ct: 2 * ct, (), r)


def solve(b, **options):
    return lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, b: b / 2, **options)


def ruled(rule):
    made = custom_vmap(lambda x: x)
    made.def_vmap(rule)
    return stagec.vmap(made)(V)


def closed_over(x):
    made = custom_vmap(lambda: x)
    made.def_vmap(lambda size, batched: (snp.ones(size), True))
    return made()


def passed(x):
    made = custom_vmap(lambda x: x)
    made.def_vmap(lambda size, batched, x: (x, True))
    return made(x)


@stagec.custom_vjp
def sine(x):
    return snp.sin(x)


sine.defvjp(lambda x: (sine(own.custom_vjp_primal_tree_values(x)), None), lambda _, ct: (ct,), symbolic_zeros=True)


def least(x):
    return (x**2).sum()


CASES = [
    (
        "pass what is differentiated linearly in linear_args",
        lambda: stagec.linear_transpose(residual, 1.0)(1.0),
        lambda: stagec.linear_transpose(argument, 1.0)(1.0),
    ),
    (
        "return the containers of linear_args",
        lambda: linear(fun_transpose=lambda r, ct: (ct,)),
        linear,
    ),
    (
        "return arrays of the shapes and dtypes of linear_args",
        lambda: linear(fun_transpose=lambda r, ct: ct[:2]),
        linear,
    ),
    (
        "give transpose_solve, or symmetric=True if matvec is its own transpose",
        lambda: stagec.linear_transpose(solve, V)(V),
        lambda: [
            stagec.linear_transpose(lambda b, options=options: solve(b, **options), V)(V)
            for options in ({"transpose_solve": lambda _, b: b / 2}, {"symmetric": True})
        ],
    ),
    (
        "return a pair, or leave has_aux out",
        lambda: solve(V, has_aux=True),
        lambda: (
            solve(V),
            lax.custom_linear_solve(lambda x: 2 * x, V, lambda _, b: (b / 2, None), has_aux=True),
        ),
    ),
    (
        "return a pair, (result, True)",
        lambda: ruled(lambda size, batched, x: x),
        lambda: ruled(lambda size, batched, x: (x, True)),
    ),
    (
        "give one True or False for each array of the result",
        lambda: ruled(lambda size, batched, x: (x, [True])),
        lambda: ruled(lambda size, batched, x: (x, True)),
    ),
    (
        "make the axis of the batch the first one of each batched result",
        lambda: ruled(lambda size, batched, x: (x[None], True)),
        lambda: ruled(lambda size, batched, x: (x, True)),
    ),
    (
        "pass the value as an argument, so that the rule gets its batch",
        lambda: stagec.vmap(stagec.jit(closed_over))(V),
        lambda: stagec.vmap(stagec.jit(passed))(V),
    ),
    (
        "give a function for cpu=, or one for default=",
        lambda: lax.platform_dependent(1.0, cuda=snp.sin),
        lambda: (
            lax.platform_dependent(1.0, cuda=snp.sin, cpu=snp.sin),
            lax.platform_dependent(1.0, cuda=snp.sin, default=snp.sin),
        ),
    ),
    (
        "pass them by name, as in lax.platform_dependent(x, cpu=f, default=g)",
        lambda: lax.platform_dependent(1.0),
        lambda: lax.platform_dependent(1.0, cpu=snp.sin, default=snp.cos),
    ),
    (
        "call it in the forward function of f.defvjp(fwd, bwd, symbolic_zeros=True), with an argument of it",
        lambda: own.custom_vjp_primal_tree_values([V]),
        lambda: stagec.grad(sine)(1.0),
    ),
    (
        "pass lambda x: ... for what multiplies other arrays than vectors",
        lambda: cg(snp.ones((2, 3)), V),
        lambda: cg(lambda x: 2 * x, snp.ones((2, 3))),
    ),
    (
        "use 'batched' or 'incremental'",
        lambda: gmres(snp.eye(3), V, solve_method="direct"),
        lambda: [gmres(snp.eye(3), V, solve_method=method) for method in ("batched", "incremental")],
    ),
    (
        "use 'BFGS' or 'L-BFGS'",
        lambda: minimize(snp.sum, V, method="CG"),
        lambda: [minimize(least, V, method=method) for method in ("BFGS", "L-BFGS")],
    ),
    (
        "its options are maxiter, norm, gtol, line_search_maxiter",
        lambda: minimize(least, V, method="BFGS", options={"maxls": 3}),
        lambda: minimize(
            least, V, method="BFGS", options={"maxiter": 9, "norm": 2, "gtol": 1e-3, "line_search_maxiter": 5}
        ),
    ),
    (
        "stagec.flatten_util.ravel_pytree makes a vector of any arrays",
        lambda: minimize(least, snp.ones((2, 2)), method="BFGS"),
        lambda: minimize(least, ravel_pytree(snp.ones((2, 2)))[0], method="BFGS"),
    ),
    (
        "add up its result with .sum()",
        lambda: minimize(lambda x: x**2, V, method="BFGS"),
        lambda: minimize(lambda x: (x**2).sum(), V, method="BFGS"),
    ),
]
