"""Hints of Python's own control flow in compiled functions."""

import types

import numpy as np

import stagec

X = np.array([3.0, 1.0, 2.0])


def run(function, *args):
    return stagec.jit(function, python=True)(*args)


def whole(x):
    return int(x) if x[0] > 0 else 0


def first(x):
    return int(x[0]) if x[0] > 0 else 0


def divides_at(x):
    np.divide.at(x, np.array([0, 0]), 2.0)
    return x


def divides(x):
    for i in np.array([0, 0]):
        x[i] /= 2.0
    return x


def draws(x):
    return x + np.random.rand()


def adds(x, r):
    return x + r


def all_positive(x):
    return 1.0 if (x > 0).all() else 2.0


def positive(x):
    return 1.0 if x > 0 else 2.0


def changed(x):
    x[0] -= 1.0
    return x[0]


def by_condition(x):
    while changed(x) > 0:
        pass
    return x


def by_body(x):
    while x[0] > 0:
        x[0] -= 1.0
    return x


def grows(x):
    y = x[:1]
    while y.sum() < 10:
        y = np.concatenate((y, x))
    return y


def begins_large(x):
    y = np.zeros(3)
    while y.sum() < 10:
        y = y + x
    return y


def slices(x, n):
    total = 0.0
    for i in range(1_000_001):
        total += np.ones(i % 2 + 1).sum()
    return total


def masks(x, n):
    total = 0.0
    for i in range(1_000_001):
        total += np.where(np.arange(3) < i % 2 + 1, 1.0, 0.0).sum()
    return total


def comprehends(x, n):
    return [2 * i for i in range(n)]


def assigns(x, n):
    y = np.zeros(3)
    for i in range(n):
        y[i] = i
    return y


async def waits(x):
    return x


def returns(x):
    return x


def sets_attribute(x):
    self = types.SimpleNamespace(y=0.0)
    if x[0] > 0:
        self.y = x[1]
    return self.y


def sets_name(x):
    self = types.SimpleNamespace(y=0.0)
    y = 0.0
    if x[0] > 0:
        y = x[1]
    self.y = y
    return self.y


def appends(x):
    found = []
    if x[0] > 0:
        found.append(x[1])
    return found


def keeps(x):
    found = np.zeros(1)
    if x[0] > 0:
        found[0] = x[1]
    return found


def unassigned(x):
    if x[0] > 0:
        y = x[1]
    return y


def assigned(x):
    y = 0.0
    if x[0] > 0:
        y = x[1]
    return y


def ambiguous(x):
    y = x
    if x[0] > 0:
        y = x + 1
    y[0] = 5.0
    return x


def clear(x):
    y = x.copy()
    if x[0] > 0:
        y = x + 1
    y[0] = 5.0
    return x


def writes_complex(x):
    x[0] = 1j * x[1]
    return x


def writes_real(x):
    x[0] = (1j * x[1]).real
    return x


def iterates(x):
    return list(x[0])


def iterates_all(x):
    return list(x)


def sets_shape(x):
    x.shape = (1, -1)
    return x


def reshapes(x):
    x = x.reshape((1, -1))
    return x


def returns_some(x):
    return x[x > 1]


def returns_all(x):
    return np.where(x > 1, x, 0)


def doubles_others(x):
    x[x > 1] = x[x > 2] * 2.0
    return x


def doubles(x):
    big = x > 1
    x[big] = x[big] * 2.0
    return x


def adds_others(x):
    return (x[x > 1] + x[x > 2]).sum()


def adds_same(x):
    return (x[x > 1] + x[x > 1]).sum()


def adds_to_first(x, y):
    x += y


def asserts(x):
    assert x.sum() > 0
    return x


def adds_to_part(x):
    x[1:] += x[:-1].copy()


double, triple = lambda x: x * 2, lambda x: x * 3
scope = {}
exec("def sourceless(x):\n    return x", scope)

CASES = [
    ("index it first", lambda: run(whole, X), lambda: run(first, X)),
    ("write a loop over the indices", lambda: run(divides_at, X.copy()), lambda: run(divides, X.copy())),
    (
        "pass random numbers as an argument, or use stagec.random with a key",
        lambda: run(draws, X),
        lambda: run(adds, X, 0.5),
    ),
    (
        "return the condition as a result, and raise where the program is called",
        lambda: stagec.export(stagec.jit(asserts, python=True))(X),
        lambda: stagec.export(stagec.jit(returns, python=True))(X),
    ),
    (
        "define a function with def that calls it",
        lambda: stagec.jit(len, python=True),
        lambda: stagec.jit(returns, python=True),
    ),
    ("write x.any() or x.all()", lambda: run(positive, X), lambda: run(all_positive, X)),
    ("change it in the loop's body", lambda: run(by_condition, X.copy()), lambda: run(by_body, X.copy())),
    (
        "begin with a y of the shape and kind that it has later, such as an array of zeros",
        lambda: run(grows, X),
        lambda: run(begins_large, X),
    ),
    (
        "write the round so that shapes, slices and indices of lists do not depend on its number",
        lambda: run(slices, X, 3),
        lambda: run(masks, X, 3),
    ),
    (
        "write a for statement with an array that it assigns",
        lambda: run(comprehends, X, 3),
        lambda: run(assigns, X, 3),
    ),
    (
        "define it with def, and import it again where its file changed",
        lambda: run(double, X),
        lambda: run(returns, X),
    ),
    ("write a function without async", lambda: run(waits, X), lambda: run(returns, X)),
    ("write it in a file or in a notebook's cell", lambda: run(scope["sourceless"], X), lambda: run(returns, X)),
    (
        "assign it to a name, and the name to the attribute after the loop or the branch",
        lambda: run(sets_attribute, X),
        lambda: run(sets_name, X),
    ),
    (
        "keep the values in an array made before, as in x = np.zeros(n), and assign x[i]",
        lambda: run(appends, X),
        lambda: run(keeps, X),
    ),
    (
        "assign y before, so that it has a value in every case",
        lambda: run(unassigned, X),
        lambda: run(assigned, X),
    ),
    (
        "give the name an array of its own before the loop or the branch, as in x = x.copy()",
        lambda: run(ambiguous, X.copy()),
        lambda: run(clear, X.copy()),
    ),
    ("write the real part, x.real", lambda: run(writes_complex, X.copy()), lambda: run(writes_real, X.copy())),
    (
        "compute with all elements, and leave those out that do not count with np.where(mask, x, 0)",
        lambda: run(returns_some, X),
        lambda: run(returns_all, X),
    ),
    (
        "give the mask a name, and use it for both",
        lambda: run(doubles_others, X.copy()),
        lambda: run(doubles, X.copy()),
    ),
    ("select from both with one mask", lambda: run(adds_others, X), lambda: run(adds_same, X)),
    (
        "pass one array, and take its parts in the function",
        lambda: run(adds_to_first, X[1:], X[:-1]),
        lambda: run(adds_to_part, X.copy()),
    ),
    ("iterate an array", lambda: run(iterates, X), lambda: run(iterates_all, X)),
    ("x = x.reshape(shape)", lambda: run(sets_shape, X), lambda: run(reshapes, X)),
]
