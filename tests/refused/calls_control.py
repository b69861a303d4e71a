"""Wrong calls of control flow."""

import operator

import numpy as np
from data import B, F, N, V

CALLS = {
    "while cond not bool": (
        lambda j: j.lax.while_loop(lambda x: x, lambda x: x + 1, 0),
        "while_loop: ... must return a boolean, got int32[]",
    ),
    "while cond vector": (
        lambda j: j.lax.while_loop(lambda x: x < 3, lambda x: x + 1, N),
        "while_loop: ... must return a boolean of rank 0, got bool[3]",
    ),
    "while carry dtype": (
        lambda j: j.lax.while_loop(lambda x: x < 3, lambda x: x + 1.5, np.int32(0)),
        "while_loop: ... returns a carry that differs from the one it takes:",
    ),
    "while carry shape": (
        lambda j: j.lax.while_loop(lambda x: True, lambda x: j.numpy.concatenate([x, x]), V),
        "while_loop: ... returns a carry that differs from the one it takes:",
    ),
    "while carry structure": (
        lambda j: j.lax.while_loop(lambda x: True, lambda x: (x, x), V),
        "while_loop: ... returns a carry that differs from the one it takes:",
    ),
    "while body arity": (
        lambda j: j.lax.while_loop(lambda x: x < 1, lambda x, y: x, 0),
        "while_loop: body_fun, ..., does not take 1 argument",
    ),
    "while cond arity": (
        lambda j: j.lax.while_loop(lambda: True, lambda x: x, 0),
        "while_loop: cond_fun, ..., does not take 1 argument",
    ),
    "while not callable": (lambda j: j.lax.while_loop(True, lambda x: x, 0), "while_loop takes functions, got bool"),
    "while string carry": (
        lambda j: j.lax.while_loop(lambda x: True, lambda x: x, "a"),
        "while_loop: init_val: expected an array or a number, got str: 'a'",
    ),
    "fori body arity": (
        lambda j: j.lax.fori_loop(0, 3, lambda x: x, 0.0),
        "fori_loop: body_fun, ..., does not take 2 arguments",
    ),
    "fori float bound": (
        lambda j: j.lax.fori_loop(0, 3.5, lambda i, x: x, 0.0),
        "fori_loop: the bounds must be integers",
    ),
    "fori vector bound": (
        lambda j: j.lax.fori_loop(0, N, lambda i, x: x, 0.0),
        "fori_loop: the bounds must have rank 0",
    ),
    "fori dtype of bounds": (
        lambda j: j.lax.fori_loop(np.int32(0), np.int16(3), lambda i, x: x, 0.0),
        "fori_loop: the bounds have different dtypes",
    ),
    "fori carry dtype": (
        lambda j: j.lax.fori_loop(0, 3, lambda i, x: x + 1.5, np.int32(0)),
        "fori_loop: ... returns a carry that differs from the one it takes:",
    ),
    "fori unroll": (lambda j: j.lax.fori_loop(0, 3, lambda i, x: x, 0.0, unroll=-1), "fori_loop: unroll=-1"),
    "fori body not callable": (lambda j: j.lax.fori_loop(0, 3, None, 0.0), "fori_loop takes a function, got NoneType"),
    "fori unroll traced bounds": (
        lambda j: j.jit(lambda n: j.lax.fori_loop(0, n, lambda i, x: x, 0.0, unroll=2))(3),
        "fori_loop: unroll needs bounds known while tracing",
    ),
    "scan not pair": (
        lambda j: j.lax.scan(lambda c, x: c, np.float32(0), V),
        "scan: ... must return a pair (carry, y)",
    ),
    "scan carry dtype": (
        lambda j: j.lax.scan(lambda c, x: (c > 0, x), np.float32(0), V),
        "scan: ... returns a carry that differs from the one it takes: other",
    ),
    "scan lengths": (
        lambda j: j.lax.scan(lambda c, x: (c, x), np.float32(0), (V, F)),
        "scan: the leading sizes of xs differ",
    ),
    "scan length given": (
        lambda j: j.lax.scan(lambda c, x: (c, x), np.float32(0), V, length=4),
        "scan: length=4 does not fit",
    ),
    "scan no length": (
        lambda j: j.lax.scan(lambda c, x: (c, x), np.float32(0), None),
        "scan: nothing says how many steps there are",
    ),
    "scan scalar xs": (
        lambda j: j.lax.scan(lambda c, x: (c, x), np.float32(0), np.float32(0)),
        "scan: xs has a leaf without axes",
    ),
    "scan arity": (lambda j: j.lax.scan(lambda c: (c, c), np.float32(0), V), "scan: f, ..., does not take 2 arguments"),
    "scan unroll": (lambda j: j.lax.scan(lambda c, x: (c, x), np.float32(0), V, unroll=-1), "scan: unroll=-1"),
    "scan not callable": (lambda j: j.lax.scan(None, np.float32(0), V), "scan takes a function, got NoneType"),
    "cond branch dtypes": (
        lambda j: j.lax.cond(True, lambda x: x, lambda x: x > 0, V),
        "cond: the branches return float32[3] and bool[3]",
    ),
    "cond branch shapes": (
        lambda j: j.lax.cond(True, lambda x: x, lambda x: x[:1], V),
        "cond: the branches return float32[3] and float32[1]",
    ),
    "cond branch structure": (
        lambda j: j.lax.cond(True, lambda x: x, lambda x: (x, x), V),
        "cond branch outputs must have the same pytree structure",
    ),
    "cond vector pred": (
        lambda j: j.lax.cond(B, lambda x: x, lambda x: x, V),
        "cond: pred must have rank 0, got bool[3]",
    ),
    "cond string pred": (
        lambda j: j.lax.cond("a", lambda x: x, lambda x: x, V),
        "cond: pred: expected an array or a number, got str: 'a'",
    ),
    "cond arity": (
        lambda j: j.lax.cond(True, lambda x: x, lambda x: x),
        "cond: false_fun, ..., does not take 0 arguments",
    ),
    "cond not callable": (lambda j: j.lax.cond(True, 1.0, 2.0), "cond takes functions, got float"),
    "switch none": (lambda j: j.lax.switch(0, []), "switch: there are no branches"),
    "switch float": (
        lambda j: j.lax.switch(0.5, [lambda: 1, lambda: 2]),
        "switch: index must be an integer, got float32[]",
    ),
    "switch vector": (
        lambda j: j.lax.switch(N, [lambda: 1, lambda: 2]),
        "switch: index must have rank 0, got int32[3]",
    ),
    "switch results": (
        lambda j: j.lax.switch(0, [lambda: 1, lambda: V]),
        "switch: the branches return int32[] and float32[3]",
    ),
    "switch bool": (
        lambda j: j.lax.switch(True, [lambda: 1, lambda: 2]),
        "switch: index must be an integer, got bool[]",
    ),
    "switch not callable": (lambda j: j.lax.switch(0, [1, 2]), "switch takes functions, got int"),
    "map scalar": (lambda j: j.lax.map(lambda x: x, np.float32(0)), "map: xs has a leaf without axes"),
    "map sizes": (lambda j: j.lax.map(lambda x: x, (V, F)), "map: the leading sizes of xs differ"),
    "map batch_size": (lambda j: j.lax.map(lambda x: x, V, batch_size=-1), "map: batch_size=-1"),
    "map no leaves": (lambda j: j.lax.map(lambda x: x, ()), "map: nothing says how many steps there are"),
    "associative_scan sizes": (
        lambda j: j.lax.associative_scan(lambda a, b: a, (V, F)),
        "associative_scan: sizes along axis 0 differ: 3, 2",
    ),
    "associative_scan axis": (
        lambda j: j.lax.associative_scan(operator.add, V, axis=1),
        "associative_scan: axis 1 is out of bounds for array of dimension 1",
    ),
    "associative_scan structure": (
        lambda j: j.lax.associative_scan(lambda a, b: (a, b), V),
        "associative_scan: ... must return the structure of elems",
    ),
    "associative_scan scalar": (
        lambda j: j.lax.associative_scan(operator.add, np.float32(1)),
        "associative_scan: axis 0 is out of bounds for array of dimension 0",
    ),
    "map arity": (lambda j: j.lax.map(lambda: 1, V), "map: f, ..., does not take 1 argument"),
    "map not callable": (lambda j: j.lax.map(3, V), "map takes a function, got int"),
    "map batch float": (
        lambda j: j.lax.map(lambda x: x, V, batch_size=1.5),
        "map: batch_size must be an integer, got float: 1.5",
    ),
    "assoc arity": (
        lambda j: j.lax.associative_scan(lambda a: a, V),
        "associative_scan: fn, ..., does not take 2 arguments",
    ),
    "assoc not callable": (lambda j: j.lax.associative_scan(3, V), "associative_scan takes a function, got int"),
    "switch arity": (
        lambda j: j.lax.switch(0, [lambda x: x, lambda: 1.0], V),
        "switch: branch 1, ..., does not take 1 argument",
    ),
    "switch none branches": (
        lambda j: j.lax.switch(0, None),
        "switch takes a function, got NoneType",
    ),
    "cond true arity": (
        lambda j: j.lax.cond(True, lambda: 1.0, lambda x: x, 1.0),
        "cond: true_fun, ..., does not take 1 argument",
    ),
    "while none result": (
        lambda j: j.lax.while_loop(lambda x: None, lambda x: x, 0),
        "while_loop: ... must return one boolean",
    ),
}
