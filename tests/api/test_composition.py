"""All chains of transformations, up to three, of functions of every kind: eager, compiled, by differences, in JAX.

Each chain is compared with what it transforms: a derivative with the
differences of the chain without it, a batch with its elements, `jit` and
`checkpoint` with nothing. What is compared with has been compared before.

For each function, half of the chains of one transformation are compiled, two
of two and one of three, and each is compiled for some function. STAGEC_FUZZ=2
compiles all chains of all functions, which takes one to two hours.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import os
import random
from unittest import mock

import numpy as np
import pytest
from composed_functions import FORWARD_ONLY, FUNCTIONS, NOT_SMOOTH, REVERSE_FIRST

import stagec
import stagec.numpy as snp
from stagec.core.graph import replay
from stagec.runtime import outside

STEP = 1e-5
ALL = int(os.environ.get("STAGEC_FUZZ", "1")) > 1
# Functions take turns in compiling one or the other of these, with `vmap`; and of the chains of two that begin with
# what they compile, one in this many; of those of three, so many, or all.
TURNS = [("jvp", "grad", "jit"), ("linearize", "vjp", "checkpoint")]
SHARE = 1 if ALL else 14
DEEP = None if ALL else 1
# So many chains of three are one program.
TOGETHER = 8

# The transformations, of a function of one pytree to one of the same pytree. `m` is stagec or JAX.


def kind(leaf):
    return np.dtype(leaf.dtype).kind


def floats(m, tree):
    """The leaves that have derivatives."""
    return [leaf for leaf in m.tree.leaves(tree) if kind(leaf) in "fc"]


def direction(leaf):
    """Fixed numbers of the shape and dtype of a leaf; none for integers."""
    if kind(leaf) not in "fc":
        return np.zeros(leaf.shape, stagec.dtypes.float0)
    angles = 1.0 + np.arange(int(np.prod(leaf.shape))).reshape(leaf.shape)
    return (np.cos(angles) + (1j * np.sin(3 * angles) if kind(leaf) == "c" else 0)).astype(leaf.dtype)


def scalar(np_, leaves):
    """A number to take the gradient of, with second derivatives in it."""
    return sum(np_.real(np_.sum(leaf * direction(leaf) + 0.3 * leaf * np_.conj(leaf))) for leaf in leaves)


def beside(leaf):
    """A batch's second element."""
    return leaf * 0.9 + 0.05 if kind(leaf) in "fc" else leaf[::-1]


def jvp(m, f):
    return lambda x: floats(m, m.jvp(f, (x,), (m.tree.map(direction, x),))[1])


def linearize(m, f):
    return lambda x: floats(m, m.linearize(f, x)[1](m.tree.map(direction, x)))


def grad(m, f):
    return lambda x: floats(m, m.grad(lambda v: scalar(m.numpy, floats(m, f(v))), allow_int=True)(x))


def vjp(m, f):
    def pulled(x):
        y, pull = m.vjp(f, x)
        return floats(m, pull(m.tree.map(direction, y))[0])

    return pulled


def vmap(m, f):
    def batched(x):
        batch = m.tree.map(lambda leaf: m.numpy.stack([leaf, beside(leaf)], axis=-1), x)
        return floats(m, m.vmap(f, in_axes=-1)(batch))

    return batched


def jit(m, f):
    return m.jit(f)


def checkpoint(m, f):
    return m.checkpoint(f)


TRANSFORMS = {f.__name__: f for f in (jvp, linearize, grad, vjp, vmap, jit, checkpoint)}
FORWARD, REVERSE, SAME = {"jvp", "linearize"}, {"grad", "vjp"}, {"jit", "checkpoint"}


def transformed(m, name, chain):
    """A function under a chain, whose innermost transformation comes first; to a list of floating arrays."""
    function = functools.partial(FUNCTIONS[name][0], m)
    for step in chain:
        function = TRANSFORMS[step](m, function)
    return lambda x: floats(m, function(x))


