"""Code of users, whose types mypy checks in strict mode; `tests/test_typing.py` also runs it.

`assert_type` says what a checker has to find. A `type: ignore` is a mistake that it has to report: one that it does not
report is an error too. Mistakes are inside of functions that are not called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import assert_type

import stagec
import stagec.numpy as snp
from stagec import lax, nn, random, tree
from stagec.scipy.special import logsumexp
from stagec.typing import ArrayLike, DTypeLike


class Params(NamedTuple):
    w: stagec.Array
    b: stagec.Array


# Arrays.


def operators(x: stagec.Array) -> None:
    assert_type(x + 1, stagec.Array)
    assert_type(2.0 * x - x, stagec.Array)
    assert_type(x @ x.T, stagec.Array)
    assert_type(-(x**2) / 3, stagec.Array)
    assert_type(x > 0, stagec.Array)
    assert_type(x == 0, stagec.Array)
    assert_type((x > 0) & ~(x < 1), stagec.Array)
    assert_type(divmod(x, 2), tuple[stagec.Array, stagec.Array])
    assert_type(abs(x), stagec.Array)
    assert_type(x + np.ones((2, 2)), stagec.Array)


def attributes(x: stagec.Array) -> None:
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.dtype, np.dtype[Any])
    assert_type(x.ndim + x.size, int)
    assert_type(x.T.mT.real, stagec.Array)
    assert_type(float(x[0, 0]) + int(x[0, 0]), float)
    assert_type(len(x), int)
    assert_type(bool(x.any()), bool)
    assert_type(np.asarray(x), "np.ndarray[tuple[Any, ...], np.dtype[Any]]")
    for row in x:
        assert_type(row, stagec.Array)


def methods(x: stagec.Array) -> None:
    assert_type(x.sum(axis=0), stagec.Array)
    assert_type(x.mean((0, 1), keepdims=True), stagec.Array)
    assert_type(x.reshape(-1, 1).astype("int32"), stagec.Array)
    assert_type(x.reshape((4,)).argmax(), stagec.Array)
    assert_type(x.at[0, 1].set(5.0), stagec.Array)
    assert_type(x.at[0].add(x[0]).at[:, 1].multiply(2), stagec.Array)
    assert_type(x.at[0].get(mode="clip"), stagec.Array)
    assert_type(x.block_until_ready(), stagec.Array)
    assert_type(x.nonzero(), tuple[stagec.Array, ...])


def indices(x: stagec.Array, i: stagec.Array) -> None:
    assert_type(x[0], stagec.Array)
    assert_type(x[0, ..., None], stagec.Array)
    assert_type(x[::-1, 1:], stagec.Array)
    assert_type(x[i], stagec.Array)
    assert_type(x[x > 0], stagec.Array)
    assert_type(x[np.array([0, 1]), 0], stagec.Array)


def wrong_uses_of_arrays(x: stagec.Array) -> None:
    x + [1, 2]  # type: ignore[operator]
    x[0] = 1  # type: ignore[index]
    x[[0, 1], 0]  # type: ignore[index]
    x[0.5]  # type: ignore[index]
    x.summ()  # type: ignore[attr-defined]
    x.at[0].assign(1)  # type: ignore[attr-defined]
    x.sum(axes=0)  # type: ignore[call-arg]
    x.mean(axis="rows")  # type: ignore[arg-type]


# Functions of arrays.


def functions(x: stagec.Array, numbers: np.ndarray[Any, Any]) -> None:
    assert_type(snp.sin(x), stagec.Array)
    assert_type(snp.sin(1.0), stagec.Array)
    assert_type(snp.add(numbers, 2), stagec.Array)
    assert_type(snp.sum(x, axis=0, dtype=snp.float32), stagec.Array)
    assert_type(snp.where(x > 0, x, 0), stagec.Array)
    assert_type(snp.where(x > 0), tuple[stagec.Array, ...])
    assert_type(snp.concatenate([x, x]), stagec.Array)
    assert_type(snp.stack([x, snp.ones_like(x)], axis=-1), stagec.Array)
    assert_type(snp.zeros((2, 3), dtype="int8"), stagec.Array)
    assert_type(snp.array([[1, 2], [3, 4]]), stagec.Array)
    assert_type(snp.split(x, 2), list[stagec.Array])
    assert_type(snp.linspace(0, 1, 3), stagec.Array)
    assert_type(snp.linspace(0, 1, 3, retstep=True), tuple[stagec.Array, stagec.Array])
    assert_type(snp.unique(numbers), stagec.Array)
    assert_type(snp.unique(numbers, return_counts=True), tuple[stagec.Array, ...])
    assert_type(snp.einsum("ij,jk", x, x), stagec.Array)
    assert_type(snp.float32(3), stagec.Array)


def functions_of_submodules(x: stagec.Array) -> None:
    q, r = snp.linalg.qr(x)
    assert_type(q @ r, stagec.Array)
    assert_type(snp.linalg.norm(x), stagec.Array)
    assert_type(snp.linalg.svd(x, compute_uv=False), stagec.Array)
    assert_type(snp.linalg.eigh(x).eigenvalues, stagec.Array)
    assert_type(snp.fft.fft(x), stagec.Array)
    assert_type(snp.fft.fftfreq(4, 0.5), stagec.Array)
    assert_type(snp.matmul(x, x).sum(), stagec.Array)
    assert_type(lax.dot(x, x, precision="highest"), stagec.Array)
    assert_type(lax.top_k(x, 1), list[stagec.Array])
    assert_type(lax.reduce(x, 0.0, lax.add, (0,)), stagec.Array)
    assert_type(lax.reduce([x], [0.0], lambda a, b: [a[0] + b[0]], (0,)), list[stagec.Array])
    assert_type(lax.linalg.svd(x), tuple[stagec.Array, stagec.Array, stagec.Array])
    assert_type(lax.linalg.svd(x, compute_uv=False), stagec.Array)
    assert_type(lax.stop_gradient(1.0), stagec.Array)
    assert_type(lax.stop_gradient({"w": x}), dict[str, stagec.Array])
    rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    assert_type(lax.scatter_add(x, snp.array([[0]]), x[:1], rows), stagec.Array)
    assert_type(lax.sort(x), stagec.Array)
    assert_type(lax.sort((x, x)), tuple[stagec.Array, ...])
    assert_type(nn.relu(x), stagec.Array)
    assert_type(nn.softmax(x, axis=-1), stagec.Array)
    assert_type(logsumexp(x), stagec.Array)
    assert_type(logsumexp(x, return_sign=True), tuple[stagec.Array, stagec.Array])


def draws() -> None:
    key = random.key(0)
    first, second = random.split(key)
    assert_type(random.normal(first, (2, 3)), stagec.Array)
    assert_type(random.uniform(second, (3,), dtype="float32", minval=-1.0), stagec.Array)
    assert_type(random.categorical(random.fold_in(key, 1), snp.zeros(3)), stagec.Array)
    assert_type(random.split(key, 3), random.PRNGKeyArray)
    assert_type(random.split(random.PRNGKey(0)), stagec.Array)
    assert_type(random.fold_in(key, 1), random.PRNGKeyArray)
    assert_type(random.fold_in(random.PRNGKey(0), 1), stagec.Array)
    initial(key, 3)


def initial(key: stagec.Array, size: int) -> Params:
    """As in JAX, a key may be called an array."""
    return Params(random.normal(key, (size, size)), snp.zeros(size))


def standardized(x: ArrayLike, dtype: DTypeLike = "float32") -> stagec.Array:
    values = snp.asarray(x, dtype=dtype)
    return (values - values.mean()) / values.std()


def wrong_uses_of_functions(x: stagec.Array) -> None:
    lax.scatter_add(x, x, x)  # type: ignore[call-arg]
    snp.linalg.norm(x).summ()  # type: ignore[attr-defined]
    snp.sin()  # type: ignore[call-arg]
    snp.sin("x")  # type: ignore[arg-type]
    snp.sin([1.0])  # type: ignore[arg-type]
    snp.sum(x, axsi=0)  # type: ignore[call-arg]
    snp.zeros("three")  # type: ignore[arg-type]
    snp.sinn(x)  # type: ignore[attr-defined]
    standardized(snp.sum(x).tolist)  # type: ignore[arg-type]
    random.normal((2, 3))  # type: ignore[arg-type]


# Functions of functions.


@stagec.jit
def norm(x: ArrayLike, scale: float = 1.0) -> stagec.Array:
    return snp.sqrt(snp.sum(snp.square(x))) * scale


@stagec.jit(static_argnames="n")
def power(x: stagec.Array, n: int) -> stagec.Array:
    return x**n


@partial(stagec.jit, static_argnums=1)
def partially(x: stagec.Array, n: int) -> stagec.Array:
    return x * n


class Model:
    factor = 2.0

    @stagec.jit(static_argnums=0)
    def step(self, params: Params, x: stagec.Array) -> Params:
        return params._replace(b=params.b + x.sum() * self.factor)

    @partial(stagec.jit, static_argnums=0)
    def older(self, x: stagec.Array) -> stagec.Array:
        return x * self.factor

    @stagec.checkpoint(static_argnums=0)
    def remembered(self, x: stagec.Array) -> stagec.Array:
        return snp.sin(x) * self.factor


def loss(params: Params, x: stagec.Array) -> stagec.Array:
    return snp.sum((x @ params.w + params.b) ** 2)


def loss_of_dict(params: dict[str, stagec.Array], x: stagec.Array) -> stagec.Array:
    return snp.sum((x @ params["w"]) ** 2)


def with_logs(params: Params, x: stagec.Array) -> tuple[stagec.Array, dict[str, stagec.Array]]:
    found = loss(params, x)
    return found, {"loss": found}


def square(x: float) -> float:
    return x**2


def jitted(x: stagec.Array, params: Params) -> None:
    assert_type(norm(np.ones(4)), stagec.Array)
    assert_type(norm(x, scale=2.0), stagec.Array)
    assert_type(power(x, n=2), stagec.Array)
    assert_type(Model().step(params, x), Params)
    assert_type(Model().remembered(x), stagec.Array)
    shaped: stagec.Array = partially(x, 2) + Model().older(x)
    assert_type(stagec.jit(lambda v: v * 2)(x), Any)
    assert_type(stagec.jit(snp.sin)(x), stagec.Array)
    assert_type(stagec.jit(loss)(params, x), stagec.Array)
    assert_type(norm.lower(x).as_text(), str)
    assert_type(shaped, stagec.Array)


def gradients(x: stagec.Array, params: Params) -> None:
    assert_type(stagec.grad(loss)(params, x), Params)
    assert_type(stagec.grad(loss_of_dict)({"w": params.w}, x), dict[str, stagec.Array])
    assert_type(stagec.grad(norm)(x), stagec.Array)
    assert_type(stagec.grad(square)(3.0), stagec.Array)
    assert_type(stagec.grad(stagec.grad(square))(3.0), stagec.Array)
    assert_type(stagec.value_and_grad(loss)(params, x), tuple[stagec.Array, Params])
    assert_type(stagec.grad(with_logs, has_aux=True)(params, x), tuple[Params, dict[str, stagec.Array]])
    (value, logs), slopes = stagec.value_and_grad(with_logs, has_aux=True)(params, x)
    assert_type(value, stagec.Array)
    assert_type(logs, dict[str, stagec.Array])
    assert_type(slopes, Params)
    assert_type(stagec.jit(stagec.grad(loss))(params, x), Params)
    # What a type cannot say is Any, and nothing is reported.
    assert_type(stagec.grad(loss, argnums=1)(params, x), Any)
    assert_type(stagec.grad(lambda v: v**2)(3.0), Any)
    assert_type(stagec.grad(lambda p: loss_of_dict(p, x))({"w": params.w}), Any)
    assert_type(stagec.grad(with_logs, 0, True)(params, x), Any)


def derivatives(x: stagec.Array, params: Params) -> None:
    assert_type(stagec.jacfwd(snp.sin)(x), stagec.Array)
    assert_type(stagec.hessian(norm)(x), stagec.Array)
    value, pull = stagec.vjp(loss, params, x)
    assert_type(value, stagec.Array)
    assert_type(pull(value), tuple[Any, ...])
    assert_type(stagec.jvp(snp.sin, (x,), (x,)), tuple[stagec.Array, stagec.Array])
    _, push = stagec.linearize(snp.sin, x)
    assert_type(push(x), stagec.Array)
    assert_type(stagec.vmap(snp.dot)(x, x), stagec.Array)
    assert_type(stagec.vmap(loss, in_axes=(None, 0))(params, x), stagec.Array)
    assert_type(stagec.checkpoint(loss)(params, x), stagec.Array)
    assert_type(stagec.eval_shape(snp.sin, x), stagec.ShapeDtypeStruct)


@stagec.custom_jvp
def softplus(x: stagec.Array) -> stagec.Array:
    return snp.log1p(snp.exp(x))


@softplus.defjvp
def softplus_jvp(primals: tuple[stagec.Array], tangents: tuple[stagec.Array]) -> tuple[stagec.Array, stagec.Array]:
    return softplus(primals[0]), nn.sigmoid(primals[0]) * tangents[0]


@stagec.custom_vjp
def clipped(x: stagec.Array, bound: float) -> stagec.Array:
    return x


clipped.defvjp(lambda x, bound: (x, bound), lambda bound, ct: (snp.clip(ct, -bound, bound), None))


@stagec.named_scope("layer")
def layer(x: stagec.Array) -> stagec.Array:
    return nn.gelu(x)


def with_rules_of_their_own(x: stagec.Array) -> None:
    assert_type(stagec.custom_batching.sequential_vmap(layer)(x), stagec.Array)
    assert_type(softplus(x), stagec.Array)
    assert_type(clipped(x, 1.0), stagec.Array)
    assert_type(layer(x), stagec.Array)
    assert_type(stagec.grad(lambda v: softplus(v).sum())(x), Any)


# Control flow and trees.


def step(carry: stagec.Array, x: stagec.Array) -> tuple[stagec.Array, dict[str, stagec.Array]]:
    return carry + x.sum(), {"carry": carry}


def grow(i: stagec.Array, params: Params) -> Params:
    return Params(params.w * 2, params.b + i)


def control_flow(x: stagec.Array, params: Params) -> None:
    assert_type(lax.scan(step, 0.0, x), tuple[stagec.Array, dict[str, stagec.Array]])
    assert_type(lax.fori_loop(0, 3, grow, params), Params)
    assert_type(lax.while_loop(lambda v: v.sum() < 10, layer_twice, x + 1), stagec.Array)
    assert_type(lax.cond(x.sum() > 0, layer, layer_twice, x), stagec.Array)
    assert_type(lax.switch(1, [layer, layer_twice], x), stagec.Array)
    assert_type(lax.map(layer, x), stagec.Array)
    assert_type(lax.associative_scan(snp.add, x), stagec.Array)
    total, _ = lax.scan(lambda carry, row: (carry + row.sum(), None), 0.0, x)
    assert_type(total, Any)


def layer_twice(x: stagec.Array) -> stagec.Array:
    return x + abs(x)


def trees(x: stagec.Array, params: Params) -> None:
    assert_type(tree.map(snp.zeros_like, {"w": x}), dict[str, stagec.Array])
    assert_type(tree.map(snp.sin, [1.0, 2.0]), list[stagec.Array])
    updated: Params = tree.map(lambda p, g: p - 0.1 * g, params, params)
    assert_type(tree.leaves(updated), list[Any])
    leaves, structure = tree.flatten(params)
    assert_type(tree.unflatten(structure, leaves), Any)
    assert_type(stagec.block_until_ready(params), Params)
    assert_type(stagec.device_put(np.ones(3)), stagec.Array)


def train(update: Callable[[Params, stagec.Array], Params], params: Params, x: stagec.Array) -> Params:
    return update(params, x)


def passed_on(x: stagec.Array, params: Params) -> None:
    assert_type(train(stagec.grad(loss), params, x), Params)
    assert_type(train(stagec.jit(stagec.grad(loss)), params, x), Params)


def wrong_uses_of_transformations(x: stagec.Array, params: Params) -> None:
    norm(x, 1.0, 2)  # type: ignore[call-arg]
    norm(scale=1.0)  # type: ignore[call-arg]
    power(x, "two")  # type: ignore[arg-type]
    Model().step(params)  # type: ignore[call-arg]
    stagec.jit(loss)(params)  # type: ignore[call-arg]
    stagec.jit(static_argnum=1)  # type: ignore[call-overload]
    stagec.grad(loss)(x, x)  # type: ignore[arg-type]
    stagec.grad(loss)(params)  # type: ignore[call-arg]
    stagec.vmap(loss)(params, x, x)  # type: ignore[call-arg]
    stagec.checkpoint(loss)(params)  # type: ignore[call-arg]
    loss(stagec.grad(norm)(x), x)  # type: ignore[arg-type]
    loss(lax.fori_loop(0, 3, step, params), x)  # type: ignore[arg-type]
    softplus(x, x)  # type: ignore[call-arg]


def main() -> None:
    x = snp.ones((2, 2)) * snp.arange(1.0, 3.0)
    params = Params(x, snp.ones(2))
    for check in (operators, attributes, methods):
        check(x)
    indices(x, snp.array([0, 1]))
    functions(x, np.ones((2, 2)))
    functions_of_submodules(x)
    draws()
    standardized([1, 2]) if not isinstance(x, stagec.Array) else standardized(x)
    for run in (jitted, gradients, derivatives, control_flow, trees, passed_on):
        run(x, params)
    with_rules_of_their_own(x)
