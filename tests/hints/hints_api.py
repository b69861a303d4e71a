"""Hints of `jit`, the transformations, custom derivatives, `export`, and the checks of values."""

# ruff: noqa: E501

import contextlib
import functools
import pickle

import cloudpickle
import numpy as np

import stagec
import stagec.numpy as snp
from stagec import dtypes, lax, nn

V = snp.array([3.0, 1.0, 2.0])
X = snp.ones((2, 3))
EMPTY = snp.ones((0,))


def square(x):
    return x * x


def offload(saved, moved):
    return stagec.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=saved,
        names_which_can_be_offloaded=moved,
        offload_src="device",
        offload_dst="pinned_host",
    )


def custom_jvp(rule, fun=square):
    made = stagec.custom_jvp(fun)
    made.defjvp(rule)
    return made


def custom_vjp(fwd, bwd, fun=square):
    made = stagec.custom_vjp(fun)
    made.defvjp(fwd, bwd)
    return made


def custom_gradient(pull):
    return stagec.custom_gradient(lambda x: (x * x, pull))


good_jvp = custom_jvp(lambda primals, tangents: (square(*primals), 2 * primals[0] * tangents[0]))
good_vjp = custom_vjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))


def check(fun):
    """A check that opens no other device: the driver of some keeps a core busy from then on."""
    with stagec.config.override(platforms="cpu"):
        return stagec.check(fun, snp.ones(3))


def keyword_only(x, *, n):
    return x * n


def positional(x, n):
    return x * n


# What Python knows no signature of.
minimum = stagec.custom_jvp(type("Minimum", (), {"__call__": staticmethod(min)})())
minimum._signature = None
minimum.defjvp(lambda primals, tangents: (min(*primals), tangents[0]))


@stagec.pattern("stablehlo.abs")
def forget_abs(op):
    """abs(x) -> x, which is wrong."""
    return op.operand


nondiff = stagec.custom_jvp(positional, nondiff_argnums=1)
nondiff.defjvp(lambda n, primals, tangents: (primals[0] * n, tangents[0] * n))


def converted():
    return stagec.closure_convert(lambda x: x["a"] * 2, {"a": 1.0})[0]


def nans(f, *args):
    with stagec.debug_nans():
        return f(*args)


def infs(f, *args):
    with stagec.debug_infs():
        return f(*args)


def without_kernels(f, x):
    with stagec.config.override(cpu_kernels=False):
        return f(x)


def copied(x):
    return stagec.pure_callback(np.asarray, stagec.ShapeDtypeStruct(x.shape, x.dtype), x), snp.exp(V)


def without_jit(f, x):
    with stagec.disable_jit():
        return nans(stagec.jit(f), x)


CHECKS = "; debug_nans=False turns this check off"


def reduced(x, start):
    return stagec.lax.reduce(x, start, lambda a, b: a * b + 1, (0,))


exported = stagec.export(square)


def exported_wide():
    with stagec.enable_x64():
        return exported("f64[3]")


def nested_profiles(inner):
    with stagec.profile(kernels=False), inner:
        pass


def used_twice(second):
    used = stagec.profile(kernels=False)
    with used:
        snp.sin(1.0)
    with second(used):
        pass


LINEAR = stagec.jit(lambda x: x * 2 + 1)