def applies(name, chain):
    first = next((t for t in chain if t in FORWARD | REVERSE), None)
    if name in REVERSE_FIRST and first in FORWARD:
        return False
    return not (name in FORWARD_ONLY and set(chain) & REVERSE)


def chosen(name):
    """The chains that are compiled: up to two transformations, and three; and those that are run."""
    number, parity = divmod(list(FUNCTIONS).index(name), 2)
    ones = [t for t in TRANSFORMS if ALL or t == "vmap" or t in TURNS[parity]]
    pairs = [c for i, c in enumerate(itertools.product(ones, TRANSFORMS)) if (i + number) % SHARE == 0]
    compiled = [c for c in [(), *[(t,) for t in ones], *pairs] if applies(name, c)]
    run = [c for c in [(), *[(*c, t) for c in compiled for t in TRANSFORMS]] if applies(name, c)]
    deep = [c for c in run if len(c) == 3]
    random.Random(name).shuffle(deep)
    return compiled, deep[:DEEP], run


# Evaluation


def argument(name):
    return stagec.tree.map(snp.asarray, FUNCTIONS[name][1])


def numbers(results):
    return {chain: [np.asarray(leaf) for leaf in leaves] for chain, leaves in results.items()}


@functools.cache
def run_by_numpy(name):
    """Results of all chains: those without jit are eager, the others one graph, of which nothing is compiled."""
    _, _, run = chosen(name)
    x = argument(name)
    rest = [c for c in run if "jit" in c]
    # As where there is no compiler; in hunts, loops outside jit are compiled.
    with contextlib.nullcontext() if ALL else mock.patch.object(outside, "_programs", [None]):
        found = {c: transformed(stagec, name, c)(x) for c in run if "jit" not in c}
        if rest:
            traced = stagec.jit(lambda x: [transformed(stagec, name, c)(x) for c in rest]).trace(x)
            made = replay(traced.graph.graph, [*traced.graph.consts, *stagec.tree.leaves(x)])
            leaves = [getattr(v, "value", v) for v in made]
            found |= zip(rest, stagec.tree.unflatten(stagec.tree.structure(traced.out_info), leaves))
    stagec.clear_caches()  # of calls that were found to be NumPy's
    return numbers(found)


def program(name, chains):
    """Chains of a function, compiled as one program."""
    jitted = stagec.jit(lambda x: [transformed(stagec, name, c)(x) for c in chains])

    def run(x):
        return numbers(dict(zip(chains, jitted(x))))

    return run


# What is expected


def coordinates(x):
    """For each real number among the floats of a pytree: leaf, place, and 1, or 1 and i."""
    for i, leaf in enumerate(stagec.tree.leaves(x)):
        if kind(leaf) in "fc":
            for place in np.ndindex(leaf.shape):
                yield from ((i, place, unit) for unit in ([1.0, 1j] if kind(leaf) == "c" else [1.0]))


def moved(x, leaf, place, step):
    leaves = [np.array(v) for v in stagec.tree.leaves(x)]
    leaves[leaf][place] += step
    return stagec.tree.unflatten(stagec.tree.structure(x), [snp.asarray(v) for v in leaves])


def differences(run, x):
    """For each coordinate, the derivatives of all chains by it."""
    found = []
    for leaf, place, unit in coordinates(x):
        up, down = run(moved(x, leaf, place, unit * STEP)), run(moved(x, leaf, place, -unit * STEP))
        found.append({c: [(u - d) / (2 * STEP) for u, d in zip(up[c], down[c])] for c in up})
    return found


def pushed(slopes, x):
    """The derivative along `direction`, from those by the coordinates."""
    directions = [direction(leaf) for leaf in stagec.tree.leaves(x)]
    total = None
    for (leaf, place, unit), slope in zip(coordinates(x), slopes):
        along = np.real(directions[leaf][place] * np.conj(unit))
        total = [along * s + (0 if total is None else total[i]) for i, s in enumerate(slope)]
    return total


