"""Loops inside of `shard_map` whose carries differ between devices along other axes than they begin with."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import P, lax
from stagec.errors import CarryError

ROWS = P("x")


@pytest.fixture
def mesh():
    return stagec.make_mesh((8,), ("x",))


def test_a_carry_that_begins_to_differ_is_refused(mesh):
    def of(f, **options):
        return stagec.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), **options)

    def scanned(start):
        return lambda x: lax.scan(lambda c, v: (c + v, None), start, x)[0][None]

    loops = {
        "scan": scanned(0.0),
        "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c + lax.axis_index("x"), 0)[None],
        "while_loop": lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x.sum()), (0, 1.0))[1][
            None
        ],
    }
    x = snp.arange(16.0)
    for name, f in loops.items():
        for run in (of(f), stagec.jit(of(f))):
            with pytest.raises(CarryError, match=f"{name}: .*returns a carry that differs between devices") as raised:
                run(x)
            text = str(raised.value)
            assert "taken as the same along 'x'" in text and "returned as differs along 'x'" in text
            assert "begin with lax.pcast(x, 'x', to='varying') in place of x, which is carry" in text
        assert of(f, check_vma=False)(x).shape == (8,)
    with pytest.raises(CarryError, match="returns a carry that differs") as raised:
        of(lambda x: lax.scan(lambda c, v: (lax.psum(v, "x"), None), x[0], x)[0][None])(x)
    assert "return lax.pcast(x, 'x', to='varying')" in str(raised.value)


def test_carries_that_differ_as_they_begin_are_taken(mesh):
    def of(f, out=ROWS):
        return stagec.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=out)(snp.arange(16.0))

    def total(start, of_row=lambda v: v):
        return lambda x: lax.scan(lambda c, v: (c + of_row(v), None), start(x), x)[0]

    wanted = np.arange(16.0).reshape(8, 2).sum(1)
    assert np.array_equal(of(lambda x: total(lambda x: lax.pcast(0.0, "x", to="varying"))(x)[None]), wanted)
    assert np.array_equal(of(lambda x: total(lambda x: x[0] * 0)(x)[None]), wanted)
    summed = stagec.jit(lambda v: lax.psum(v, "x"))
    for of_row in (lambda v: lax.psum(v, "x"), lambda v: summed(v), lambda v: lax.pmax(v, "x") * 0 + summed(v)):
        assert float(of(total(lambda x: 0.0, of_row), P())) == 120
    # What is not known is not refused: whether the conditional's result differs.
    chosen = total(lambda x: x[0] * 0, lambda v: lax.cond(v > 3, lambda: summed(v), lambda: 0.0 * v))
    assert of(lambda x: chosen(x)[None]).shape == (8,)
