"""What all tests share: one compile cache for every worker and every run."""

import contextlib
import inspect
import os
import pathlib
import shutil
import signal
import sys

import hypothesis
import pytest

_ROOT = pathlib.Path(__file__).resolve().parent.parent
# Before stagec is imported anywhere. Entries are keyed by the sources' content, so old ones are never used.
os.environ.setdefault("STAGEC_CACHE_DIR", str(_ROOT / ".pytest_cache" / "stagec"))
# Tests start hundreds of processes: without bytecode on disk, each compiles stagec's sources anew for a second or more.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Workers share the cores: where OpenBLAS divides an operation, its threads wait for each other at every step, and each
# step for the other workers. Ten times as long, for tests of factorizations.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# JAX is here to be compared with, once for each program: optimizing takes most of what it compiles.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

# The same examples at every run: a new one that fails is for a hunt (STAGEC_FUZZ=20), not for an unrelated change.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("hunt", derandomize=False, deadline=None)
hypothesis.settings.load_profile("hunt" if int(os.environ.get("STAGEC_FUZZ", "1")) > 1 else "same")


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node):
    """Tell a worker how many stretches of the list there are: with `--dist worksteal`, each worker begins with one."""
    node.workerinput["stretches"] = node.workerinput["workercount"] if node.config.option.dist == "worksteal" else 1


def pytest_collection_modifyitems(config, items):
    """Have tests that speak of Vulkan come last: beside a device of Mesa's, a core is always busy.

    See `stagec.runtime.spinning`: one test that opens a device early makes all that follow take twice as long. A worker
    that steals takes what others have left, so each stretch of the list has about as many tests, and its own at the
    end.
    """
    files = {path: "vulkan" in path.read_text("utf-8").lower() for path in {item.path for item in items}}

    def speaks(item):
        function, call = getattr(item, "function", None), getattr(item, "callspec", None)
        if "vulkan" in f"{item.name} {item.fixturenames} {function and inspect.getsource(function)}":
            return True
        given = call.params.values() if call is not None else ()  # pages of the documentation, whose examples run
        return any("vulkan" in path.read_text("utf-8").lower() for path in given if isinstance(path, pathlib.Path))

    stretches = getattr(config, "workerinput", {}).get("stretches", 1)
    early, late = [], []
    for item in items:
        (late if files[item.path] and speaks(item) else early).append(item)
    # pytest-xdist cuts the list into stretches of one length.
    starts = [len(items) * k // stretches for k in range(stretches + 1)]
    cuts = [len(early) * k // stretches for k in range(stretches + 1)]
    items[:] = [
        item
        for k in range(stretches)
        for some in (early[cuts[k] : cuts[k + 1]], late[starts[k] - cuts[k] : starts[k + 1] - cuts[k + 1]])
        for item in some
    ]


def _shared():
    """What one test must not leave changed for the next one in its process."""
    config = getattr(sys.modules.get("stagec"), "config", None)
    options = config and {**vars(config)["_values"], "trace key": config.trace_key()}
    environment = {name: text for name, text in os.environ.items() if name.startswith(("STAGEC_", "PYTHONPATH"))}
    return {
        "options": options,
        "environment": environment,
        "directory": os.getcwd(),
        "handler of SIGINT": signal.getsignal(signal.SIGINT),
    }


@pytest.fixture(scope="module")
def browser():
    """Chromium, for tests of pages. For a module only: its event loop runs in this thread until it ends."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("there is no chromium here")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(autouse=True)
def nothing_is_left_changed():
    before = _shared()
    yield
    after = _shared()
    assert {what: after[what] for what in before if before[what] is not None} == {
        what: value for what, value in before.items() if value is not None
    }


def _faults():
    """What went wrong in stagec's own part of compiles, where the compiler's own way works as well."""
    log = sys.modules.get("stagec.compiler.log")
    return [r for r in log.records("compile") if r.message.startswith("no ")] if log is not None else []


@pytest.fixture(autouse=True)
def kernels_have_no_faults():
    before = _faults()
    yield
    assert [r for r in _faults() if r not in before] == []


@pytest.fixture
def compiles():
    """A context manager that lists the programs compiled, or fetched from disk, inside it."""
    from stagec.compiler import log

    @contextlib.contextmanager
    def watch():
        made = []
        log.clear()
        yield made
        made += [r for r in log.records() if r.message == "compiled" or "disk" in r.message]

    return watch


@pytest.fixture
def untried(monkeypatch):
    """Parse foreign modules in this process alone: the one that parses them first takes longer than most tests."""
    from passes.trial import Trial

    monkeypatch.setattr(Trial, "__enter__", lambda self: self)
    monkeypatch.setattr(Trial, "fault", lambda self, source: "")


@pytest.fixture(scope="session")
def vulkan():
    """The first Vulkan device; tests that ask for it are skipped, or fail, where there is none."""
    from platforms import first_device

    return first_device("vulkan")
