"""Files that change while a process runs programs from them: what was loaded goes on, and nothing unchecked runs."""

import os
import subprocess
import sys
import textwrap

PRELUDE = """
import gc, os, sys
import numpy as np
import stagec, stagec.numpy as snp
from stagec.compiler import log

x = np.arange(6, dtype=np.float32)

def overwrite(path, content, size=None):
    "Write into the file itself, as `cp` does."
    with open(path, "r+b") as file:
        file.write(content)
        file.truncate(size)
"""


def run(script, *args, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# Empty, of zeros, and cut in its middle: what `overwrite` takes after the path.
CHANGES = ["b'', 0", "bytes(1 << 20)", "b'', 4096"]


def test_a_program_runs_on_when_its_cache_file_changes(tmp_path):
    script = """
    import glob
    f = stagec.jit(lambda x: snp.sin(x) + 0.25)
    want = np.asarray(f(x)).copy()
    for change in CHANGES:
        for path in glob.glob(os.environ["STAGEC_CACHE_DIR"] + "/*.stagec"):
            change(path)
        for _ in range(100):
            np.testing.assert_array_equal(np.asarray(f(x)), want)
    print(len(log.records("compile")))
    del f
    stagec.clear_caches()
    gc.collect()
    """
    # Zeros come first, since they are written over the whole file.
    changes = ", ".join(f"lambda path: overwrite(path, {change})" for change in CHANGES[1:] + CHANGES[:1])
    environment = {"STAGEC_CACHE_DIR": str(tmp_path)}
    run(script.replace("CHANGES", "[]"), **environment)
    assert run(script.replace("CHANGES", f"[{changes}]"), **environment).strip() == "0"


SAVE = """
path = sys.argv[1]
def save(path, factor):
    shapes = [stagec.ShapeDtypeStruct((n,), "float32") for n in (6, 7)]
    f = stagec.export(lambda x: snp.cos(x) * factor)
    g = stagec.export(lambda x: snp.tanh(x) * weights * factor)
    stagec.save(path, {"f": [f(s) for s in shapes], "g": g(shapes[0])})
weights = snp.asarray(np.arange(1, 7, dtype=np.float32))
save(path, 2)
save(path + ".new", 3)
new = open(path + ".new", "rb").read()
"""


def test_a_loaded_function_runs_on_when_its_file_changes(tmp_path):
    changes = ", ".join(f"({change},)" for change in ["new", *CHANGES])
    run(
        f"""{textwrap.indent(SAVE, "    ")}
    kept = []
    for change in [{changes}] * 5:
        save(path, 2)
        loaded = stagec.load(path)
        loaded["f"](x)
        overwrite(path, *change)
        np.testing.assert_allclose(np.asarray(loaded["f"](x)), np.cos(x) * 2, rtol=1e-5)
        # What was not called before.
        np.testing.assert_allclose(np.asarray(loaded["f"](x[[0] * 7])), [2] * 7, rtol=1e-5)
        np.testing.assert_allclose(np.asarray(loaded["g"](x)), np.tanh(x) * np.arange(1, 7) * 2, rtol=1e-5)
        kept = [*kept[-3:], loaded]
        gc.collect()
    """,
        tmp_path / "model.stagec",
    )


def test_of_a_large_file_programs_run_on_and_what_was_not_read_is_refused(tmp_path):
    run(
        f"""{textwrap.indent(SAVE, "    ")}
    from stagec.artifact import container
    container._WHOLE_BYTES = 0
    loaded = stagec.load(path)
    loaded["f"](x), loaded["g"](x)
    overwrite(path, new)
    for _ in range(20):
        np.testing.assert_allclose(np.asarray(loaded["f"](x)), np.cos(x) * 2, rtol=1e-5)
        np.testing.assert_allclose(np.asarray(loaded["g"](x)), np.tanh(x) * np.arange(1, 7) * 2, rtol=1e-5)
    try:
        print(loaded["f"](x[[0] * 7]))
    except stagec.errors.ArtifactError as error:
        assert "does not match its checksum, so the file is damaged, or was changed" in str(error), error
    else:
        raise AssertionError("another program ran")
    np.testing.assert_allclose(np.asarray(stagec.load(path)["f"](x)), np.cos(x) * 3, rtol=1e-5)
    """,
        tmp_path / "model.stagec",
    )
