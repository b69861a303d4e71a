"""`debug.print` and `debug.callback`."""

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

f32 = stagec.ShapeDtypeStruct((), "float32")


def test_print_formats_values(capsys):
    @stagec.jit
    def f(x, n):
        stagec.debug.print("{} {n:>4} {x:.2f} {s!r} {{}} {tree[a]}", x, n=n, x=x, s="text", tree={"a": n, "b": 1})
        stagec.debug.print("no names")
        stagec.debug.print("{x.shape} {x[1]} {0:{width}}", 5, x=snp.arange(3) * n, width=3)
        return x

    f(1.5, 7)
    assert capsys.readouterr().out == "1.5    7 1.50 'text' {} 7\nno names\n(3,) 7   5\n"


def test_print_hands_on_what_is_known_as_it_is(capsys):
    f = stagec.jit(lambda x: stagec.debug.print("{} {} {} {}", x.shape, 2**40, int, 0.1))
    f(np.zeros((2, 3), np.float32))
    assert capsys.readouterr().out == "(2, 3) 1099511627776 <class 'int'> 0.1\n"


@pytest.mark.parametrize(
    ("fmt", "args", "kwargs", "message"),
    [
        ("{} {}", (1,), {}, "names more positional arguments than the 1 given"),
        ("{x}", (), {}, "names x, which is not given"),
        ("{x}", (1,), {"x": 1}, "does not use argument 0"),
        ("{x}", (), {"x": 1, "y": 2}, "does not use y"),
        ("plain", (1,), {}, "does not use argument 0(.|\n)*not an f-string"),
        ("{x", (), {"x": 1}, "is not one"),
        ("{x!z}", (), {"x": 1}, "is not one"),
        ("{} {0}", (1,), {}, "is not one"),
    ],
)
def test_a_format_string_is_checked_while_tracing(fmt, args, kwargs, message):
    with pytest.raises(stagec.errors.FormatError, match=message) as info:
        stagec.jit(lambda: stagec.debug.print(fmt, *args, **kwargs)).trace()
    assert "test_debug_print.py" in str(info.value)
    assert isinstance(info.value, (ValueError, LookupError))


def test_the_check_of_the_format_string_can_be_left_out(capsys):
    stagec.jit(lambda x: stagec.debug.print("{x}", 1, x=x, skip_format_check=True))(2)
    assert capsys.readouterr().out == "2\n"


def test_debug_callback_drops_results_and_takes_anything():
    seen = []
    thing = object()
    f = stagec.jit(lambda x: stagec.debug.callback(lambda *a, **k: seen.append((a, k)), x, thing, None, k=["s", x]))
    f(np.float32(2))
    ((array, other, none), keywords), *rest = seen
    assert rest == []
    assert (float(array), other, none) == (2.0, thing, None)
    assert keywords["k"][0] == "s"
    assert float(keywords["k"][1]) == 2.0
