"""Mutable references: outside of jit, in traced functions, in loops and choices, under derivatives and vmap."""

from __future__ import annotations

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import errors, lax, ref as refs


def test_elements_are_read_and_written():
    ref = stagec.new_ref(snp.arange(6.0).reshape(2, 3))
    ref[0] = 10.0
    ref[1, 1:] += snp.array([1.0, 2.0])
    ref[...] *= 2
    assert ref[...].tolist() == [[20, 20, 20], [6, 10, 14]]
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((2, 3), np.dtype("float32"), 2, 6, 2)
    assert repr(ref) == "Ref([[20., 20., 20.],\n     [ 6., 10., 14.]], dtype=float32)"


def test_the_first_value_is_not_changed():
    x = snp.zeros(2)
    ref = stagec.new_ref(x)
    ref[0] = 1
    assert x.tolist() == [0, 0] and ref[...].tolist() == [1, 0]


def test_a_reference_to_a_number_is_not_weakly_typed():
    ref = stagec.new_ref(1)
    ref[...] += 1
    assert ref[...].dtype == "int32" and not ref[...].weak_type


def test_functions_of_the_module():
    ref = refs.new_ref(snp.zeros(3))
    refs.set(ref, 0, 1.0)
    assert float(refs.swap(ref, 0, 2.0)) == 1
    refs.addupdate(ref, np.array([1, 1]), 1.0)
    assert refs.get(ref).tolist() == [2, 2, 0]
    ref.set(snp.ones(3))
    assert ref.get().tolist() == [1, 1, 1]
    assert isinstance(ref, stagec.Ref)


def test_a_jitted_function_writes_the_references_that_it_is_passed(compiles):
    traced = []

    @stagec.jit
    def f(state, x):
        traced.append(1)
        state["total"][...] += x.sum()
        state["last"][1:] = x
        return state["total"][...] * 2

    state = {"total": stagec.new_ref(0.0), "last": stagec.new_ref(snp.zeros(3))}
    with compiles() as made:
        assert float(f(state, snp.array([1.0, 2.0]))) == 6
        assert float(f(state, snp.array([3.0, 4.0]))) == 20
    assert state["last"][...].tolist() == [0, 3, 4]
    assert float(state["total"][...]) == 10
    other = {"total": stagec.new_ref(1.0), "last": stagec.new_ref(snp.zeros(3))}
    assert float(f(other, snp.array([1.0, 2.0]))) == 8
    assert float(state["total"][...]) == 10
    assert len(traced) == 1 and len(made) == 1


def test_a_jitted_function_writes_the_references_that_it_closes_over():
    total, scale = stagec.new_ref(0.0), stagec.new_ref(1.0)

    @stagec.jit
    def add(x):
        total[...] += scale[...] * x
        return x

    for _ in range(3):  # the third call would take the fast path
        add(2.0)
    assert float(total[...]) == 6
    scale[...] = 10.0
    add(2.0)
    assert float(total[...]) == 26 and float(scale[...]) == 10


def test_jitted_functions_call_each_other_with_references():
    outer = stagec.new_ref(0.0)

    @stagec.jit
    def inner(ref, x):
        ref[...] += x
        outer[...] += 1

    @stagec.jit
    def f(ref, x):
        own = stagec.new_ref(x)
        inner(ref, x)
        inner(own, 1.0)
        return own[...]

    ref = stagec.new_ref(5.0)
    assert float(f(ref, 2.0)) == 3
    assert float(ref[...]) == 7 and float(outer[...]) == 2


