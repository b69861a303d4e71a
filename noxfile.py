"""Sessions of nox: the core of the suite on each version of Python, and with another release of IREE."""

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
# What depends on the interpreter: bytecode, signatures, reference counts, signals, threads, forks, pickles, tracebacks.
CORE = [f"tests/{name}" for name in "api artifact compiler control core python_flow runtime".split()]
SHARED = ["-n", "auto", "--dist", "worksteal"]

nox.options.sessions = ["core"]


@nox.session(python=PYTHONS)
def core(session: nox.Session) -> None:
    """Run the core of the suite, or what is named instead of it."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *(session.posargs or (*SHARED, *CORE)))


@nox.session
def iree(session: nox.Session) -> None:
    """Look for the recorded faults of IREE in another release, and run the core of the suite with it."""
    if not session.posargs or session.posargs[0].startswith("-"):
        session.error("name a release: nox -s iree -- 3.14.0")
    release, *chosen = session.posargs
    session.install("-e", ".[test]")
    session.install("--no-deps", f"iree-base-compiler=={release}", f"iree-base-runtime=={release}")
    session.run("python", "-m", "tests.workarounds.try_release", release)
    session.run("python", "-m", "pytest", *(chosen or (*SHARED, "tests/workarounds", "tests/passes", *CORE)))
