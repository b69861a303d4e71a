"""The special cases of the Python array API standard, version 2024.12, eagerly and compiled.

A line is `function arguments -> result`. `~` before a result leaves its sign open, as the standard does. A `|`
separates alternatives for one argument.
"""

import itertools
import math

import numpy as np
import pytest

import stagec
import stagec.numpy as snp

PI = math.pi
REAL = """
abs nan -> nan
abs -0 -> ~0
abs -inf -> inf
acos nan|1.5|-1.5|inf|-inf -> nan
acos 1 -> 0
acosh nan|0.5|-1|-inf -> nan
acosh 1 -> 0
acosh inf -> inf
asin nan|1.5|-1.5|inf|-inf -> nan
asin 0 -> 0
asin -0 -> -0
asinh nan -> nan
asinh 0 -> 0
asinh -0 -> -0
asinh inf -> inf
asinh -inf -> -inf
atan nan -> nan
atan 0 -> 0
atan -0 -> -0
atan inf -> pi/2
atan -inf -> -pi/2
atanh nan|1.5|-1.5|inf|-inf -> nan
atanh -1 -> -inf
atanh 1 -> inf
atanh 0 -> 0
atanh -0 -> -0
ceil inf -> inf
ceil -inf -> -inf
ceil 0 -> 0
ceil -0|-0.5 -> -0
ceil nan -> nan
cos nan|inf|-inf -> nan
cos 0|-0 -> 1
cosh nan -> nan
cosh 0|-0 -> 1
cosh inf|-inf -> inf
exp nan -> nan
exp 0|-0 -> 1
exp inf -> inf
exp -inf -> 0
expm1 nan -> nan
expm1 0 -> 0
expm1 -0 -> -0
expm1 inf -> inf
expm1 -inf -> -1
floor inf -> inf
floor -inf -> -inf
floor 0|0.5 -> 0
floor -0 -> -0
floor nan -> nan
log nan|-1|-inf -> nan
log 0|-0 -> -inf
log 1 -> 0
log inf -> inf
log1p nan|-1.5|-inf -> nan
log1p -1 -> -inf
log1p -0 -> -0
log1p 0 -> 0
log1p inf -> inf
log2 nan|-1|-inf -> nan
log2 0|-0 -> -inf
log2 1 -> 0
log2 inf -> inf
log10 nan|-1|-inf -> nan
log10 0|-0 -> -inf
log10 1 -> 0
log10 inf -> inf
negative 0 -> -0
negative -0 -> 0
reciprocal 0 -> inf
reciprocal -0 -> -inf
reciprocal inf -> 0
reciprocal -inf -> -0
reciprocal nan -> nan
round inf -> inf
round -inf -> -inf
round 0|0.5 -> 0
round -0|-0.5 -> -0
round nan -> nan
round 2.5|1.5 -> 2
sign -3|-inf -> -1
sign 0|-0 -> ~0
sign 3|inf -> 1
sign nan -> nan
sin nan|inf|-inf -> nan
sin 0 -> 0
sin -0 -> -0
sinh nan -> nan
sinh 0 -> 0
sinh -0 -> -0
sinh inf -> inf
sinh -inf -> -inf
sqrt nan|-1|-inf -> nan
sqrt 0 -> 0
sqrt -0 -> -0
sqrt inf -> inf
square -inf|inf -> inf
square -0 -> 0
tan nan|inf|-inf -> nan
tan 0 -> 0
tan -0 -> -0
tanh nan -> nan
tanh 0 -> 0
tanh -0 -> -0
tanh inf -> 1
tanh -inf -> -1
trunc inf -> inf
trunc -inf -> -inf
trunc 0|0.5 -> 0
trunc -0|-0.5 -> -0
trunc nan -> nan
add nan 1 -> nan
add inf -inf -> nan
add inf inf|1 -> inf
add -inf -inf|1 -> -inf
add -0 -0 -> -0
add -0 0 -> 0
add 0 -0|0 -> 0
add 0|-0 3 -> 3
add 3 -3 -> 0
atan2 nan 1 -> nan
atan2 1 nan -> nan
atan2 2 0|-0 -> pi/2
atan2 0 2|0|inf -> 0
atan2 0 -0|-2|-inf -> pi
atan2 -0 2|0|inf -> -0
atan2 -0 -0|-2|-inf -> -pi
atan2 -2 0|-0 -> -pi/2
atan2 2 inf -> 0
atan2 2 -inf -> pi
atan2 -2 inf -> -0
atan2 -2 -inf -> -pi
atan2 inf 2|-2 -> pi/2
atan2 -inf 2|-2 -> -pi/2
atan2 inf inf -> pi/4
atan2 inf -inf -> 3*pi/4
atan2 -inf inf -> -pi/4
atan2 -inf -inf -> -3*pi/4
copysign 2|-2 0|1|inf -> 2
copysign 2|-2 -0|-1|-inf -> -2
copysign 0|-0 -1 -> -0
divide nan 1 -> nan
divide inf|-inf inf|-inf -> nan
divide 0|-0 0|-0 -> nan
divide 0 2 -> 0
divide 0 -2 -> -0
divide -0 2 -> -0
divide -0 -2 -> 0
divide 2 0 -> inf
divide 2 -0 -> -inf
divide -2 0 -> -inf
divide -2 -0 -> inf
divide inf 2 -> inf
divide inf -2 -> -inf
divide -inf 2 -> -inf
divide -inf -2 -> inf
divide 2 inf -> 0
divide 2 -inf -> -0
divide -2 inf -> -0
divide -2 -inf -> 0
floor_divide nan 1 -> nan
floor_divide 1 nan -> nan
floor_divide inf|-inf inf|-inf -> nan
floor_divide 0|-0 0|-0 -> nan
floor_divide 0 2|inf -> 0
floor_divide -0 2|inf -> -0
floor_divide 0 -2|-inf -> -0
floor_divide -0 -2|-inf -> 0
floor_divide 2|inf 0 -> inf
floor_divide 2|inf -0 -> -inf
floor_divide -2|-inf 0 -> -inf
floor_divide -2|-inf -0 -> inf
floor_divide inf 2 -> inf
floor_divide inf -2 -> -inf
floor_divide -inf 2 -> -inf
floor_divide -inf -2 -> inf
floor_divide 2 inf -> 0
floor_divide 2 -inf -> -0
floor_divide -2 inf -> -0
floor_divide -2 -inf -> 0
floor_divide -1 -2 -> 0
floor_divide -1 2 -> -1
floor_divide 7 2 -> 3
floor_divide 7 -2 -> -4
hypot inf|-inf nan|1|0|inf|-inf -> inf
hypot nan|1 inf|-inf -> inf
hypot nan 1|nan -> nan
hypot 0|-0 -2|2 -> 2
logaddexp nan 1|inf -> nan
logaddexp inf 1|inf|-inf -> inf
logaddexp -inf -inf -> -inf
maximum nan 1 -> nan
maximum 1 nan -> nan
minimum nan 1 -> nan
minimum 1 nan -> nan
multiply inf|-inf 0|-0 -> nan
multiply inf -inf|-1 -> -inf
multiply 0 -1 -> -0
multiply -0 -1 -> 0
nextafter nan 1 -> nan
nextafter 1 nan -> nan
nextafter 0|-0 -0 -> -0
nextafter -0|0 0 -> 0
nextafter inf inf -> inf
pow 0.5|2|-3|0|inf nan -> nan
pow 1 nan|2|inf|-inf -> 1
pow nan|0|inf|-2 0|-0 -> 1
pow nan 1|inf -> nan
pow 2|-2 inf -> inf
pow 2|-2 -inf -> 0
pow -1 inf|-inf -> 1
pow 0.5|-0.5 inf -> 0
pow 0.5|-0.5 -inf -> inf
pow inf 2|0.5 -> inf
pow inf -2|-0.5 -> 0
pow -inf 3 -> -inf
pow -inf 2|0.5 -> inf
pow -inf -3 -> -0
pow -inf -2|-0.5 -> 0
pow 0 2|3|0.5 -> 0
pow 0 -2|-3|-0.5 -> inf
pow -0 3 -> -0
pow -0 2|0.5 -> 0
pow -0 -3 -> -inf
pow -0 -2|-0.5 -> inf
pow -2 0.5|-0.5 -> nan
remainder nan 1 -> nan
remainder inf|-inf inf|-inf|2|-2 -> nan
remainder 0|-0|2|-2|inf|-inf 0|-0 -> nan
remainder 0|-0|2|-2|-4 2|1 -> 0
remainder 0|-0|2|-2|4 -2|-1 -> -0
remainder 0|-0 inf -> 0
remainder 0|-0 -inf -> -0
remainder 2 inf -> 2
remainder 2 -inf -> -inf
remainder -2 inf -> inf
remainder -2 -inf -> -2
remainder 7 -2 -> -1
remainder -7 2 -> 1
subtract inf inf -> nan
subtract 0 0|-0 -> 0
subtract -0 0 -> -0
"""