def loops(ref, n):
    """Writes in every kind of loop and choice, nested."""

    def row(i, carry):
        def element(c, x):
            ref[i, 0] += x
            return c + 1, None

        count, _ = lax.scan(element, 0, snp.arange(3.0))
        ref[i, 1] = lax.cond(i % 2 == 0, lambda: ref[i, 0] * 10, lambda: ref[i, 0])
        return carry + count

    total = lax.fori_loop(0, n, row, 0)

    def more(i):
        ref[0, 1] -= 1
        return i + 1

    last = lax.while_loop(lambda i: ref[0, 1] > 25, more, 0)

    def mark(k):
        ref[1, :] = k
        return k

    chosen = lax.switch(last % 3, [lambda: 0.0, lambda: mark(7.0), lambda: mark(8.0)])
    return total, last, chosen


@pytest.mark.parametrize("how", ["eager", "jit", "disabled", "traced bounds"])
def test_loops_and_choices_write_references(how):
    ref = stagec.new_ref(snp.zeros((2, 2)))
    if how == "eager":
        found = loops(ref, 2)
    elif how == "disabled":
        with stagec.disable_jit():
            found = loops(ref, 2)
    else:
        found = stagec.jit(loops, static_argnums=1 if how == "jit" else ())(ref, 2)
    assert [float(v) for v in found] == [6, 5, 8]
    assert ref[...].tolist() == [[3, 25], [8, 8]]


def test_map_writes_references():
    seen = stagec.new_ref(snp.zeros(3))
    out = lax.map(lambda i: refs.swap(seen, i, i * 1.0), snp.arange(3))
    assert out.tolist() == [0, 0, 0] and seen[...].tolist() == [0, 1, 2]


def test_a_branch_that_does_not_run_writes_nothing():
    ref = stagec.new_ref(1.0)

    def write():
        ref[...] = 5.0

    @stagec.jit
    def f(flag):
        lax.cond(flag, write, lambda: None)
        return ref[...]

    assert float(f(False)) == 1 and float(f(True)) == 5 and float(ref[...]) == 5


def polynomial(x):
    ref = stagec.new_ref(snp.zeros(4))

    def step(i, power):
        ref[i] = power
        return power * x

    lax.fori_loop(0, 4, step, snp.asarray(1.0))
    return ref[...].sum()


def test_functions_with_references_of_their_own_are_differentiated():
    assert float(stagec.grad(polynomial)(2.0)) == 1 + 4 + 12
    assert float(stagec.jit(stagec.grad(polynomial))(2.0)) == 17
    assert float(stagec.grad(stagec.jit(polynomial))(2.0)) == 17
    assert float(stagec.jvp(polynomial, (2.0,), (1.0,))[1]) == 17
    assert float(stagec.grad(stagec.grad(polynomial))(2.0)) == 2 + 12


def test_functions_with_references_of_their_own_are_batched():
    xs = snp.array([1.0, 2.0])
    assert stagec.vmap(polynomial)(xs).tolist() == [4, 15]
    assert stagec.jit(stagec.vmap(stagec.grad(polynomial)))(xs).tolist() == [6, 17]


def test_values_without_derivatives_leave_a_differentiated_function():
    seen = stagec.new_ref(0.0)

    def f(x):
        y = snp.sin(x)
        seen[...] = lax.stop_gradient(y)
        return y * x

    slope = stagec.grad(f)(1.0)
    assert float(seen[...]) == pytest.approx(np.sin(1.0))
    assert float(slope) == pytest.approx(np.sin(1.0) + np.cos(1.0))
    seen[...] = 0.0
    assert float(stagec.jit(stagec.grad(f))(1.0)) == pytest.approx(float(slope))
    assert float(seen[...]) == pytest.approx(np.sin(1.0))


def test_freeze_gives_the_value_and_ends_the_reference():
    ref = stagec.new_ref(snp.zeros(2))
    ref[0] = 1.0
    assert stagec.freeze(ref).tolist() == [1, 0]
    with pytest.raises(errors.UnsupportedError, match="was frozen"):
        ref[0] = 2.0

    @stagec.jit
    def f(x):
        inner = stagec.new_ref(x)
        inner[...] *= 2
        return stagec.freeze(inner)

    assert float(f(3.0)) == 6


