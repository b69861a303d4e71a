"""A plugin of pytest, `pytest -p stagec.compat.plugin`: the tests of code written for JAX, on stagec."""

from __future__ import annotations

from stagec.compat import VERSION, install


def pytest_load_initial_conftests() -> None:
    """Let `import jax` mean stagec before tests and their helpers are imported."""
    install()


def pytest_report_header() -> str:
    """A line at the top of the report."""
    return f"jax: stagec, as JAX {VERSION}"