# `real imaginary -> real imaginary`, each also for the conjugates.
COMPLEX = """
acos 0|-0 0 -> pi/2 -0
acos 0|-0 nan -> pi/2 nan
acos 2|-2|0 inf -> pi/2 -inf
acos 2|-2 nan -> nan nan
acos -inf 2 -> pi -inf
acos inf 2 -> 0 -inf
acos -inf inf -> 3*pi/4 -inf
acos inf inf -> pi/4 -inf
acos inf|-inf nan -> nan ~inf
acos nan 2|nan -> nan nan
acos nan inf -> nan -inf
acosh 0|-0 0 -> 0 pi/2
acosh 2|-2 inf -> inf pi/2
acosh 2|-2 nan -> nan nan
acosh 0 nan -> nan ~pi/2
acosh -inf 2 -> inf pi
acosh inf 2 -> inf 0
acosh -inf inf -> inf 3*pi/4
acosh inf inf -> inf pi/4
acosh inf|-inf nan -> inf nan
acosh nan 2|nan -> nan nan
acosh nan inf -> inf nan
asin 0 0 -> 0 0
asin 0 nan -> 0 nan
asin 2 inf -> 0 inf
asin 2 nan -> nan nan
asin inf 2 -> pi/2 inf
asin inf inf -> pi/4 inf
asin inf nan -> nan ~inf
asin nan 2|nan -> nan nan
asin nan inf -> nan inf
asinh 0 0 -> 0 0
asinh 2 inf -> inf pi/2
asinh 2 nan -> nan nan
asinh inf 2 -> inf 0
asinh inf inf -> inf pi/4
asinh inf nan -> inf nan
asinh nan 0 -> nan 0
asinh nan 2|nan -> nan nan
asinh nan inf -> ~inf nan
atan 0 0 -> 0 0
atan 2 inf -> pi/2 0
atan inf 2|inf -> pi/2 0
atan inf nan -> pi/2 ~0
atan nan inf -> nan 0
atan nan 2|nan -> nan nan
atanh 0 0 -> 0 0
atanh 0 nan -> 0 nan
atanh 1 0 -> inf 0
atanh 2 inf -> 0 pi/2
atanh 2 nan -> nan nan
atanh inf 2 -> 0 pi/2
atanh inf inf -> 0 pi/2
atanh inf nan -> 0 nan
atanh nan 2|nan -> nan nan
atanh nan inf -> ~0 pi/2
cos 0 0 -> 1 -0
cos -0 0 -> 1 0
cos 0 2 -> 3.7621956910836314 -0
cos 0 inf -> inf -0
cos -0 inf -> inf 0
cosh 0 0 -> 1 0
cosh -0|-2 0 -> cosh(x) -0
cosh 0 inf|nan -> nan ~0
cosh 2 inf|nan -> nan nan
cosh inf 0 -> inf 0
cosh -inf 0 -> inf -0
cosh inf 2 -> -inf inf
cosh inf inf|nan -> inf nan
cosh nan 0 -> nan ~0
cosh nan 2|nan -> nan nan
exp 0|-0 0 -> 1 0
exp 2 inf|nan -> nan nan
exp inf 0 -> inf 0
exp -inf 2 -> -0 0
exp inf 2 -> -inf inf
exp -inf inf|nan -> ~0 ~0
exp inf inf|nan -> ~inf nan
exp nan 0 -> nan 0
exp nan 2|nan -> nan nan
expm1 0 0 -> 0 0
expm1 -0 0 -> ~0 0
expm1 2 inf|nan -> nan nan
expm1 inf 0 -> inf 0
expm1 -inf 2 -> -1 0
expm1 inf 2 -> -inf inf
expm1 -inf inf|nan -> -1 ~0
expm1 inf inf|nan -> ~inf nan
expm1 nan 0 -> nan 0
expm1 nan 2|nan -> nan nan
exp2 inf 0 -> inf 0
exp2 inf 1 -> inf inf
exp2 -inf 2 -> 0 0
log -0 0 -> -inf pi
log 0 0 -> -inf 0
log 2 inf -> inf pi/2
log 2 nan -> nan nan
log -inf 2 -> inf pi
log inf 2 -> inf 0
log -inf inf -> inf 3*pi/4
log inf inf -> inf pi/4
log inf|-inf nan -> inf nan
log nan 2|nan -> nan nan
log nan inf -> inf nan
log1p -1 0 -> -inf 0
log1p 2 inf -> inf pi/2
log1p 2 nan -> nan nan
log1p -inf 2 -> inf pi
log1p inf 2 -> inf 0
log1p -inf inf -> inf 3*pi/4
log1p inf inf -> inf pi/4
log1p inf|-inf nan -> inf nan
log1p nan 2|nan -> nan nan
log1p nan inf -> inf nan
sign 0|-0 0 -> ~0 ~0
sign nan 2|nan -> nan nan
sign 2|inf|-inf nan -> nan nan
sign 3 4 -> 0.6 0.8
sin 0 0 -> 0 0
sin 0 inf -> 0 inf
sin inf 0 -> nan ~0
sinh 0 0 -> 0 0
sinh 0 inf|nan -> ~0 nan
sinh 2 inf|nan -> nan nan
sinh inf 0 -> inf 0
sinh inf 2 -> -inf inf
sinh inf inf|nan -> ~inf nan
sinh nan 0 -> nan 0
sinh nan 2|nan -> nan nan
sqrt 0|-0 0 -> 0 0
sqrt 2|nan|inf|-inf inf -> inf inf
sqrt 2 nan -> nan nan
sqrt -inf 2 -> 0 inf
sqrt inf 2 -> inf 0
sqrt -inf nan -> nan ~inf
sqrt inf nan -> inf nan
sqrt nan 2|nan -> nan nan
tan 0 0 -> 0 0
tan 2 inf -> -0 1
tanh 0 0 -> 0 0
tanh 2 inf|nan -> nan nan
tanh inf 2 -> 1 -0
tanh inf inf|nan -> 1 ~0
tanh nan 0 -> nan 0
tanh nan 2|nan -> nan nan
abs inf|-inf nan|inf|2 -> inf ~0
abs nan inf -> inf ~0
abs nan 2|nan -> nan ~0
abs 0|-0 -2 -> 2 ~0
"""

