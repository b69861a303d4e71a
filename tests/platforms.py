"""Devices that tests need: skipped without one, unless the environment says that there has to be one."""

import os

import pytest

import stagec

# Set by .ci/run: names of platforms, separated by commas, whose tests fail where there is no device.
REQUIRED = "STAGEC_TEST_REQUIRES"


def first_device(platform):
    """The first device of a platform. Without one, the test is skipped; or it fails, if the platform is required."""
    try:
        return stagec.devices(platform)[0]
    except stagec.errors.DeviceError as error:
        reason = str(error).splitlines()[0]
        if is_required(platform):
            pytest.fail(f"{reason}, but {REQUIRED} names {platform}", pytrace=False)
        pytest.skip(reason)


def is_required(platform):
    """Whether tests have to find a device of a platform."""
    return platform in os.environ.get(REQUIRED, "").split(",")
