"""`fast_math` grants all assumptions, none, or those that it names."""

import numpy as np
import pytest

import passes
import stagec
import stagec.numpy as snp


def difference(x):
    return (x - x) + x


X = np.array([1.0, -0.0], np.float32)


@pytest.mark.parametrize(
    "given, laws",
    [
        (False, set()),
        ("nnan", {"subtract_itself"}),
        (("nnan", "nsz"), {"subtract_itself", "add_positive_zero"}),
        ("nsz, nnan", {"subtract_itself", "add_positive_zero"}),
        ("nsz", set()),
        ("off", set()),
    ],
)
def test_a_law_runs_where_all_that_it_assumes_is_granted(given, laws):
    found = stagec.jit(difference, fast_math=given).lower(X).report().hits
    assert {"subtract_itself", "add_positive_zero"} & set(found) == laws


def test_true_grants_everything():
    text = stagec.jit(difference, fast_math=True).lower(X).as_text("optimized")
    assert "stablehlo.subtract" not in text and "stablehlo.add" not in text


def test_the_option_takes_names_and_the_argument_of_jit_wins():
    with stagec.config.override(fast_math={"nsz", "nnan"}):
        assert stagec.config.fast_math == "nnan,nsz"
        assert "subtract_itself" in stagec.jit(difference).lower(X).report().hits
        assert "subtract_itself" not in stagec.jit(difference, fast_math=False).lower(X).report().hits


def test_programs_with_different_assumptions_are_different_programs():
    x = np.array([np.inf], np.float32)
    assert np.isnan(stagec.jit(lambda x: x - x)(x))
    assert stagec.jit(lambda x: x - x, fast_math="nnan")(x) == 0
    assert np.isnan(stagec.jit(lambda x: x - x, fast_math="nsz")(x))


@pytest.mark.parametrize("given", ["nan", 3, ["nsz", 1]])
def test_what_is_no_setting_is_refused_at_the_users_line(given):
    with pytest.raises(passes.PipelineError, match=r"test_fast_math.py:(.|\n)*names of nnan, ninf"):
        stagec.jit(difference, fast_math=given)
    with pytest.raises(ValueError, match="fast_math"), stagec.config.override(fast_math=given):
        pass


def test_an_artifact_keeps_the_assumptions(tmp_path):
    exported = stagec.export(stagec.jit(lambda x: x - x, fast_math="nnan"))(X)
    exported.save(tmp_path / "f.stagec")
    loaded = stagec.load(tmp_path / "f.stagec")
    np.testing.assert_array_equal(loaded(np.array([np.inf, np.nan], np.float32)), [0, 0])


def test_the_report_of_a_compiled_function_counts_operations():
    report = stagec.jit(lambda x: snp.negative(snp.negative(x))).lower(X).compile().report()
    assert report.hits["involution"] == 1
    assert report.ops_before == report.ops_after + 2
    assert "involution" in str(report)
