"""`stagec view --live`: the page in a browser follows the source, and the server answers this machine alone."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from click.testing import CliRunner

from stagec.commands.view import view
from stagec.viewing.live import Versions
from tests.watching import watched

SOURCE = """
import stagec.numpy as snp
from parts import scaled


def layer(x, w):
    h = snp.tanh(x @ w)
    return scaled(h - h.mean(axis=0)) / 4.0
"""
PARTS = "def scaled(x):\n    return x * 3.0\n"


PATHS = [str(pathlib.Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]


class Live:
    """A server of its own process, and the files that it follows."""

    def __init__(self, folder, name="", source=SOURCE):
        self.model, self.parts = folder / "model.py", folder / "parts.py"
        self.model.write_text(source)
        self.parts.write_text(PARTS)
        command = ["-m", "stagec", "view", f"{name or self.model}:layer", "f32[128,64]", "f32[64,32]", "--live"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, PATHS))}
        self.process = subprocess.Popen(
            [sys.executable, *command], stderr=subprocess.PIPE, text=True, cwd=folder, env=environment
        )
        line = self.process.stderr.readline()
        found = re.match(r"(http://127\.0\.0\.1:(\d+)/) follows .*(?:model|inner)\.py; Ctrl-C ends it", line)
        assert found, line
        self.address, self.port = found[1], int(found[2])

    def save(self, text):
        """Replace the file at once: the server may look at any moment, and an empty file is a version, too."""
        written = self.model.with_suffix(".new")
        written.write_text(text)
        written.replace(self.model)

    def data(self, after=0):
        """The first version later than a number."""
        with urllib.request.urlopen(f"{self.address}data?after={after}", timeout=60) as answer:
            return json.load(answer)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


@pytest.fixture
def live(tmp_path):
    started = Live(tmp_path)
    yield started
    if started.process.poll() is None:
        started.process.kill()
    started.process.communicate()


def pane(data, name):
    (only,) = [p for p in data["page"]["panes"] if p["id"] == name]
    return only


def test_a_change_of_a_line_is_a_version_with_what_is_new_in_each_stage(live):
    first = live.data()
    assert first["fault"] == "" and all(p["changes"] == {"more": [], "less": []} for p in first["page"]["panes"])
    live.save(SOURCE.replace("tanh", "sin"))
    second = live.data(first["version"])
    source = pane(second, "source")
    (new,) = source["changes"]["more"]
    assert source["rows"][new][0] == "    h = snp.sin(x @ w)"
    assert source["changes"]["less"] == [[new, ["    h = snp.tanh(x @ w)"]]]
    text = [row[0] for row in pane(second, "stablehlo")["rows"]]
    assert ["stablehlo.sine" in text[n] for n in pane(second, "stablehlo")["changes"]["more"]] == [True]
    assert all(pane(second, name)["changes"]["more"] for name in ("graph", "optimized", "llvm", "assembly"))


def test_a_module_that_the_file_imports_is_followed(live):
    first = live.data()
    # Within a second, with the same size: a file of bytecode would not notice it.
    live.parts.write_text(PARTS.replace("3.0", "5.0"))
    second = live.data(first["version"])
    rows = pane(second, "graph")
    assert any("5.0" in rows["rows"][n][0] for n in rows["changes"]["more"])


def test_a_function_is_named_by_its_module_too(tmp_path):
    inner = tmp_path / "package" / "inner.py"
    inner.parent.mkdir()
    inner.with_name("__init__.py").write_text("")
    inner.write_text("from model import layer\n")
    live = Live(tmp_path, "package.inner")
    try:
        first = live.data()
        assert first["fault"] == ""
        live.save(SOURCE.replace("4.0", "7.0"))
        assert pane(live.data(first["version"]), "source")["changes"]["more"]
    finally:
        live.process.kill()
        live.process.communicate()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("def layer(x, w:\n", "SyntaxError: '(' was never closed"),
        (SOURCE.replace("x @ w", "x + w"), "add: float32[128,64] and float32[64,32] do not broadcast"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        (SOURCE.replace("def layer", "def other"), "has no function 'layer'"),
    ],
)
def test_a_fault_of_the_file_is_said_and_does_not_end_the_server(live, wrong, said):
    first = live.data()
    live.save(wrong)
    second = live.data(first["version"])
    assert said in second["fault"] and second["page"] == first["page"]
    live.save(SOURCE.replace("4.0", "7.0"))
    third = live.data(second["version"])
    assert third["fault"] == "" and pane(third, "source")["changes"]["more"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "", "127.0.0.1:{port}.evil.example"]
)
def test_requests_under_another_name_are_refused(live, host):
    connection = http.client.HTTPConnection("127.0.0.1", live.port)
    connection.request("GET", "/data", headers={"Host": host.format(port=live.port)})
    answer = connection.getresponse()
    assert answer.status == 421 and b"layer" not in answer.read()


def test_there_is_nothing_else_to_ask_for(live):
    connection = http.client.HTTPConnection("127.0.0.1", live.port)
    for method, path, status in [("GET", "/model.py", 404), ("GET", "/../model.py", 404), ("POST", "/data", 501)]:
        connection.request(method, path, headers={"Host": f"localhost:{live.port}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status


def test_an_interrupt_ends_it_without_a_message(live):
    live.data()
    assert live.end() == 0
    assert live.process.stderr.read() == ""


def refused(*arguments):
    done = CliRunner().invoke(view, arguments)
    return done.exit_code, done.output


def test_what_goes_together_is_said(tmp_path):
    model = tmp_path / "model.py"
    model.write_text("def f(x):\n    return x + 1\n")
    code, text = refused(f"{model}:f", "f32[2]")
    assert code == 2 and "one of -o and --live is needed" in text and "Fix: write the page with -o page.html" in text
    code, text = refused(f"{model}:f", "f32[2]", "-o", str(tmp_path / "p.html"), "--port", "1")
    assert code == 2 and "--port goes with --live" in text and "Fix: leave it out, or add --live" in text
    code, text = refused("nowhere.there:f", "f32[2]", "--live")
    assert code == 1 and "no file of 'nowhere.there' to follow" in text and "Fix: name a file" in text


def test_a_port_that_is_taken_is_said(live):
    code, text = refused(f"{live.model}:layer", "f32[128,64]", "f32[64,32]", "--live", "--port", str(live.port))
    assert code == 1 and f"port {live.port} cannot be used" in text and "choose another --port" in text


def test_a_form_is_made_for_a_request_that_waits_and_not_for_the_version_after_it():
    versions, made = Versions(), []

    def makes(number):
        return lambda: made.append(number) or {"page": f"form {number}"}

    versions.add({"panes": []}, makes(1))
    versions.make_form()
    assert made == []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(versions.whole)
        while not made:
            versions.make_form()
        assert waiting.result(10)["form"] == versions.whole()["form"] == {"page": "form 1"}
    versions.add({"panes": []}, makes(2))
    versions.make_form()
    assert made == [1]


def test_a_form_that_cannot_be_made_is_said_and_does_not_end_the_server():
    versions = Versions()
    versions.add({"panes": []}, lambda: {}["nothing"])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(versions.whole)
        while not waiting.done():
            versions.make_form()
    assert waiting.result()["form"] == {"why": "KeyError: 'nothing'"}


# In a browser.


@pytest.fixture
def page(browser, live):
    with watched(browser) as (open_page, said, asked):
        opened = open_page(live.address, viewport={"width": 1500, "height": 900})
        opened.wait_for_selector("#pane-assembly .row")
        yield opened
    assert said == []
    assert all(url.startswith((live.address, "blob:")) for url in asked)


def test_the_page_shows_a_change_and_keeps_what_was_chosen(page, live):
    page.locator("#pane-source .row", has_text="return scaled").click()
    page.locator("#tab-llvm").click()
    assert page.locator("#laws td", has_text="divide_by_power_of_two").count() == 2
    started = time.monotonic()
    live.save(SOURCE.replace("tanh", "sin"))
    page.wait_for_selector("#pane-stablehlo .row.new >> text=stablehlo.sine", timeout=20_000)
    assert time.monotonic() - started < 5
    assert page.locator("#pane-stablehlo .row.gone").all_text_contents()[0].count("stablehlo.tanh") == 1
    assert page.locator("#pane-source h2").text_content() == "Python+1\u22121"
    chosen = page.locator("#pane-source .row.on .is").all_text_contents()
    assert chosen == ["    return scaled(h - h.mean(axis=0)) / 4.0"]
    assert not page.locator("#pane-llvm").is_visible()
    page.locator("#plain").click()
    assert page.locator("#pane-stablehlo .row.gone:visible").count() == 0


def test_a_fault_stands_above_the_version_before(page, live):
    live.save(SOURCE.replace("x @ w", "x + w"))
    page.wait_for_selector("#fault:not([hidden])")
    text = page.locator("#fault").text_content()
    assert "ShapeError" in text or "do not broadcast" in text
    assert "model.py:7" in text and "Fix:" in text
    assert page.locator("#pane-source .row", has_text="x @ w").is_visible()
    live.save(SOURCE)
    page.wait_for_selector("#fault", state="hidden")


def test_a_file_that_is_wrong_from_the_start_is_followed_too(browser, tmp_path):
    live = Live(tmp_path, source="def layer(x, w:\n")
    opened = browser.new_page()
    opened.goto(live.address)
    opened.wait_for_selector("#fault:not([hidden])")
    assert "was never closed" in opened.locator("#fault").text_content()
    assert not opened.locator("#save").is_visible() and not opened.locator("#run").is_visible()
    live.save(SOURCE)
    opened.wait_for_selector("#pane-assembly .row")
    assert opened.locator("#save").is_visible() and not opened.locator("#fault").is_visible()
    opened.close()
    live.process.kill()
    live.process.communicate()


def test_one_file_holds_what_is_shown(page, browser, live, tmp_path):
    with page.expect_download() as download:
        page.get_by_text("Save as one file").click()
    file = tmp_path / "saved.html"
    download.value.save_as(file)
    page.close()
    live.end()
    saved = browser.new_page()
    saved.goto(file.as_uri())
    assert saved.locator("#pane-source .row", has_text="h = snp.tanh(x @ w)").is_visible()
    assert not saved.locator("#live").is_visible()
    saved.locator("#run").click()
    saved.frame_locator("#frame").locator("#out-out").wait_for()
    saved.close()


SMALL = """
import stagec.numpy as snp


