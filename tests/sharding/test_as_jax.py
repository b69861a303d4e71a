"""Programs for eight devices give JAX's results, split as JAX splits them."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stagec
from tests.sharding import programs


@pytest.fixture(scope="module")
def of_jax() -> dict[str, Any]:
    pytest.importorskip("jax")
    major, minor = map(int, version("jax").split(".")[:2])
    if (major, minor) < (0, 9):
        pytest.skip("an older JAX, without these functions")
    done = subprocess.run(
        [sys.executable, str(Path(programs.__file__))], capture_output=True, text=True, check=True, timeout=600
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_programs_give_the_results_of_jax(of_jax: dict[str, Any]) -> None:
    found = programs.programs(stagec, stagec.numpy, stagec.lax, stagec.sharding)
    assert set(found) == set(of_jax)
    wrong = []
    for name, run in found.items():
        try:
            rows = programs.described(run())
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
            continue
        for (value, split), (wanted, wanted_split) in zip(rows, of_jax[name], strict=True):
            same = np.allclose(value, wanted, rtol=1e-5, atol=1e-6)
            if not same or [list(n) for n in split] != wanted_split:
                wrong.append(f"{name}: {value} split {split}, and JAX {wanted} split {wanted_split}")
    assert not wrong, "\n".join(wrong)