NAMES = {"pi": PI, "inf": math.inf, "nan": math.nan}


def number(text, x=0.0):
    return float(eval(text, {"cosh": math.cosh, "x": x}, NAMES)) if text != "-0" else -0.0


def rows(table):
    """`(function, arguments, texts of the results)` for each combination of alternatives."""
    for line in table.strip().splitlines():
        call, results = line.split(" -> ")
        name, *given = call.split()
        for texts in itertools.product(*[g.split("|") for g in given]):
            yield name, tuple(number(t) for t in texts), results.split()


def agrees(text, value, x):
    """Whether a part of a result is what the table says; zeros have signs."""
    expected = number(text.lstrip("~"), x)
    if math.isnan(expected):
        return math.isnan(value)
    if text[0] == "~":
        return abs(value) == abs(expected) or math.isclose(abs(value), abs(expected), rel_tol=1e-6)
    signs = math.copysign(1, value) == math.copysign(1, expected)
    return signs and (value == expected or math.isclose(value, expected, rel_tol=1e-6))


def results(calls, dtype):
    """The results of all calls, eagerly and compiled, in the order of the calls."""
    groups = {}
    for i, (name, arguments) in enumerate(calls):
        groups.setdefault(name, []).append((i, arguments))
    arrays = {n: [np.array(column, dtype) for column in zip(*[a for _, a in g])] for n, g in groups.items()}

    def run(arrays):
        return {name: getattr(snp, name)(*columns) for name, columns in arrays.items()}

    ours = {name: [snp.asarray(c) for c in columns] for name, columns in arrays.items()}
    # Outside jit, the third call runs by a plan.
    ways = [("eager", run(ours)), ("recorded", run(ours)), ("by a plan", run(ours))]
    if np.dtype(dtype).name in ("float32", "complex64"):  # compiled code computes the others in the same steps
        ways.append(("compiled", stagec.jit(run)(ours)))
    for how, found in ways:
        ordered = [None] * len(calls)
        for name, group in groups.items():
            for (i, _), value in zip(group, found[name].numpy(), strict=True):
                ordered[i] = value
        yield how, ordered


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_special_cases(dtype):
    table = list(rows(REAL))
    with stagec.enable_x64(dtype == "float64"):
        wrong = []
        for how, found in results([(name, a) for name, a, _ in table], dtype):
            for (name, arguments, (text,)), value in zip(table, found, strict=True):
                if not agrees(text, float(value), arguments[0]):
                    wrong.append(f"{how}: {name}{arguments} is {value}, should be {text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_special_cases(dtype):
    table = [(name, a, texts, sign) for name, a, texts in rows(COMPLEX) for sign in (1, -1)]
    with stagec.enable_x64(dtype == "complex128"):
        wrong = []
        calls = [(name, (complex(a, b * sign),)) for name, (a, b), _, sign in table]
        for how, found in results(calls, dtype):
            for (name, (a, _), texts, sign), (_, (z,)), value in zip(table, calls, found, strict=True):
                turned = complex(value) if sign > 0 else complex(value).conjugate()
                if not all(agrees(t, v, a) for t, v in zip(texts, (turned.real, turned.imag), strict=True)):
                    wrong.append(f"{how}: {name}({z}) is {value}, should be {texts}{', conjugated' * (sign < 0)}")
    assert not wrong, "\n".join(wrong)
