"""Updates in place beside loops and choices: neither may see what the other writes."""

from __future__ import annotations

import numpy as np
import pytest
from platforms import first_device

import stagec
import stagec.lax as lax
import stagec.numpy as snp
from stagec.core import pytree


# The first branch has so many operations that the passes do not compute both.
def choose(p, x, f=lambda a: a + a * (a + a), g=lambda a: a):
    return lax.cond(p, f, g, x)


def with_state(p, x):
    def body(i, state):
        a, b = state
        return a.at[i].set(i), choose(p, a) + b

    return lax.fori_loop(0, 3, body, (x, x))


def on_double(f):
    return lambda p, x: f(p, x * 2)


# Each gets a boolean and a matrix of 3 rows and 4 columns.
CASES = {
    "update after a choice": on_double(lambda p, h: (choose(p, h), h.at[0].set(7))),
    "update after a choice that closes over it": on_double(
        lambda p, h: (lax.cond(p, lambda: h + h, lambda: h), h.at[0].set(7))
    ),
    "update of what a choice returned": on_double(lambda p, h: (choose(p, h).at[0].set(7), h)),
    "update between": on_double(
        lambda p, h: (lambda u: (choose(p, u), u.at[1].set(8), h))(h.at[snp.array([0, 0])].add(7))
    ),
    "sort after a choice": on_double(lambda p, h: (choose(p, h), snp.sort(h, axis=0))),
    "scatter after a choice": on_double(lambda p, h: (choose(p, h), h.at[snp.array([0, 2])].add(7), h)),
    "update after a switch": on_double(
        lambda p, h: (lax.switch(p.astype(np.int32), [lambda a: a, lambda a: a[::-1], abs], h), h.at[0].set(7))
    ),
    "choice of a slice": on_double(lambda p, h: (choose(p, h[1:]), h.at[2].set(5), h)),
    "choice of one element": on_double(lambda p, h: (choose(p, h[1, 2:3]), h.at[1, 2].add(1))),
    "swapped results": lambda p, x: (lambda r: (r[0].at[0].set(3), r[1].at[0].set(4), x, r))(
        lax.cond(p, lambda a, b: (a, b), lambda a, b: (b, a), x, x * 2)
    ),
    "one result twice": on_double(
        lambda p, h: (lambda r: (r[0].at[0].set(1), r[1].at[1].set(2), r, h))(
            choose(p, h, lambda a: (a, a), lambda a: (a, a[::-1]))
        )
    ),
    "two choices": on_double(lambda p, h: (choose(p, h), choose(~p, h, lambda c: c.at[1].set(1)))),
    "update after a loop": on_double(lambda p, h: (lax.fori_loop(0, 3, lambda i, c: c * 2, h), h.at[2].set(5))),
    "update after a loop that closes over it": on_double(
        lambda p, h: (lax.fori_loop(0, 3, lambda i, c: c + h, h * 3), h.at[2].set(5))
    ),
    "loop that begins with what it reads": on_double(
        lambda p, h: lax.fori_loop(0, 3, lambda i, c: c.at[i].set(h.sum(0)), h)
    ),
    "loop that begins with one value twice": on_double(
        lambda p, h: lax.fori_loop(0, 3, lambda i, s: (s[0].at[i].set(s[1][i - 1]), s[1].at[i].set(1)), (h, h))
    ),
    "loops that begin with one constant": lambda p, x: [
        lax.fori_loop(0, 3, lambda i, c, k=k: c.at[i].set(x[i] + k), snp.zeros_like(x)) for k in range(3)
    ],
    "loops in a loop that begin with one constant": lambda p, x: lax.fori_loop(
        0, 3, lambda k, c: c + lax.fori_loop(0, 3, lambda i, c: c.at[i].add(x[i] + k), snp.zeros_like(x)), x
    ),
    "rows of a loop in a choice": lambda p, x: lax.cond(
        p, lambda: (snp.zeros_like(x),) * 2, lambda: lax.scan(lambda c, r: (c + r, (c * r, c)), x[0], x)[1]
    ),
    "update after a scan": on_double(lambda p, h: (lax.scan(lambda c, t: (c + t, c * t), h[0] * 0, h), h.at[2].set(5))),
    "update of what a loop returned": on_double(
        lambda p, h: (lax.fori_loop(0, p.astype(np.int32), lambda i, c: c + 1, h).at[0].set(3), h)
    ),
    "loop with a choice, from an argument twice": with_state,
    "update in a loop of what it closes over": on_double(
        lambda p, h: lax.fori_loop(0, 3, lambda i, c: c + h.at[c[0, :2] % 3].add(c[i]), h + 1)
    ),
    "update in a choice in a loop of what it closes over": on_double(
        lambda p, h: lax.fori_loop(0, 3, lambda i, c: choose(p, c, lambda c: h.at[c[0] % 3].add(c[i])) + c, h + 1)
    ),
    "loop in a loop that begins with what it closes over": on_double(
        lambda p, h: lax.fori_loop(
            0, 3, lambda k, c: c + lax.fori_loop(0, 3, lambda i, s: s.at[i].set(s[0] + c[k]), h), h + 1
        )
    ),
    "loop that chooses and updates": lambda p, x: lax.fori_loop(
        0, 3, lambda i, s: s.at[i].set(choose(p, s[(i + 1) % 3], abs, lambda t: t + 1)), x
    ),
}


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_an_update_beside_control_flow_changes_nothing_else(name, kernels):
    f, x = CASES[name], np.arange(12, dtype=np.int32).reshape(3, 4) - 3
    with stagec.config.override(cpu_kernels=kernels):
        check_both_ways(name, f, x)


