"""Wrong calls of transformations and what goes with them."""

import operator

import numpy as np
from data import N, V


def with_vjp(fwd, bwd):
    """The gradient of a function with a rule."""

    def run(j):
        double = j.custom_vjp(lambda x: x * 2)
        if fwd is not None:
            double.defvjp(fwd, bwd)
        return j.grad(lambda x: double(x))(1.0)

    return run


def with_jvp(rule):
    """The derivative of a function with a rule."""

    def run(j):
        double = j.custom_jvp(lambda x: x * 2)
        if rule is not None:
            double.defjvp(rule)
        return j.jvp(double, (1.0,), (1.0,))

    return run


THREE = np.ones(3, np.float32)

CALLS = {
    "an option that XLA lacks": (
        lambda j: j.jit(lambda x: x, compiler_options={"fast": True})(V),
        "jit: compiler_options has 'fast', which is no option of XLA",
    ),
    "grad int": (
        lambda j: j.grad(lambda x: x.sum())(N),
        "grad requires real or complex floating arguments, got int32[3]",
    ),
    "grad python int": (
        lambda j: j.grad(lambda x: x * x)(3),
        "grad requires real or complex floating arguments, got int32[]",
    ),
    "grad vector": (
        lambda j: j.grad(lambda x: x)(V),
        "gradient only defined for scalar-output functions: ... returned",
    ),
    "grad int result": (
        lambda j: j.grad(lambda x: N.sum())(1.0),
        "grad requires real floating results: ... returned int32[]",
    ),
    "grad complex result": (
        lambda j: j.grad(lambda x: x * 1j)(1.0),
        "grad requires real floating results: ... returned complex64[]",
    ),
    "grad tuple result": (
        lambda j: j.grad(lambda x: (x, x))(1.0),
        "gradient only defined for scalar-output functions: ... returned a",
    ),
    "grad argnums": (
        lambda j: j.grad(lambda x: x, argnums=1)(1.0),
        "grad: argnums=1 needs more positional arguments than the 1 given",
    ),
    "grad argnums float": (lambda j: j.grad(lambda x: x, argnums=0.5)(1.0), "grad: argnums=0.5"),
    "grad not callable": (lambda j: j.grad(3), "grad takes a function, got int"),
    "grad aux": (lambda j: j.grad(lambda x: x, has_aux=True)(1.0), "has_aux=True needs ... to return (result, aux)"),
    "grad bool": (
        lambda j: j.grad(lambda x: 1.0 * x)(True),
        "grad requires real or complex floating arguments, got bool[]",
    ),
    "jacfwd int": (lambda j: j.jacfwd(lambda x: x)(N), "jacfwd requires real floating arguments, got int32[3]"),
    "vmap in_axes len": (
        lambda j: j.vmap(lambda x: x, in_axes=(0, 0))(V),
        "vmap: in_axes must be an integer, None, or a tuple with one entry for",
    ),
    "vmap in_axes none": (
        lambda j: j.vmap(lambda x: x, in_axes=None)(V),
        "vmap of ...: no argument has an axis to map",
    ),
    "vmap in_axes range": (
        lambda j: j.vmap(lambda x: x, in_axes=1)(V),
        "vmap: axis 1 of x is mapped, but it is float32[3] with 1 axes",
    ),
    "vmap in_axes float": (
        lambda j: j.vmap(lambda x: x, in_axes=0.5)(V),
        "vmap: in_axes must hold integers and None, got 0.5",
    ),
    "vmap in_axes tree": (
        lambda j: j.vmap(lambda x: x, in_axes=({"a": 0},))(V),
        "vmap: in_axes does not fit what it describes: pytrees differ at [0]:",
    ),
    "vmap out_axes tree": (
        lambda j: j.vmap(lambda x: x, out_axes=(0, 0))(V),
        "vmap: out_axes does not fit what it describes: pytrees differ at the",
    ),
    "vmap out_axes range": (
        lambda j: j.vmap(lambda x: x, out_axes=3)(V),
        "vmap: out_axes 3 is out of bounds for result of ..., which has 1 axes",
    ),
    "vmap out_axes none": (
        lambda j: j.vmap(lambda x: x, out_axes=None)(V),
        "vmap: out_axes is None for result of ..., which differs between",
    ),
    "vmap sizes": (
        lambda j: j.vmap(lambda x, y: x)(V, V[:2]),
        "vmap got inconsistent sizes for array axes to be mapped: 3, 2",
    ),
    "vmap scalar": (lambda j: j.vmap(lambda x: x)(1.0), "vmap: axis 0 of x is mapped, but it is float32[] with 0 axes"),
    "vmap axis_size": (
        lambda j: j.vmap(lambda x: x, axis_size=4)(V),
        "vmap got inconsistent sizes for array axes to be mapped: 3 where",
    ),
    "vmap no args": (lambda j: j.vmap(lambda: 1.0)(), "vmap of ...: no argument has an axis to map"),
    "vmap not callable": (lambda j: j.vmap(3), "vmap takes a function, got int"),
    "vmap axis name unbound": (lambda j: j.lax.psum(V, "i"), "unbound axis name: i"),
    "jit argnums": (
        lambda j: j.jit(lambda x: x, static_argnums=3)(V),
        "static_argnums=3 is out of range: ... takes 1 positional argument (x)",
    ),
    "jit static_argnames": (
        lambda j: j.jit(lambda x: x, static_argnames="y")(V),
        "static_argnames='y': ... has no such parameter; it has x",
    ),
    "jit argnums string": (
        lambda j: j.jit(lambda x: x, static_argnums="x")(V),
        "static_argnums must be int or a sequence of them, got 'x'",
    ),
    "jit argnums float": (
        lambda j: j.jit(lambda x: x, static_argnums=0.5)(V),
        "static_argnums must be int or a sequence of them, got 0.5",
    ),
    "jit static array": (
        lambda j: j.jit(lambda x: x, static_argnums=0)(V),
        "static argument x of ... is not hashable: ndarray",
    ),
    "jit static list": (
        lambda j: j.jit(lambda x: 1, static_argnums=0)([1]),
        "static argument x of ... is not hashable: list",
    ),
    "jit donate and static": (
        lambda j: j.jit(lambda x: x, static_argnums=0, donate_argnums=0)(3),
        "argument 0 of ... is both static and donated",
    ),
    "jit object result": (
        lambda j: j.jit(lambda x: object())(1),
        "... returned something that is not an array or a number",
    ),
    "jit string result": (lambda j: j.jit(lambda x: "a")(1), "... returned something that is not an array or a number"),
    "jit static argname int": (
        lambda j: j.jit(lambda x: x, static_argnames=0)(V),
        "static_argnames must be str or a sequence of them, got 0",
    ),
    "jvp tangent shape": (
        lambda j: j.jvp(lambda x: x, (V,), (V[:2],)),
        "jvp: a tangent has shape (2,), but the value it belongs to (3,)",
    ),
    "jvp tangent dtype": (
        lambda j: j.jvp(lambda x: x, (V,), (N,)),
        "jvp: a tangent has dtype int32, but float32[3] needs float32",
    ),
    "jvp int tangent": (
        lambda j: j.jvp(lambda x: x, (N,), (N,)),
        "jvp: a tangent has dtype int32, but int32[3] needs float0",
    ),
    "jvp not tuple": (lambda j: j.jvp(lambda x: x, V, V), "jvp: primals must be a tuple or a list, got ndarray"),
    "jvp counts": (
        lambda j: j.jvp(lambda x: x, (V,), (V, V)),
        "jvp: the tangents have another structure than the values they belong",
    ),
    "jvp aux": (
        lambda j: j.jvp(lambda x: x, (V,), (V,), has_aux=True),
        "has_aux=True needs ... to return (result, aux)",
    ),
    "vjp cotangent shape": (
        lambda j: j.vjp(lambda x: x, V)[1](V[:2]),
        "vjp: a cotangent has shape (2,), but the value it belongs to (3,)",
    ),
    "vjp cotangent dtype": (
        lambda j: j.vjp(lambda x: x, V)[1](N),
        "vjp: a cotangent has dtype int32, but float32[3] needs float32",
    ),
    "vjp cotangent struct": (
        lambda j: j.vjp(lambda x: (x, x), V)[1](V),
        "vjp: the cotangents have another structure than the values they",
    ),
    "vjp cotangent count": (
        lambda j: j.vjp(lambda x: x, V)[1](V, V),
        "the function that vjp returned takes one cotangent, got 2",
    ),
    "vjp cotangent complex": (
        lambda j: j.vjp(lambda x: x, V)[1](V * 1j),
        "vjp: a cotangent has dtype complex64, but float32[3] needs float32",
    ),
    "linearize tangent": (
        lambda j: j.linearize(lambda x: x, V)[1](V[:2]),
        "linearize: a tangent has shape (2,), but the value it belongs to (3,)",
    ),
    "linearize count": (
        lambda j: j.linearize(lambda x: x, V)[1](V, V),
        "linearize: the tangents have another structure than the values they",
    ),
    "linear_transpose nonlinear": (
        lambda j: j.linear_transpose(lambda x: x * x, V)(V),
        "this is not linear in what is transposed: it combines two values that",
    ),
    "linear_transpose solve_triangular": (
        lambda j: j.linear_transpose(lambda a: j.scipy.linalg.solve_triangular(a, V), np.eye(3, dtype="f4"))(V),
        "this is not linear in what is transposed: the solution of a system is no linear function of the matrix",
    ),
    "linear_transpose solve": (
        lambda j: j.linear_transpose(lambda a: j.numpy.linalg.solve(a, V), np.eye(3, dtype="f4"))(V),
        "this is not linear in what is transposed: the solution of a system is no linear function of the matrix",
    ),
    "linear_transpose tridiagonal_solve": (
        lambda j: j.linear_transpose(lambda d: j.lax.linalg.tridiagonal_solve(V, d, V, V[:, None]), V)(V[:, None]),
        "this is not linear in what is transposed: the solution of a system is no linear function of the matrix",
    ),
    "linear_transpose ct": (
        lambda j: j.linear_transpose(lambda x: x * 2, V)(V[:2]),
        "linear_transpose: a cotangent has shape (2,), but the value it",
    ),
    "pure_callback shape": (
        lambda j: j.jit(lambda x: j.pure_callback(lambda x: x, j.ShapeDtypeStruct((2,), np.float32), x))(
            V
        ).block_until_ready(),
        "pure_callback: ... returned float32[3] where float32[2] was promised",
    ),
    "device_put device": (lambda j: j.device_put(V, "foo"), "'foo' is not a known platform"),
    "tree.map structure": (
        lambda j: j.tree.map(operator.add, (1, 2), (1, 2, 3)),
        "pytrees differ at the root: a tuple of length 3 instead of 2",
    ),
    "tree.unflatten count": (
        lambda j: j.tree.unflatten(j.tree.structure((1, 2)), [1]),
        "unflatten: 1 leaves were given for a structure of 2",
    ),
    "ShapeDtypeStruct": (
        lambda j: j.ShapeDtypeStruct(None, np.float32),
        "ShapeDtypeStruct: a shape must be an integer, got NoneType: None",
    ),
    "ShapeDtypeStruct dtype": (
        lambda j: j.ShapeDtypeStruct((2,), None),
        "None is not a dtype that stagec arrays can have",
    ),
    "grad holomorphic": (
        lambda j: j.grad(lambda x: x, holomorphic=True)(1.0),
        "grad requires complex arguments, got float32[]",
    ),
    "grad none result": (
        lambda j: j.grad(lambda x: None)(1.0),
        "gradient only defined for scalar-output functions: ... returned None",
    ),
    "jvp list": (
        lambda j: j.jvp(lambda x: x, [V], (V,)),
        "jvp: the tangents have another structure than the values they belong",
    ),
    "vjp none": (
        lambda j: j.vjp(lambda x: x, V)[1](None),
        "vjp: the cotangents have another structure than the values they",
    ),
    "vmap out_axes str": (
        lambda j: j.vmap(lambda x: x, out_axes="a")(V),
        "vmap: out_axes must hold integers and None, got 'a'",
    ),
    "compiled shape": (
        lambda j: j.jit(lambda x: x).lower(V).compile()(V[:2]),
        "... was compiled for x of float32[3], called with float32[2]",
    ),
    "closure_convert": (lambda j: j.closure_convert(3, V), "closure_convert takes a function, got int"),
    "pure_callback not callable": (lambda j: j.pure_callback(3, V, V), "pure_callback takes a function, got int"),
    "custom_vjp without a rule": (with_vjp(None, None), "custom_vjp function ... has no rule"),
    "custom_vjp fwd without residuals": (
        with_vjp(lambda x: x, lambda r, ct: (ct,)),
        "the forward function of ..., must return (result, residuals)",
    ),
    "custom_vjp fwd arity": (
        with_vjp(lambda: (1.0, None), lambda r, ct: (ct,)),
        "the forward function of ..., does not take 1 argument",
    ),
    "custom_vjp bwd arity": (
        with_vjp(lambda x: (x, None), lambda ct: (ct,)),
        "the backward function of ..., does not take 2 arguments",
    ),
    "custom_vjp bwd count": (
        with_vjp(lambda x: (x, None), lambda r, ct: (ct, ct)),
        "the backward function of ..., must return a tuple of one cotangent for each of the 1",
    ),
    "custom_vjp bwd shape": (
        with_vjp(lambda x: (x, None), lambda r, ct: (THREE,)),
        "the backward function of ..., must return float32[], but returned float32[3]",
    ),
    "custom_jvp without a rule": (with_jvp(None), "custom_jvp function ... has no rule"),
    "custom_jvp without a tangent": (
        with_jvp(lambda primals, tangents: primals[0]),
        "the jvp rule of ..., must return (result, tangent)",
    ),
    "custom_jvp arity": (with_jvp(lambda primals: primals * 2), "the jvp rule of ..., does not take 2 arguments"),
    "custom_jvp shape": (
        with_jvp(lambda primals, tangents: (primals[0], THREE)),
        "the jvp rule of ..., must return float32[], but returned float32[3]",
    ),
    "custom_jvp dtype": (
        with_jvp(lambda primals, tangents: (primals[0], np.int32(1))),
        "the jvp rule of ..., must return float32[], but returned int32[]",
    ),
}
