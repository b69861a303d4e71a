"""Reports of faults show the faults by IREE's own tools, outside of stagec."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.workarounds import upstream
from tests.workarounds.records import Symptom

REPORTS = upstream.smallest(20)
# Those of the environment, which need not be activated, come first.
PATH = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
pytestmark = pytest.mark.skipif(not shutil.which("iree-run-module", path=PATH), reason="IREE's tools are not here")


def block(text, kind):
    return re.search(rf"```{kind}\n(.*?)\n```", text, re.DOTALL)[1]


@pytest.mark.parametrize(("record", "program"), REPORTS, ids=[record.id for record, _ in REPORTS])
def test_the_commands_of_a_report_show_the_fault(record, program, tmp_path):
    text = upstream.report(record, program)
    (tmp_path / "main.mlir").write_text(block(text, "mlir"))
    done = subprocess.run(
        ["sh", "-ec", block(text, "sh")],
        cwd=tmp_path,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=100,
    )
    if record.symptom is Symptom.WRONG:
        printed = [line for line in done.stdout.splitlines() if re.match(r"[0-9x]*[fi]\d+=", line)]
        right = block(text, "text").splitlines()
        assert done.returncode == 0 and len(printed) == len(right) and printed != right
    else:
        assert done.returncode != 0 and program.shows in done.stderr + done.stdout


def test_a_report_is_written_for_each_of_twenty(tmp_path):
    upstream.main([str(tmp_path)])
    found = sorted(path.stem for path in tmp_path.iterdir())
    assert found == sorted(record.id for record, _ in REPORTS) and len(found) == 20
    assert all("stagec" not in path.read_text() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.float32([[1.5, -2]]), "1x2xf32=[1.5 -2]"),
        (np.arange(8, dtype=np.uint8).reshape(2, 2, 2), "2x2x2xi8=[[0 1][2 3]][[4 5][6 7]]"),
        (np.array([True, False]), "2xi1=1 0"),
        (np.int64(3), "i64=3"),
    ],
)
def test_arrays_are_written_as_the_tools_read_them(array, text):
    assert upstream.written(np.asarray(array)) == text
