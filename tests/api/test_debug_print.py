"""`debug.print` and `debug.callback`."""

import bdb
import io
import sys

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


def test_a_log_goes_to_the_logger(caplog):
    @stagec.jit
    def f(x):
        stagec.debug.log("x = {x}, {}", x + 1, x=x)
        return x

    with caplog.at_level("INFO", "stagec.debug"):
        f(1)
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [("stagec.debug", "INFO", "x = 1, 2")]
    caplog.clear()
    f(1)
    assert caplog.records == []
    with pytest.raises(
        stagec.errors.FormatError, match=r"debug\.log: the format string names y(.|\n)*stagec\.debug\.log\("
    ):
        stagec.debug.log("{y}")


def test_a_breakpoint_has_the_values_of_the_run(monkeypatch, capsys):
    @stagec.jit
    def f(x, scale=3):
        y = [x * scale, "text"]
        stagec.debug.breakpoint(backend="cli", filter_frames=False, num_frames=1, token=None)
        return y[0]

    monkeypatch.setattr(sys, "stdin", io.StringIO("p y\np scale + 1\np np.sum\nc\n"))
    assert f(np.float32([1, 2])).tolist() == [3, 6]
    printed = capsys.readouterr().out
    assert f"{__file__}({f._function.__code__.co_firstlineno + 3})" in printed
    assert "[Array([3., 6.], dtype=float32), 'text']" in printed
    assert "(Pdb) 4" in printed and "function sum" in printed


def test_a_breakpoint_in_a_loop_stops_at_each_step_and_quitting_ends_the_call(monkeypatch, capsys):
    def step(c, x):
        stagec.debug.breakpoint()
        return c + x, None

    program = stagec.jit(lambda xs: stagec.lax.scan(step, 0, xs)[0])
    monkeypatch.setattr(sys, "stdin", io.StringIO("p int(c)\nc\np int(c)\nq\n"))
    with pytest.raises(bdb.BdbQuit):
        program(np.int32([10, 20, 30]))
    printed = capsys.readouterr().out
    assert "(Pdb) 0" in printed and "(Pdb) 10" in printed
