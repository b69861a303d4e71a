"""Where a platform is required, its tests fail without a device."""

import pathlib

import platforms
import pytest

import stagec


@pytest.fixture
def no_device(monkeypatch):
    def devices(platform):
        raise stagec.errors.DeviceError(f"there is no {platform} device here")

    monkeypatch.setattr(stagec, "devices", devices)


@pytest.mark.parametrize(
    ("required", "outcome"),
    [("", pytest.skip), ("cuda", pytest.skip), ("vulkan", pytest.fail), ("cuda,vulkan", pytest.fail)],
)
def test_a_test_without_its_device_is_skipped_or_fails(no_device, monkeypatch, required, outcome):
    monkeypatch.setenv(platforms.REQUIRED, required)
    with pytest.raises(outcome.Exception, match="there is no vulkan device here"):
        platforms.first_device("vulkan")


def test_the_first_device_is_returned():
    assert platforms.first_device("cpu") is stagec.devices("cpu")[0]


def test_ci_requires_vulkan():
    script = (pathlib.Path(__file__).resolve().parent.parent / ".ci" / "run").read_text("utf-8")
    assert f"export {platforms.REQUIRED}=" in script


def test_only_one_function_decides_what_a_missing_device_means():
    """Another test that catches the error would skip where it has to fail."""
    folder = pathlib.Path(__file__).resolve().parent
    texts = {path.name: path.read_text("utf-8") for path in folder.rglob("*.py")}
    catching = {name for name, text in texts.items() if "except stagec.errors.DeviceError" in text and "skip(" in text}
    assert catching - {pathlib.Path(__file__).name} == {"platforms.py", "test_docs.py"}
