"""Each fault of the compiler that stagec works around is still there, and its workaround works.

A record whose reproduction is right without its workaround has healed: delete the record and what applies it.
"""

import re
import sys

import pytest

from tests.workarounds import __main__ as page, reproduce, try_release
from tests.workarounds.records import ALL, Program, Script

SHOWN = [record for record in ALL if isinstance(record.shown_by, (Program, Script))]


@pytest.mark.parametrize("record", SHOWN, ids=lambda record: record.id)
def test_the_fault_shows_without_its_workaround(record):
    found = reproduce.symptom(record)
    assert reproduce.shows(record, found), f"{record.id}: expected {record.symptom.value}, and got: {found}"


@pytest.mark.parametrize("record", SHOWN, ids=lambda record: record.id)
def test_the_program_is_right_with_the_workaround(record):
    assert reproduce.symptom(record, guarded=True) == reproduce.RIGHT


@pytest.mark.parametrize("record", ALL, ids=lambda record: record.id)
def test_a_record_names_what_exists(record):
    assert record.hooks and all(hook is not None for hook in record.hook_objects())
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", record.id)
    assert record.upstream.startswith(("https://github.com/iree-org/iree/", "none found")) and record.shown_by


def test_records_have_names_of_their_own():
    assert len({record.id for record in ALL}) == len(ALL)


def test_the_page_is_made_from_the_records():
    text = page.PAGE.read_text("utf-8")
    assert page.written(text) == text, "run python -m tests.workarounds"


def test_a_release_is_tried_in_an_environment_of_its_own():
    # This environment stands for one with another release.
    word, _ = try_release.verdict(sys.executable, "float-to-integer")
    assert word == "present"
