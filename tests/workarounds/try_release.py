"""Which of the recorded faults another release of IREE has: `python -m tests.workarounds.try_release 3.12.0`.

Makes a virtual environment with that release, and runs every reproduction in it, without its workaround.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
_SECONDS = 120


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.workarounds.try_release", description=__doc__)
    parser.add_argument("release", help="a version of iree-base-compiler and iree-base-runtime")
    parser.add_argument("--keep", metavar="DIRECTORY", help="make the virtual environment there, and keep it")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="stagec-release-"))
        python = environment(folder, options.release)
        print(f"iree-base-compiler {installed(python)}")
        for record, verdict, detail in report(python):
            print(f"{verdict:<10}{record:<36}{detail}".rstrip(), flush=True)


def environment(folder, release):
    """The Python of a virtual environment with a release of IREE and what stagec needs besides."""
    venv.create(folder, with_pip=True, clear=False)
    python = os.path.join(folder, "Scripts" if os.name == "nt" else "bin", "python")
    wanted = [f"iree-base-compiler=={release}", f"iree-base-runtime=={release}", "numpy", "ml_dtypes", "opt_einsum"]
    subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
    return python


def installed(python):
    """The release of the compiler that a Python imports."""
    code = "import importlib.metadata; print(importlib.metadata.version('iree-base-compiler'))"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def report(python):
    """For each record with a reproduction: its name, whether the fault is present, and what became of the program."""
    from tests.workarounds.records import ALL, Program, Script

    for record in ALL:
        if isinstance(record.shown_by, (Program, Script)):
            yield record.id, *verdict(python, record.id)


def verdict(python, record_id):
    """What a process of a release's own says of a record."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            [python, "-m", "tests.workarounds.try_record", record_id],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "different", f"no answer in {_SECONDS} seconds"
    if done.returncode or not done.stdout:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return "different", f"process ended with {done.returncode}: {last[:120]}"
    word, _, detail = done.stdout.strip().splitlines()[-1].partition(" ")
    return word, detail


if __name__ == "__main__":
    sys.exit(main())