def test_a_reference_that_is_passed_twice_is_refused():
    ref = stagec.new_ref(1.0)
    f = stagec.jit(lambda a, b: a[...] + b[...])
    with pytest.raises(errors.UnsupportedError, match=r"passed twice(.|\n)*a +float32(.|\n)*b +float32"):
        f(ref, ref)
    g = stagec.jit(lambda a: a[...] + ref[...])
    with pytest.raises(errors.UnsupportedError, match="closes over a reference that was also passed"):
        g(ref)
    assert float(g(stagec.new_ref(2.0))) == 3


def test_a_reference_is_not_returned():
    fix = r"Fix: return ref\[\.\.\.\], its value"
    with pytest.raises(errors.OutputTypeError, match=fix):
        stagec.jit(lambda: stagec.new_ref(1.0))()
    with pytest.raises(errors.OutputTypeError, match=fix):
        lax.fori_loop(0, 2, lambda i, c: stagec.new_ref(c), 1.0)


def test_a_reference_is_no_array():
    ref = stagec.new_ref(snp.ones(2))
    for use in (
        lambda: snp.sin(ref),
        lambda: np.sin(ref),
        lambda: snp.ones(2) + ref,
        lambda: iter(ref),
        lambda: bool(ref),
    ):
        with pytest.raises(TypeError, match=r"read the value with ref\[\.\.\.\]"):
            use()


def test_a_reference_that_escapes_its_function_says_so():
    kept = []

    @stagec.jit
    def f(x):
        kept.append(stagec.new_ref(x))
        return x

    f(1.0)
    with pytest.raises(errors.LeakedTracerError, match="outside of the function that made it"):
        kept[0][...]


def test_a_value_of_another_dtype_is_refused():
    ref = stagec.new_ref(snp.zeros(2, dtype="int32"))
    ref[0] = 2
    with pytest.raises(errors.DtypeError, match=r"float32\[\] does not fit a reference of int32\[2\]"):
        ref[0] = 1.5


def test_what_varies_inside_is_not_written_outside():
    ref = stagec.new_ref(0.0)

    def write(x):
        ref[...] = x
        return x

    with pytest.raises(errors.UnsupportedError, match=r"one of a batch(.|\n)*make the reference inside"):
        stagec.vmap(write)(snp.ones(2))
    with pytest.raises(errors.UnsupportedError, match=r"differentiated(.|\n)*stop_gradient"):
        stagec.grad(write)(1.0)
    assert float(ref[...]) == 0


@pytest.mark.parametrize("how", [lambda f: f, stagec.jit], ids=["eager", "jit"])
def test_mapped_references_hold_a_part_for_each_element(how):
    ref = stagec.new_ref(snp.arange(6.0).reshape(2, 3))

    def step(x, r):
        before = r[...]
        r[0] = before[0] + x
        lax.fori_loop(0, 2, lambda i, _: r.set(r[...] * 2), None)
        return before

    before = how(stagec.vmap(step, in_axes=(0, 1), out_axes=1))(snp.ones(3), ref)
    assert before.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ref[...].tolist() == [[4, 8, 12], [12, 16, 20]]


def test_a_mapped_reference_takes_what_all_elements_share():
    ref = stagec.new_ref(snp.zeros((2, 3)))

    def write(r):
        r[...] = snp.array([1.0, 2.0])

    stagec.vmap(write, in_axes=1)(ref)
    assert ref[...].tolist() == [[1, 1, 1], [2, 2, 2]]
    with pytest.raises(errors.UnsupportedError, match="passed twice"):
        stagec.vmap(lambda a, b: None, in_axes=(1, None))(ref, ref)
    with pytest.raises(errors.ShapeError, match=r"axis 2 of r is mapped, but it is float32\[2,3\]"):
        stagec.vmap(write, in_axes=2)(ref)


