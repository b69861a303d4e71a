"""The generated reference shows nothing that differs from run to run, and nothing of a built-in type."""

import pathlib

import pytest

griffe = pytest.importorskip("griffe", reason="needs the extra docs")

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="module")
def shown():
    """Loads a module as mkdocstrings does."""
    extensions = griffe.load_extensions(str(ROOT / "docs" / "api_pages.py"))
    return griffe.GriffeLoader(force_inspection=True, extensions=extensions).load


def test_defaults_that_are_objects_without_a_text_are_dots(shown):
    module = shown("stagec.control.cond")
    defaults = {str(p.default) for f in module.functions.values() for p in f.parameters if p.default is not None}
    assert "..." in defaults and not any("0x" in text for text in defaults)


def test_values_without_a_text_are_left_out_and_their_docs_stay(shown):
    found = shown("stagec.numpy.concatenators").members
    assert found["r_"].value is None and "brackets" in found["r_"].docstring.value


def test_docs_of_builtin_types_are_left_out(shown):
    found = shown("stagec.numpy.constants").members
    assert found["pi"].docstring is None and found["pi"].value is not None
