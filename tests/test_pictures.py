"""The pictures of the documentation are what the code draws: `python -m tests.pictures` draws them."""

import xml.etree.ElementTree

import pytest

from tests.pictures import session, speed
from tests.pictures.__main__ import FOLDER, PAGE, PICTURES, with_table


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_the_code_draws(name):
    committed = (FOLDER / f"{name}.svg").read_text("utf-8")
    assert str(PICTURES[name]()) == committed, "python -m tests.pictures draws it again"
    root = xml.etree.ElementTree.fromstring(committed)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for part in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 <= float(part.attrib["x"]) <= width and 0 <= float(part.attrib["y"]) <= height, part.text


def test_every_picture_is_drawn_and_shown():
    pages = "".join(path.read_text("utf-8") for path in FOLDER.parent.rglob("*.md"))
    assert {path.stem for path in FOLDER.glob("*.svg")} == {*PICTURES}
    assert [name for name in PICTURES if f"pictures/{name}.svg" not in pages] == []


@pytest.mark.parametrize(
    ("seconds", "text"), [(123.0, "120 s"), (0.96, "0.96 s"), (0.0123, "12 ms"), (4.56e-05, "46 µs")]
)
def test_a_time_has_two_digits_and_a_unit(seconds, text):
    assert speed.duration(seconds) == text


def test_the_table_of_families_is_that_of_the_measurements():
    page = PAGE.read_text("utf-8")
    assert with_table(page) == page, "python -m tests.pictures writes it"


def test_the_session_in_a_terminal_prints_what_its_picture_shows():
    committed = session.FILE.read_text("utf-8")
    assert session.without_times(session.drawn(session.session())) == session.without_times(committed), (
        "python -m tests.pictures.session draws it again"
    )
