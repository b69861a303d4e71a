"""The CPU as eight devices, for all tests of this folder."""

from collections.abc import Iterator

import pytest

import stagec


@pytest.fixture(autouse=True)
def eight_devices() -> Iterator[None]:
    before = stagec.config.num_cpu_devices
    stagec.config.update("num_cpu_devices", 8)
    yield
    stagec.config.update("num_cpu_devices", before)
