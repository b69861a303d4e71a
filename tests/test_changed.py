"""The tests that a change concerns: each file of the sources has some, and those that are named exist."""

import pytest

from tests import changed


@pytest.mark.parametrize(
    "files, tests",
    [
        (["stagec/numpy/sorting.py"], ["tests/numpy/test_sorting.py"]),
        (["stagec/scipy/stats/standard.py"], ["tests/scipy"]),
        (["passes/legalize/loops.py", "tests/passes/legalize/test_legalize_slices.py"], ["tests/passes/legalize"]),
        (["docs/how-to/cache.md"], [f"{changed.EXAMPLES}page_run[docs/how-to/cache.md]"]),
        (["passes/match.py", "stagec/scipy/__init__.py"], [f"{changed.EXAMPLES}module_run[stagec.scipy]"]),
        (["tests/test_structure.py", "tests/conftest.py", "pyproject.toml", "CHANGELOG.md"], []),
    ],
)
def test_a_change_runs_the_tests_of_its_files(files, tests):
    found = changed.tests_of(files)
    assert found[-1] == "tests/test_structure.py"
    assert all(any(path.startswith(test) for path in found) for test in tests)
    assert len(found) > len(tests) or not tests


def test_every_module_has_tests_that_exist():
    sources = [path for package in ("stagec", "passes") for path in (changed.ROOT / package).rglob("*.py")]
    for path in sources:
        found = changed.tests_of([str(path.relative_to(changed.ROOT))])
        assert all((changed.ROOT / test.partition("::")[0]).exists() for test in found)
