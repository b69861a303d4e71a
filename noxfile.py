"""Sessions of nox: what contributors do every day, in this environment, and the core of the suite in others."""

import nox

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
# What depends on the interpreter: bytecode, signatures, reference counts, signals, threads, forks, pickles, tracebacks.
CORE = [f"tests/{name}" for name in "api artifact compiler control core python_flow runtime".split()]
SHARED = ["-n", "auto", "--dist", "worksteal"]

nox.options.sessions = ["quick"]


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Format the code, lint it, and check its types."""
    session.run("ruff", "format", ".")
    session.run("ruff", "check", "--fix", ".")
    session.run("mypy")


@nox.session(python=False)
def quick(session: nox.Session) -> None:
    """Lint, and run the tests of what has changed since `main`, or since the revision that is named."""
    lint(session)
    session.run("python", "-m", "tests.changed", *session.posargs)


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Run all tests, or those that are named."""
    session.run("python", "-m", "pytest", *SHARED, *session.posargs)


@nox.session(python=False)
def docs(session: nox.Session) -> None:
    """Write the site of the documentation to `build/site`; needs the extra `docs`."""
    session.run("mkdocs", "build", *session.posargs)


@nox.session(python=False)
def beside(session: nox.Session) -> None:
    """Compare the speed with a release: nox -s beside -- v0.2 [case ...]; needs the extra `bench`."""
    if not session.posargs:
        session.error("name a release, branch or commit: nox -s beside -- v0.2")
    revision, *cases = session.posargs
    command = ("python", "-m", "tests.benchmarks", "--libraries", "stagec", "--cpu", "--beside", revision)
    session.run(*command, *(cases or ("call", "trace", "kernels", "steps", "compile")))


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
