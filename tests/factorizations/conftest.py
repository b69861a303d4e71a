"""Every test of this folder runs twice: programs compute by algorithms over primitives, and by NumPy and SciPy."""

import pytest

import stagec


@pytest.fixture(autouse=True, params=["never", "always"], ids=["algorithms", "libraries"])
def host_libraries(request):
    with stagec.config.override(host_libraries=request.param):
        yield request.param