def layer(x, w):
    return snp.cumsum(x[0] @ w[:, 0]) * 3
"""


def test_the_function_runs_in_the_page_and_again_when_the_file_is_saved(page, live):
    asked = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(live.address)))
    live.save(SMALL)
    page.wait_for_selector("#pane-source .row >> text=snp.cumsum")
    assert not any("form" in url for url in asked)
    page.locator("#run").click()
    shown = page.frame_locator("#frame").locator("#out-out")
    shown.get_by_text("0", exact=True).wait_for()
    live.save(SMALL.replace("* 3", "+ 3"))
    shown.get_by_text("3", exact=True).wait_for()
    # What cannot run any more closes the form, with the reason; what can again may be opened again.
    live.save(SMALL.replace("    return", "    import stagec; stagec.debug.print('{}', w)\n    return"))
    page.wait_for_selector("#run:disabled")
    assert "it calls Python functions" in page.locator("#run").get_attribute("title")
    assert not page.locator("#frame").is_visible()
    live.save(SMALL.replace("* 3", "+ 4"))
    page.wait_for_selector("#run:enabled")
    page.locator("#run").click()
    shown.get_by_text("4", exact=True).wait_for()


def test_the_form_of_a_fault_is_that_of_the_version_before(page, live):
    live.save("def layer(x, w:\n")
    page.wait_for_selector("#fault:not([hidden])")
    page.locator("#run").click()
    page.frame_locator("#frame").locator("#out-out").wait_for()


def test_the_page_says_that_the_server_has_ended(browser, live):
    opened = browser.new_page()
    opened.goto(live.address)
    opened.wait_for_selector("#pane-assembly .row")
    live.end()
    opened.wait_for_selector("text=The server has ended; this is what it showed last.")
    opened.locator("#run").click()
    opened.wait_for_selector("#run:disabled[title='The server has ended.']")
    opened.close()
