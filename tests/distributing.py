"""What the tests of Dask and of Ray share: a function that workers find by its name, and the scripts of the pages."""

import pathlib
import re

import numpy as np

import stagec
import stagec.numpy as snp

X = np.linspace(-2, 3, 12, dtype=np.float32)
PAGES = pathlib.Path(stagec.__file__).parents[1] / "docs" / "how-to"


@stagec.jit
def wave(x):
    return snp.tanh(x) * 2 + snp.sin(x)


def expected(x):
    return np.tanh(x) * 2 + np.sin(x)


def write_scripts(folder, script):
    """Write a script of the page on several machines, and the module that it imports; returns the script's path."""
    for page, file in (("processes.md", "pricing.py"), ("more-than-one-machine.md", script)):
        found = re.search(rf"^```python file={re.escape(file)}\n(.*?)^```", (PAGES / page).read_text(), re.M | re.S)
        (folder / file).write_text(found[1])
    return folder / script
