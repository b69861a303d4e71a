"""What an error shows of its way: the user's frames, and none of stagec's."""

import pathlib
import pickle
import sys
import traceback

import numpy as np
import pytest

import stagec
import stagec.numpy as snp
from stagec import lax, nn, tree
from stagec.scipy import special

ROOT = pathlib.Path(stagec.__file__).parent.parent
PACKAGES = [str(ROOT / "stagec"), str(ROOT / "passes")]
X = snp.ones((2, 3))


def frames_of(use):
    with pytest.raises(Exception) as caught:
        use()
    return [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)], str(caught.value)


OPERATIONS = {
    "operator": lambda: X + snp.ones(4),
    "reflected operator": lambda: np.ones(4) @ X,
    "method": lambda: X.sum(axis=7),
    "index": lambda: X[1.5],
    "assignment": lambda: X.__setitem__(0, 1),
    "at": lambda: X.at[0, 0, 0].set(1),
    "iteration": lambda: list(snp.ones(())),
    "length": lambda: len(snp.ones(())),
    "truth": lambda: bool(X),
    "float": lambda: float(X),
    "hash": lambda: hash(X),
    "format": lambda: f"{X:.3f}",
    "numpy": lambda: snp.concatenate([X, snp.ones((2, 4, 1))]),
    "linalg": lambda: snp.linalg.norm(snp.ones((2, 2, 2)), ord=3),
    "lax": lambda: lax.add(X, np.int32(1)),
    "lax control": lambda: lax.scan(lambda c, x: (c, x, x), 0.0, X),
    "nn": lambda: nn.softmax(X, axis=5),
    "special": lambda: special.gammaln("text"),
    "tree": lambda: tree.map(lambda a, b: a, [1], (1,)),
    "debug": lambda: stagec.debug.print("{x}"),
    "jit": lambda: stagec.jit(3),
    "vmap": lambda: stagec.vmap(3),
    "transformation": lambda: stagec.grad(lambda x: X * x)(1.0),
    "device_put": lambda: stagec.device_put("text"),
    "missing name": lambda: snp.frobnicate,
    "missing method": lambda: X.frobnicate,
    "traced": lambda: stagec.jit(lambda x: snp.sum(x, axis=7))(X),
    "traced operator": lambda: stagec.jit(lambda x: x + snp.ones(4))(X),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_errors_show_the_users_frames_only(name):
    files, text = frames_of(OPERATIONS[name])
    assert __file__ in files
    # Python 3.10 adds the frame that raised the error again.
    assert len([f for f in files if f.startswith(tuple(PACKAGES))]) == (sys.version_info < (3, 11))
    assert "test_tracebacks.py:" in text


def test_all_frames_are_there_on_request():
    with stagec.config.override(full_tracebacks=True):
        files, _ = frames_of(OPERATIONS["numpy"])
    assert any(f.startswith(PACKAGES[0]) for f in files)


def test_the_users_own_frames_between_ours_stay():
    def step(carry, x):
        return carry + snp.ones(4), x

    files, _ = frames_of(lambda: lax.scan(step, X, X))
    assert files.count(__file__) == 3  # `frames_of`, the lambda, `step`


def test_public_functions_keep_their_names_and_pickle():
    for function, place in [(snp.sum, "stagec.numpy"), (lax.scan, "stagec.lax"), (stagec.vmap, "stagec")]:
        assert function.__module__ == place
        assert pickle.loads(pickle.dumps(function)) is function
    assert snp.absolute is snp.abs


def test_a_wrapped_function_is_described_where_it_is_defined():
    assert "boundary.py" not in repr(stagec.jit(snp.sin)) and "sin at " in repr(stagec.jit(snp.sin))


def test_a_frame_whose_instruction_has_no_line_is_shown():
    def broken(x):
        raise KeyboardInterrupt

    # As at the moment of an interrupt, which may arrive at an instruction of no line: bytes that say so of eight each.
    broken.__code__ = broken.__code__.replace(co_linetable=b"\xff" * (len(broken.__code__.co_code) // 16 + 1))
    with pytest.raises(KeyboardInterrupt) as caught:
        stagec.jit(broken)(1.0)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "broken"