def pulled(slopes, x, cts):
    """Cotangents, from the derivatives by the coordinates: that of a complex number is conjugate, as in JAX."""
    found = {i: np.zeros(leaf.shape, leaf.dtype) for i, leaf in enumerate(stagec.tree.leaves(x)) if kind(leaf) in "fc"}
    for (leaf, place, unit), slope in zip(coordinates(x), slopes):
        found[leaf][place] += np.conj(unit) * sum(np.real(np.sum(ct * s)) for ct, s in zip(cts, slope))
    return list(found.values())


def expected(transform, x, here, second, slopes):
    """What a transformation gives, from what the transformed function gives.

    Args:
      here, second: results at `x` and at the second element of the batch.
      slopes: for each coordinate, the derivatives of the results by it.
    """
    if transform in SAME:
        return here
    if transform == "vmap":
        return [np.stack(pair) for pair in zip(here, second)]
    if transform in FORWARD:
        return pushed(slopes, x)
    if transform == "vjp":
        return pulled(slopes, x, [direction(leaf) for leaf in here])
    # The scalar's derivative is Re(sum((w + 0.6 conj(y)) y_dot)).
    return pulled(slopes, x, [direction(leaf) + 0.6 * np.conj(leaf) for leaf in here])


def differing(found, wanted, tolerance):
    """What is wrong with results, in words; nothing if they are the wanted ones."""
    if [(f.shape, f.dtype) for f in found] != [(w.shape, w.dtype) for w in wanted]:
        return f"shapes {[(f.shape, f.dtype.name) for f in found]}, not {[(w.shape, w.dtype.name) for w in wanted]}"
    for f, w in zip(found, wanted):
        size = 1.0 + max([float(np.max(np.abs(v), initial=0.0)) for v in wanted])
        if not np.allclose(f, w, rtol=tolerance, atol=tolerance * size, equal_nan=True):
            return f"{f}, not {w}"
    return ""


def report(name, wrong):
    lines = [f"{name} under {' and then '.join(chain) or 'nothing'} {where}: {text}" for chain, where, text in wrong]
    assert not wrong, "\n".join([f"{len(wrong)} of the chains are wrong", *lines[:10]])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_chain_gives_what_its_last_transformation_makes_of_the_one_before(name):
    with stagec.enable_x64():
        x = argument(name)
        compiled, deep, _ = chosen(name)
        run = program(name, compiled + deep[:TOGETHER])
        here, second = run(x), run(stagec.tree.map(beside, x))
        slopes = differences(run, x)
        results = run_by_numpy(name)
        for i in range(TOGETHER, len(deep), TOGETHER):
            here |= program(name, deep[i : i + TOGETHER])(x)
    loose = 3e-6 if name in NOT_SMOOTH else 1e-9
    wrong = [(c, "compiled", differing(found, results[c], loose)) for c, found in here.items()]
    for chain, found in results.items():
        if not chain or (name in NOT_SMOOTH and chain[-1] not in SAME | {"vmap"}):
            continue
        inner = chain[:-1]
        wanted = expected(chain[-1], x, here[inner], second[inner], [s[inner] for s in slopes])
        tolerance = loose if chain[-1] in SAME | {"vmap"} else 1e-6
        wrong.append((chain, "by NumPy", differing(found, wanted, tolerance)))
    report(name, [w for w in wrong if w[2]])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_chains_give_what_jax_gives(name):
    jax = pytest.importorskip("jax")
    importlib.import_module("jax.ad_checkpoint")
    with stagec.enable_x64():
        results = run_by_numpy(name)
    x = FUNCTIONS[name][1]
    compiled, _, _ = chosen(name)
    # The others are the same in JAX as shorter ones.
    chains = [c for c in compiled if not set(c) & (SAME | {"linearize"})]
    with jax.enable_x64(True):
        x = jax.tree.map(jax.numpy.asarray, x)
        wanted = numbers(dict(zip(chains, jax.jit(lambda x: [transformed(jax, name, c)(x) for c in chains])(x))))
    tolerance = 1e-6 if name in NOT_SMOOTH else 1e-9
    wrong = [(c, "in JAX", differing(results[c], wanted[c], tolerance)) for c in chains]
    report(name, [w for w in wrong if w[2]])
