"""`stagec.view`."""

import html

import pytest

import stagec
import stagec.numpy as snp


def test_a_notebook_shows_the_page_and_it_can_be_saved(tmp_path):
    page = stagec.view(lambda x: snp.sin(x) + 1, snp.ones(8))
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in shown
    assert html.unescape(shown.split('"')[1]) == page.html


def test_times_are_there_for_arrays_and_not_for_shapes():
    def layer(x):
        return snp.tanh(x) * 2

    ran, described = stagec.view(layer, snp.ones(8)), stagec.view(layer, stagec.ShapeDtypeStruct((8,), "float32"))
    assert '"kernels":[]' not in ran.html and '"kernels":[]' in described.html


def test_a_function_that_computes_nothing_is_refused():
    with pytest.raises(stagec.errors.ArgumentValueError, match=r"view: nothing computes nothing\n  test_view.py:"):

        def nothing(x):
            return x

        stagec.view(nothing, snp.ones(3))