CASES = [
    (
        "choose a function that has operations on arguments with elements",
        lambda: stagec.view(lambda x: x, 1.0),
        lambda: stagec.view(lambda x: -x, 1.0),
    ),
    (
        "leave it out, or correct it: the names of XLA's options begin with xla_",
        lambda: stagec.jit(lambda x: x, compiler_options={"fast": True}),
        lambda: stagec.jit(lambda x: x, compiler_options={"xla_cpu_enable_fast_math": True})(X),
    ),
    ("keep each name in one list", lambda: offload(["kept"], ["kept"]), lambda: offload(["kept"], ["other"])),
    (
        "give a dict, or leave it out",
        lambda: stagec.jit(lambda x: x, compiler_options=["xla_cpu_enable_fast_math"]),
        lambda: stagec.jit(lambda x: x, compiler_options={})(X),
    ),
    (
        "give True, False or 'exact'",
        lambda: stagec.jit(snp.sin, tiered="always"),
        lambda: stagec.jit(snp.sin, tiered="exact"),
    ),
    (
        "give True, False, or names of nnan, ninf, nsz, arcp, contract, afn, reassoc, such as 'nnan,nsz'",
        lambda: stagec.jit(snp.sin, fast_math="nan"),
        lambda: stagec.jit(snp.sin, fast_math="nnan"),
    ),
    (
        "check the parts of the function before and after the calls",
        lambda: check(lambda x: stagec.debug.print("{}", x) or x + 1),
        lambda: check(lambda x: x + 1),
    ),
    (
        "call it outside",
        lambda: stagec.jit(lambda x: stagec.check(snp.sin, x))(snp.ones(3)),
        lambda: check(snp.sin),
    ),
    (
        "profile the outer block alone",
        lambda: nested_profiles(stagec.profile(kernels=False)),
        lambda: nested_profiles(contextlib.nullcontext()),
    ),
    (
        "make another for each block: stagec.profile()",
        lambda: used_twice(lambda used: used),
        lambda: used_twice(lambda used: stagec.profile(kernels=False)),
    ),
    (
        "test `ok`",
        lambda: check(snp.sin).save("report.py"),
        lambda: check(snp.sin).ok,
    ),
    ("pass the arguments by position", lambda: minimum(a=1.0, b=2.0), lambda: minimum(1.0, 2.0)),
    # vmap.
    ("write stagec.vmap(f)(x), not stagec.vmap(f(x))", lambda: stagec.vmap(square(V)), lambda: stagec.vmap(square)(V)),
    (
        "write 0 for the first axis, None for what all elements share",
        lambda: stagec.vmap(square, in_axes="first")(V),
        lambda: stagec.vmap(lambda x, y: x * y, in_axes=(0, None))(V, V),
    ),
    (
        "give one entry for each argument, as in in_axes=(0, 0)",
        lambda: stagec.vmap(snp.add, in_axes=(0,))(V, V),
        lambda: stagec.vmap(snp.add, in_axes=(0, 0))(V, V),
    ),
    (
        "pass an array with that axis, or None for x in in_axes",
        lambda: stagec.vmap(square)(1.0),
        lambda: (stagec.vmap(square)(V), stagec.vmap(lambda x, y: x * y, in_axes=(None, 0))(1.0, V)),
    ),
    (
        "give an axis for at least one argument in in_axes, or give axis_size",
        lambda: stagec.vmap(square, in_axes=None)(V),
        lambda: (stagec.vmap(square, in_axes=0)(V), stagec.vmap(square, in_axes=None, axis_size=2)(V)),
    ),
    (
        "pass batches of one size, or None in in_axes for what all elements share",
        lambda: stagec.vmap(lambda x, y: x)(V, V[:2]),
        lambda: (stagec.vmap(lambda x, y: x)(V, V), stagec.vmap(lambda x, y: x, in_axes=(0, None))(V, V[:2])),
    ),
    (
        "give the axis where the elements are to be, or reduce it with lax.psum or lax.pmean",
        lambda: stagec.vmap(square, out_axes=None)(V),
        lambda: (
            stagec.vmap(square, out_axes=0)(V),
            stagec.vmap(lambda x: lax.psum(x, "i"), out_axes=None, axis_name="i")(V),
            stagec.vmap(lambda x: lax.pmean(x, "i"), out_axes=None, axis_name="i")(V),
        ),
    ),
    (
        "give an axis from -1 to 0",
        lambda: stagec.vmap(square, out_axes=3)(V),
        lambda: [stagec.vmap(square, out_axes=i)(V) for i in (-1, 0)],
    ),
    # Custom derivatives.
    ("give it one with square.defjvp(...)", lambda: stagec.custom_jvp(square)(1.0), lambda: stagec.grad(good_jvp)(1.0)),
    ("give it one with square.defvjp(...)", lambda: stagec.custom_vjp(square)(1.0), lambda: stagec.grad(good_vjp)(1.0)),
    (
        "return the same containers for both",
        lambda: stagec.grad(custom_jvp(lambda p, t: (p[0] ** 2, (t[0],))))(1.0),
        lambda: stagec.grad(good_jvp)(1.0),
    ),
    ("return a pair", lambda: stagec.grad(custom_jvp(lambda p, t: p[0]))(1.0), lambda: stagec.grad(good_jvp)(1.0)),
    (
        "give one rule with defjvp",
        lambda: stagec.custom_jvp(positional, nondiff_argnums=1).defjvps(None),
        lambda: stagec.grad(nondiff)(1.0, 2),
    ),
    (
        "sum over the axes that were broadcast",
        lambda: stagec.grad(
            custom_vjp(lambda x: ((x * V).sum(), None), lambda _, ct: (ct * V,), lambda x: (x * V).sum())
        )(1.0),
        lambda: stagec.grad(
            custom_vjp(lambda x: ((x * V).sum(), None), lambda _, ct: ((ct * V).sum(),), lambda x: (x * V).sum())
        )(1.0),
    ),
    (
        "convert it with astype('float32')",
        lambda: stagec.grad(custom_vjp(lambda x: (x, None), lambda _, ct: (np.int32(1),)))(1.0),
        lambda: stagec.grad(custom_vjp(lambda x: (x, None), lambda _, ct: (np.int32(1).astype("float32"),)))(1.0),
    ),
    (
        "return the same containers as the function",
        lambda: stagec.grad(stagec.jit(custom_jvp(lambda p, t: ((p[0],), (t[0],)))))(1.0),
        lambda: stagec.grad(good_jvp)(1.0),
    ),
    (
        "make them positional, and name those that are no arrays in nondiff_argnums",
        lambda: custom_jvp(lambda p, t: (p[0], t[0]), keyword_only)(1.0, n=2),
        lambda: nondiff(1.0, 2),
    ),
    (
        "convert it with arguments of the structure that it is called with",
        lambda: converted()(1.0),
        lambda: converted()({"a": 1.0}),
    ),
    (
        "return a tuple with the structure of the arguments",
        lambda: stagec.grad(custom_gradient(lambda ct: (ct, ct)))(1.0),
        lambda: stagec.grad(custom_gradient(lambda ct: (ct,)))(1.0),
    ),
    (
        "return the same containers; None stands for zero",
        lambda: stagec.grad(custom_vjp(lambda x: (x["a"], None), lambda _, ct: ({"b": ct},), lambda x: x["a"]))(
            {"a": 1.0}
        ),
        lambda: [
            stagec.grad(custom_vjp(lambda x: (x["a"], None), lambda _, ct, r=r: (r(ct),), lambda x: x["a"]))({"a": 1.0})
            for r in (lambda ct: {"a": ct}, lambda ct: {"a": None})
        ],
    ),
    (
        "return a tuple, (ct,) for one argument; None stands for zero",
        lambda: stagec.grad(custom_vjp(lambda x: (x, None), lambda _, ct: ct))(1.0),
        lambda: [stagec.grad(custom_vjp(lambda x: (x, None), lambda _, ct, r=r: (r,)))(1.0) for r in (1.0, None)],
    ),
    (
        "return a pair; residuals may be None",
        lambda: stagec.grad(custom_vjp(lambda x: x, lambda _, ct: (ct,)))(1.0),
        lambda: stagec.grad(custom_vjp(lambda x: (x, None), lambda _, ct: (ct,)))(1.0),
    ),
    # Derivatives.
    (
        "close over integers, as with functools.partial",
        lambda: stagec.linear_transpose(lambda n, x: x * n, 2, 1.0),
        lambda: stagec.linear_transpose(functools.partial(lambda n, x: x * n, 2), 1.0)(1.0),
    ),
    (
        "give one of each for every argument, as in stagec.jvp(f, (x,), (x_dot,))",
        lambda: stagec.jvp(square, 1.0, 1.0),
        lambda: stagec.jvp(square, (1.0,), (1.0,)),
    ),
    (
        "convert it with astype('float32')",
        lambda: stagec.jvp(square, (V,), (V.astype(int),)),
        lambda: stagec.jvp(square, (V,), (V.astype(int).astype("float32"),)),
    ),
    (
        "integers have no derivatives: give np.zeros((), dtypes.float0)",
        lambda: stagec.jvp(lambda n: n, (1,), (1,)),
        lambda: stagec.jvp(lambda n: n, (1,), (np.zeros((), dtypes.float0),)),
    ),
    (
        "give a tangent of shape (3,)",
        lambda: stagec.jvp(square, (V,), (V[:2],)),
        lambda: stagec.jvp(square, (V,), (V,)),
    ),
    (
        "give one cotangent for each value, in the same containers",
        lambda: stagec.vjp(lambda x: {"y": x}, 1.0)[1](1.0),
        lambda: stagec.vjp(lambda x: {"y": x}, 1.0)[1]({"y": 1.0}),
    ),
    (
        "return a complex number",
        lambda: stagec.grad(lambda z: z.real, holomorphic=True)(1j),
        lambda: stagec.grad(lambda z: z * z, holomorphic=True)(1j),
    ),
    (
        "return a float; holomorphic=True is for complex functions",
        lambda: stagec.grad(lambda x: 1j * x)(1.0),
        lambda: (stagec.grad(lambda x: x)(1.0), stagec.grad(lambda z: 1j * z, holomorphic=True)(1j)),
    ),
    (
        "reduce it with .sum() or .mean(), or use stagec.jacrev or stagec.vjp",
        lambda: stagec.grad(square)(V),
        lambda: (
            stagec.grad(lambda x: square(x).sum())(V),
            stagec.grad(lambda x: square(x).mean())(V),
            stagec.jacrev(square)(V),
            stagec.vjp(square, V),
        ),
    ),
    (
        "end the function with return, and the value to differentiate",
        lambda: stagec.grad(lambda x: print(end=""))(1.0),
        lambda: stagec.grad(square)(1.0),
    ),
    (
        "return one scalar, with has_aux=True for the rest, or use stagec.jacrev",
        lambda: stagec.grad(lambda x: (x, x))(1.0),
        lambda: (stagec.grad(lambda x: (x, x), has_aux=True)(1.0), stagec.jacrev(lambda x: (x, x))(1.0)),
    ),
    (
        "pass the function itself, as in stagec.grad(f)(x), not its result",
        lambda: stagec.grad(square(1.0)),
        lambda: stagec.grad(square)(1.0),
    ),
    (
        "pass the function itself, as in stagec.jvp(f, (x,), (t,)), not its result",
        lambda: stagec.jvp(1.0, (1.0,), (1.0,)),
        lambda: stagec.jvp(square, (1.0,), (1.0,)),
    ),
    (
        "leave it out, and sum with lax.psum",
        lambda: stagec.grad(square, reduce_axes=("i",))(1.0),
        lambda: stagec.vmap(lambda x: lax.psum(stagec.grad(square)(x), "i"), axis_name="i")(V),
    ),
    (
        "pass a float (3.0 instead of 3), leave it out of argnums, or pass allow_int=True",
        lambda: stagec.jacrev(square)(3),
        lambda: (
            stagec.jacrev(square)(3.0),
            stagec.jacrev(lambda n, x: n * x, argnums=1)(3, 1.0),
            stagec.jacrev(lambda n: n * 2.0, allow_int=True)(3),
        ),
    ),
    (
        "pass a float (3.0 instead of 3), leave it out of argnums, or pass allow_int=True",
        lambda: stagec.grad(square)(3),
        lambda: (
            stagec.grad(square)(3.0),
            stagec.grad(lambda n, x: n * x, argnums=1)(3, 1.0),
            stagec.grad(lambda n: n * 2.0, allow_int=True)(3),
        ),
    ),
    (
        "convert it with astype(complex)",
        lambda: stagec.grad(square, holomorphic=True)(V[0]),
        lambda: stagec.grad(square, holomorphic=True)(V[0].astype(complex)),
    ),
    (
        "pass a float (3.0 instead of 3); for a complex function that is holomorphic, pass holomorphic=True",
        lambda: stagec.jacfwd(square)(snp.array(1j)),
        lambda: (stagec.jacfwd(square)(3.0), stagec.jacfwd(square, holomorphic=True)(snp.array(1j))),
    ),
    ("pass differentiated arguments by position", lambda: stagec.grad(square)(x=1.0), lambda: stagec.grad(square)(1.0)),
    (
        "give an integer, or a tuple of them",
        lambda: stagec.grad(square, argnums="x")(1.0),
        lambda: (stagec.grad(square, argnums=0)(1.0), stagec.grad(snp.multiply, argnums=(0, 1))(1.0, 2.0)),
    ),
    (
        "pass other values through functools.partial or a closure",
        lambda: stagec.vmap(lambda m, x: x)("up", V),
        lambda: stagec.vmap(functools.partial(lambda m, x: x, "up"))(V),
    ),
    (
        "return arrays, numbers, or containers of them; has_aux=True passes other values through",
        lambda: stagec.jacrev(lambda x: (x, "text"))(1.0),
        lambda: stagec.grad(lambda x: (x, x * 2), has_aux=True)(1.0),
    ),
    (
        "return a pair, or leave has_aux out",
        lambda: stagec.grad(square, has_aux=True)(1.0),
        lambda: (stagec.grad(lambda x: (x, x), has_aux=True)(1.0), stagec.grad(square)(1.0)),
    ),
    # jit.
    (
        "write stagec.export(f)(x), not stagec.export(f(x))",
        lambda: stagec.export(None),
        lambda: stagec.export(square)(1.0),
    ),
    (
        "pass mode=... instead",
        lambda: stagec.jit(lambda x, mode="a": x, static_argnames="mode")(2.0, mod="a"),
        lambda: stagec.jit(lambda x, mode="a": x, static_argnames="mode")(2.0, mode="a"),
    ),
    ("leave it out", lambda: stagec.jit(square)(2.0, zebra="a"), lambda: stagec.jit(square)(2.0)),
    ("write stagec.jit(f)(x), not stagec.jit(f(x))", lambda: stagec.jit(square(1.0)), lambda: stagec.jit(square)(1.0)),
    (
        "return arrays, numbers, or containers of them; return other values from a function without jit",
        lambda: stagec.jit(lambda x: (x, "text"))(1.0),
        lambda: (stagec.jit(lambda x: (x, {"y": 1}))(1.0), (lambda x: (stagec.jit(square)(x), "text"))(1.0)),
    ),
    (
        "leave all but one out",
        lambda: stagec.jit(square, backend="cpu", device="cpu"),
        lambda: stagec.jit(square, device="cpu"),
    ),
    (
        "use target='cpu'; lower(...).as_text(stage) shows the code for any target",
        lambda: stagec.jit(square, target="cpu:aarch64")(1.0),
        lambda: (
            stagec.jit(square, target="cpu")(1.0),
            stagec.jit(square, target="cpu:aarch64").lower(1.0).as_text("stablehlo"),
        ),
    ),
    (
        "use 'stablehlo'; as_text(stage) shows others as text",
        lambda: stagec.jit(square).lower(1.0).compiler_ir("llvm"),
        lambda: (
            stagec.jit(square).lower(1.0).compiler_ir("stablehlo"),
            stagec.jit(square).lower(1.0).as_text("graph"),
        ),
    ),
    (
        "leave it out, and name arguments with values in static_argnums",
        lambda: stagec.checkpoint(square, concrete=True),
        lambda: stagec.checkpoint(lambda x, n: x if n else -x, static_argnums=1)(1.0, 2),
    ),
    ("write stagec.checkpoint(f)(x)", lambda: stagec.checkpoint(square(1.0)), lambda: stagec.checkpoint(square)(1.0)),
    (
        "pass arrays, numbers, or containers of them",
        lambda: stagec.device_put("text"),
        lambda: stagec.device_put({"x": V, "n": 1}),
    ),
    (
        "call it from outside; a jitted function inside another one is part of the outer program",
        lambda: stagec.jit(lambda x: stagec.explain(stagec.jit(square), x) and x)(1.0),
        lambda: stagec.explain(stagec.jit(lambda x: stagec.jit(square)(x)), 1.0),
    ),
    (
        "leave names out: those of passes.pass_names() are for pipelines",
        lambda: stagec.jit(square, passes=["simplify"]),
        lambda: stagec.jit(square, passes=[])(1.0),
    ),
    (
        "give a Pass, a Pattern, a list of patterns, or a function of a module",
        lambda: stagec.jit(square, passes=3),
        lambda: stagec.jit(square, passes=[stagec.Pass("none", lambda module, options: None)]),
    ),
    (
        "treat the empty case outside of the function",
        lambda: stagec.jit(copied, reproducible=True)(EMPTY),
        lambda: stagec.jit(copied, reproducible=True)(V),
    ),
    (
        "use cpu:aarch64 or a level of x86-64, or to_c and to_wasm of what stagec.export returns",
        lambda: stagec.jit(square, target="cpu:riscv64", reproducible=True).lower(V).as_text("kernels"),
        lambda: (
            stagec.jit(square, target="cpu:x86-64-v2", reproducible=True)(V),
            stagec.jit(square, target="cpu:aarch64", reproducible=True).lower(V).as_text("kernels"),
            stagec.export(square, "cpu:riscv64", reproducible=True)(V).to_c("same"),
            stagec.export(square, reproducible=True)(V).to_wasm("same"),
        ),
    ),
    (
        "leave out the options that switch them off",
        lambda: without_kernels(stagec.jit(square, reproducible=True), V),
        lambda: stagec.jit(square, reproducible=True)(V),
    ),
    (
        "compile it for each size",
        lambda: stagec.jit(square, dynamic={"x": "n"}, reproducible=True)(V),
        lambda: [stagec.jit(square, reproducible=True)(x) for x in (V, V[:1])],
    ),
    (
        "leave this target out",
        lambda: stagec.export(square, "cpu:armv7", reproducible=True)(V).to_c("same-armv7"),
        lambda: stagec.export(square, "cpu:aarch64", reproducible=True)(V).to_c("same-aarch64"),
    ),
    (
        "use cpu:x86-64-v2 or a higher level",
        lambda: stagec.jit(square, target="cpu:x86-64", reproducible=True)(V),
        lambda: stagec.jit(square, target="cpu:x86-64-v2", reproducible=True)(V),
    ),
    # export.
    (
        "pass what stagec.export(f)(...) returned, a list of these, or a dict of names to either",
        lambda: stagec.save("never", {}),
        lambda: [
            stagec.save("f.stagec", e)
            for e in (exported(V), [exported(V), exported(X)], {"a": exported(V), "b": [exported(X)]})
        ],
    ),
    (
        "pass what stagec.export(f)(...) returned, a list of these, or a dict of names to either",
        lambda: stagec.save("never", {"a": 3}),
        lambda: stagec.save("f.stagec", {"a": exported(V)}),
    ),
    (
        "pass what stagec.export(f)(...) returned, a list of these, or a dict of names to either",
        lambda: stagec.save("never", 3),
        lambda: stagec.save("f.stagec", exported(V)),
    ),
    (
        "pass a dict of names to functions",
        lambda: stagec.save("never", [exported(V), stagec.export(abs)(V)]),
        lambda: stagec.save("f.stagec", {"square": exported(V), "abs": stagec.export(abs)(V)}),
    ),
    (
        "leave one out, or save them under different names",
        lambda: stagec.save("never", [exported(V), exported(V)]),
        lambda: (stagec.save("f.stagec", [exported(V)]), stagec.save("f.stagec", {"a": exported(V), "b": exported(V)})),
    ),
    (
        "export it for sizes from 1 on, and treat the empty case outside",
        lambda: stagec.export(reduced)(EMPTY, 0.0),
        lambda: (stagec.export(reduced)(V[:1], 0.0), exported(EMPTY)),
    ),
    (
        "export it for sizes that are numbers, once for each that you need",
        lambda: exported("f32[b]").to_html("square.html"),
        lambda: [exported(f"f32[{n}]").to_html(f"square{n}.html") for n in (1, 8)],
    ),
    (
        "export it for sizes that are numbers, leave nothing open but the number of independent rows, or bound other "
        "sizes, as in 'n <= 16': there is code for each of up to 128 values, or for more if arrays can be padded",
        lambda: exported("f32[3,b]").to_c("square"),
        lambda: [exported(text).to_c(f"square{i}") for i, text in enumerate(("f32[3,8]", "f32[b,3]", "f32[3,b <= 2]"))],
    ),
    (
        "use cpu:x86-64, cpu:x86-64-v2, cpu:x86-64-v3, cpu:x86-64-v4, cpu:aarch64, cpu:riscv64, cpu:armv7",
        lambda: stagec.export(square, "cpu:generic")(V).to_c("square"),
        lambda: [
            stagec.export(square, f"cpu:{level}")(V).to_c(f"square-{level}")
            for level in ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "riscv64", "armv7")
        ],
    ),
    (
        "use weights='object' or weights='file'",
        lambda: exported(V).to_c("square", weights=False),
        lambda: [exported(V).to_c(f"square-{where}", weights=where) for where in ("object", "file")],
    ),
    (
        "write a C library, with to_c, or export it for other targets",
        lambda: stagec.export(square, "cpu:riscv64")(V).save("square.stagec"),
        lambda: (
            stagec.export(square, "cpu:riscv64")(V).to_c("square-riscv64"),
            stagec.export(square, "cpu:aarch64")(V).save("square.stagec"),
        ),
    ),
    (
        "pass a name as a str, such as name='f'",
        lambda: exported(V).to_c("named", name=5),
        lambda: exported(V).to_c("named", name="f"),
    ),
    (
        "enable 64-bit dtypes, as by `with stagec.enable_x64():` around the export, or describe it with 32 bits",
        lambda: exported("f64[3]"),
        lambda: (exported("f32[3]"), exported_wide()),
    ),
    (
        "use weights='module' or weights='file'",
        lambda: exported(V).to_wasm("square", weights="object"),
        lambda: [exported(V).to_wasm(f"square-{where}", weights=where) for where in ("module", "file")],
    ),
    (
        "write one for each",
        lambda: stagec.export(square, ["cpu:aarch64", "cpu:x86-64"])(V).to_c("square"),
        lambda: [stagec.export(square, level)(V).to_c(level[4:]) for level in ("cpu:aarch64", "cpu:x86-64")],
    ),
    (
        "compute this part outside of the function, or use stagec.save and stagec.load, which have a runtime",
        lambda: stagec.export(lambda x: x.astype(snp.int4))(V).to_c("narrow"),
        lambda: stagec.load(stagec.export(lambda x: x.astype(snp.int4))(V).serialize())(V),
    ),
    (
        "leave stagec.debug.print and the callbacks out of what is exported, and call them around it",
        lambda: stagec.export(lambda x: stagec.debug.print("{}", x) or x)(V),
        lambda: stagec.debug.print("{}", stagec.load(exported(V).serialize())(V)),
    ),
    # Values that are not finite.
    (
        "keep the divisor away from 0, as in x / snp.where(y == 0, 1, y)" + CHECKS,
        lambda: nans(lambda x, y: x / y, snp.array(0.0), snp.array(0.0)),
        lambda: nans(lambda x, y: x / snp.where(y == 0, 1, y), snp.array(0.0), snp.array(0.0)),
    ),
    (
        "keep what log takes above 0, as in snp.log(snp.maximum(x, 1e-30))" + CHECKS,
        lambda: nans(snp.log, snp.array(-1.0)),
        lambda: nans(lambda x: snp.log(snp.maximum(x, 1e-30)), snp.array(-1.0)),
    ),
    (
        "keep what log1p takes above -1, as in snp.log1p(snp.maximum(x, -0.999))" + CHECKS,
        lambda: nans(snp.log1p, snp.array(-2.0)),
        lambda: nans(lambda x: snp.log1p(snp.maximum(x, -0.999)), snp.array(-2.0)),
    ),
    (
        "keep what sqrt takes at 0 or above, as in snp.sqrt(snp.maximum(x, 0))" + CHECKS,
        lambda: nans(snp.sqrt, snp.array(-1.0)),
        lambda: nans(lambda x: snp.sqrt(snp.maximum(x, 0)), snp.array(-1.0)),
    ),
    (
        "keep what rsqrt takes above 0, as in lax.rsqrt(x + 1e-6)" + CHECKS,
        lambda: nans(lax.rsqrt, snp.array(-1e-9)),
        lambda: nans(lambda x: lax.rsqrt(x + 1e-6), snp.array(-1e-9)),
    ),
    (
        "an operand is infinite: find where it became so with stagec.debug_infs()" + CHECKS,
        lambda: nans(lambda x: x - x, snp.array(np.inf)),
        lambda: infs(lambda x: x - x, snp.array(1.0)),
    ),
    (
        "the derivative of this line is infinite or undefined at an operand: replace such operands before the function too, as in snp.where(ok, f(snp.where(ok, x, 1)), 0)"
        + CHECKS,
        lambda: nans(stagec.grad(lambda x: snp.where(x > 0, snp.sqrt(x), 0)), snp.array(0.0)),
        lambda: nans(stagec.grad(lambda x: snp.where(x > 0, snp.sqrt(snp.where(x > 0, x, 1)), 0)), snp.array(0.0)),
    ),
    (
        "pass a symmetric matrix that is positive definite, for which a + 1e-6 * snp.eye(n) may be enough" + CHECKS,
        lambda: nans(snp.linalg.cholesky, snp.array([[1.0, 1.0], [1.0, 1.0 - 1e-7]])),
        lambda: nans(lambda a: snp.linalg.cholesky(a + 1e-6 * snp.eye(2)), snp.array([[1.0, 1.0], [1.0, 1.0 - 1e-7]])),
    ),
    (
        "the matrix is singular: snp.linalg.lstsq and pinv solve such systems" + CHECKS,
        lambda: nans(snp.linalg.solve, snp.zeros((2, 2)), snp.zeros(2)),
        lambda: nans(lambda a, b: (snp.linalg.lstsq(a, b)[0], snp.linalg.pinv(a) @ b), snp.zeros((2, 2)), snp.zeros(2)),
    ),
    (
        "a negative number to a power that is no integer is NaN: use an integer exponent, or snp.abs(x)" + CHECKS,
        lambda: nans(lambda x, y: x**y, snp.array(-2.0), snp.array(0.5)),
        lambda: (
            nans(lambda x: x**2, snp.array(-2.0)),
            nans(lambda x, y: snp.abs(x) ** y, snp.array(-2.0), snp.array(0.5)),
        ),
    ),
    (
        "subtract the largest element before exp, as nn.softmax and nn.logsumexp do; debug_infs=False turns this check off",
        lambda: infs(snp.exp, snp.array(1e3)),
        lambda: (infs(nn.softmax, snp.array([1e3, 1.0])), infs(nn.logsumexp, snp.array([1e3, 1.0]))),
    ),
    (
        "keep what it takes from -1 to 1, as in snp.clip(x, -1, 1)" + CHECKS,
        lambda: nans(snp.arccos, snp.array(2.0)),
        lambda: nans(lambda x: snp.arccos(snp.clip(x, -1, 1)), snp.array(2.0)),
    ),
    (
        "keep the operands where the operation is defined, as in f(snp.where(ok, x, 1))" + CHECKS,
        lambda: nans(snp.arccosh, snp.array(0.5)),
        lambda: nans(lambda x: snp.arccosh(snp.where(x >= 1, x, 1)), snp.array(0.5)),
    ),
    (
        "an operand held it before: look where that was made" + CHECKS,
        lambda: nans(snp.sin, snp.array(np.nan)),
        lambda: nans(snp.sin, snp.array(1.0)),
    ),
    (
        "fast_math, a pass of your own, or an overflow between operations can do this; compare with stagec.disable_jit()"
        + CHECKS,
        lambda: nans(stagec.jit(lambda x: snp.sqrt(abs(x)), passes=[forget_abs]), snp.array(-1.0)),
        lambda: without_jit(lambda x: snp.sqrt(abs(x)), snp.array(-1.0)),
    ),
    (
        "look where that was made" + CHECKS,
        lambda: nans(stagec.jit(lambda x: x), snp.array(np.nan)),
        lambda: nans(stagec.jit(lambda x: x), snp.array(1.0)),
    ),
    # What cannot be pickled.
    *(
        (
            f"write it with {compiled}.save(path), and pickle stagec.load(path); or pickle the jitted function, whose programs are in the disk cache",
            lambda make=make: pickle.dumps(make(LINEAR)),
            lambda make=make, compiled=compiled: (
                eval(compiled, {"x": make(LINEAR)}).save("linear.stagec"),
                pickle.loads(pickle.dumps(stagec.load("linear.stagec")))(V),
                pickle.loads(cloudpickle.dumps(LINEAR))(V),
            ),
        )
        for compiled, make in {
            "x": lambda f: f.lower(V).compile(),
            "x.compile()": lambda f: f.lower(V),
            "x.lower().compile()": lambda f: f.trace(V),
        }.items()
    ),
    (
        "write it with x.save(path), and pickle stagec.load(path); x.serialize() returns bytes for stagec.load",
        lambda: pickle.dumps(stagec.export(LINEAR)(V)),
        lambda: (
            stagec.export(LINEAR)(V).save("linear.stagec"),
            pickle.dumps(stagec.load("linear.stagec")),
            stagec.load(pickle.loads(pickle.dumps(stagec.export(LINEAR)(V).serialize())))(V),
        ),
    ),
    *(
        (
            "pickle the function that was traced, such as a jitted one by its name; str(graph) is its text",
            lambda graph=graph: pickle.dumps(graph),
            lambda graph=graph: pickle.loads(pickle.dumps([snp.sin, str(graph)])),
        )
        for graph in (stagec.make_graph(snp.sin)(1.0), stagec.make_graph(snp.sin)(1.0).jaxpr)
    ),
]
