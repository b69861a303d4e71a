"""What the tests of `stagec.check` have in common."""

import pytest

import stagec


@pytest.fixture(autouse=True)
def on_the_cpu():
    with stagec.config.override(platforms="cpu"):
        yield