def check_both_ways(name, f, x):
    compiled = stagec.jit(f)
    for p in (False, True):
        given = x.copy()
        expected, _ = pytree.flatten(f(snp.asarray(np.bool_(p)), snp.asarray(x)))
        actual, _ = pytree.flatten(compiled(np.bool_(p), given))
        for want, got in zip(expected, actual, strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want), err_msg=f"{name}, {p}")
        np.testing.assert_array_equal(given, x)


@pytest.mark.parametrize("dtype", ["complex64", "float16", "bfloat16", "float32", "float64", "int8"])
def test_arrays_that_are_padded_with_one_number_have_memory_of_their_own(dtype):
    def program(x, number):
        """The loop, and barriers before complex constants, divide the program into groups of kernels."""
        y = lax.fori_loop(0, 3, lambda i, y: y + x, x)
        return snp.pad(x * 2, 1), [snp.pad(z, 1, constant_values=number) for z in (x + x, x * x, y)]

    with stagec.enable_x64(), stagec.config.override(cpu_kernels=False):
        x = snp.asarray(np.arange(10) % 4 * (1 + 2j if dtype == "complex64" else 1), dtype)
        expected, found = program(x, x[3]), stagec.jit(program)(x, x[3])
        for want, got in zip(stagec.tree.leaves(expected), stagec.tree.leaves(found), strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def text_of(f, rows):
    """What the compiler gets if no kernels of stagec's own take the place of loops."""
    with stagec.config.override(cpu_kernels=False):
        return stagec.jit(f).lower(np.bool_(True), np.ones((rows, 4), np.float32)).as_text("kernels")


def copies_in(f):
    return text_of(f, 30).count("stablehlo.iota")


def test_control_flow_without_updates_beside_it_copies_nothing():
    assert copies_in(lambda p, x: choose(p, x * 2)) == 0
    assert copies_in(lambda p, x: (lambda h: (choose(p, h), h.at[0].set(1)))(x * 2)) == 1


def test_a_state_that_only_a_choice_updates_is_not_copied():
    def f(p, x):
        return lax.fori_loop(
            0, 9, lambda i, s: choose(p, s, lambda s: lax.dynamic_update_slice(s, s[:1] * 2, (i, 0))), x
        )

    assert copies_in(f) == 0


def test_the_smaller_one_is_copied():
    def many(a):
        return snp.sin(snp.cos(a))

    def f(p, x):
        def body(i, s):
            return lax.dynamic_update_slice(s, choose(p, s[:1, :2], many) + i, (i, 0))

        return lax.fori_loop(0, 3, body, x * 2)

    text = text_of(f, 300)
    assert "iota dim = 1 : tensor<1x2xi32>" in text and "iota dim = 0 : tensor<300x4xi32>" not in text


@pytest.mark.parametrize("device", ["cpu", "vulkan"])
def test_an_update_waits_for_the_copy_of_what_it_writes_over(device):
    first_device(device)
    x, y = np.array([[7], [2]], np.int32), np.arange(8, dtype=np.float32)

    def program(x, y):
        doubled = x * 2
        return doubled, snp.sort(doubled, axis=0), y.sum()

    doubled, ordered, total = stagec.jit(program, device=device)(x, y)
    np.testing.assert_array_equal(doubled, [[14], [4]])
    np.testing.assert_array_equal(ordered, [[4], [14]])
    assert float(total) == 28
