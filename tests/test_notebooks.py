"""The tutorial as notebooks: the same code and outputs as on the pages, and cells that run."""

import ast
import importlib.util
import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)

PAGE = """# Title

See [the page](../reference/index.md) and [Python](https://python.org).

```python
x = 2
```

```python
>>> def f(x):
...     return x + 1
>>> f(x)
3
>>> print("a\\nb")
a
b
>>> y = 5

```

```python file=part.py
z = 1
```

```python
>>> f("a")
Traceback (most recent call last):
  ...
TypeError: can only concatenate str

```

```text
not code
```
"""


def test_a_cell_ends_where_something_is_shown():
    cells = notebooks.notebook(PAGE)["cells"]
    shown = [
        (c["source"], [o.get("text") or o.get("ename") or o["data"]["text/plain"] for o in c["outputs"]])
        for c in cells
        if c["cell_type"] == "code"
    ]
    assert shown == [
        ("x = 2", []),
        ("def f(x):\n    return x + 1\nf(x)", ["3"]),
        ('print("a\\nb")', ["a\nb\n"]),
        ("y = 5", []),
        ("%%writefile part.py\nz = 1", []),
        ('f("a")', ["TypeError"]),
    ]
    assert cells[0]["source"] == "# Title\n\nSee the page and [Python](https://python.org)."
    assert cells[-2]["metadata"] == {"tags": ["raises-exception"]} and "not code" in cells[-1]["source"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return notebooks.write(tmp_path_factory.mktemp("notebooks"))


def test_each_page_of_the_tutorial_is_a_notebook_with_all_of_its_code(written):
    pages = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
    assert [path.stem for path in written] == [page.stem for page in pages]
    for path, page in zip(written, pages):
        made = json.loads(path.read_text())
        code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
        for source in code:
            ast.parse(re.sub(r"^%%.*", "", source))
            assert ">>>" not in source
        prompts = re.findall(r"^>>> (.*)$", page.read_text(), re.MULTILINE)
        lines = [line for source in code for line in source.splitlines()]
        assert [line for line in prompts if line not in lines] == []
        assert "```python" not in "".join(c["source"] for c in made["cells"])
        assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])


def test_the_notebooks_run(tmp_path):
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    import nbformat

    text = (ROOT / "docs" / "tutorial" / "01-jit.md").read_text()
    made = notebooks.notebook(text)
    nbformat.validate(nbformat.from_dict(made))
    done = notebooks.executed(made, str(tmp_path))
    assert any(cell.get("execution_count") for cell in done["cells"])
    errors = [o["ename"] for c in done["cells"] for o in c.get("outputs", ()) if o["output_type"] == "error"]
    stated = [o["ename"].rpartition(".")[2] for c in made["cells"] for o in c.get("outputs", ()) if "ename" in o]
    assert errors == stated