@pytest.mark.parametrize("how", [lambda f: f, stagec.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_goes_over_the_rows_of_references(how, reverse):
    ref, xs = stagec.new_ref(snp.arange(3.0)), snp.array([1.0, 2.0, 4.0])

    def step(carry, rows):
        x, row = rows
        before = row[...]
        row[...] = carry
        return carry + x + before, before

    total, before = how(lambda r: lax.scan(step, 0.0, (xs, r), reverse=reverse))(ref)
    assert (float(total), before.tolist()) == (10, [0, 1, 2])
    assert ref[...].tolist() == ([9, 6, 0] if reverse else [0, 1, 4])
    with pytest.raises(errors.PytreeError, match="pair"):
        lax.scan(lambda c, r: r[...], 0.0, ref)


@pytest.mark.parametrize("how", [lambda f: f, stagec.jit], ids=["eager", "jit"])
def test_tangents_of_references_are_references(how):
    ref, dot = stagec.new_ref(2.0), stagec.new_ref(1.0)
    unused, zero = stagec.new_ref(5.0), stagec.new_ref(7.0)

    def f(x, r, u):
        r[...] *= x
        u[...] = 3.0
        return r[...] + 1

    found = how(lambda r, d, u, z: stagec.jvp(f, (3.0, r, u), (1.0, d, z)))(ref, dot, unused, zero)
    assert [float(v) for v in found] == [7, 5]
    assert [float(r[...]) for r in (ref, dot, unused, zero)] == [6, 5, 3, 0]
    with pytest.raises(errors.ArgumentTypeError, match="of r and its tangent, one is a reference"):
        stagec.jvp(f, (3.0, ref, unused), (1.0, 1.0, zero))


@pytest.mark.parametrize("how", [lambda f: f, stagec.jit], ids=["eager", "jit"])
def test_a_backward_function_writes_a_reference_that_was_an_argument(how):
    @stagec.custom_vjp
    def stash(seen, x):
        return x

    def backward(seen, ct):
        seen["ct"][...] = ct
        return None, ct

    stash.defvjp(lambda seen, x: (x, seen), backward)
    ref = stagec.new_ref(0.0)
    slope = how(stagec.grad(lambda x, r: stash({"ct": r}, snp.sin(x)) ** 2))(1.0, ref)
    np.testing.assert_allclose(slope, np.sin(2.0), rtol=1e-6)
    np.testing.assert_allclose(ref[...], 2 * np.sin(1.0), rtol=1e-6)
    assert float(stash({"ct": ref}, 2.0)) == 2


def test_a_checkpoint_reads_references():
    ref = stagec.new_ref(2.0)
    f = stagec.checkpoint(lambda x, r, y: snp.sin(x) * r[...] * y)
    assert float(f(0.5, ref, 3.0)) == pytest.approx(6 * np.sin(0.5))
    assert float(stagec.grad(f)(0.5, ref, 3.0)) == pytest.approx(6 * np.cos(0.5))


def test_functions_that_cannot_write_say_so():
    ref = stagec.new_ref(0.0)

    def write(x):
        ref[...] = x
        return x

    with pytest.raises(errors.UnsupportedError, match="recorded without what it writes"):
        stagec.checkpoint(write)(1.0)
    for call in (stagec.jit(write).lower, stagec.make_graph(write)):
        with pytest.raises(errors.UnsupportedError, match="only be called, not lowered"):
            call(1.0)
    with pytest.raises(errors.UnsupportedError, match="a condition reads only"):
        lax.while_loop(lambda c: write(c) < 0, lambda c: c, 1.0)
    with pytest.raises(errors.UnsupportedError, match="from outside of the function"):
        stagec.jit(lambda: stagec.freeze(ref))()


def test_a_choice_of_memory_is_refused():
    with pytest.raises(errors.UnsupportedError, match="memory_space='vmem'"):
        stagec.new_ref(1.0, memory_space="vmem")
