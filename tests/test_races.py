"""The hunt for races finds one that is there, and a round of it finds none in stagec."""

import threading

import numpy as np
import pytest

from tests import races


def test_a_result_of_another_thread_is_found(monkeypatch):
    monkeypatch.setattr(
        races.Jobs, "job_looks", lambda self: [np.asarray(threading.current_thread() is threading.main_thread())]
    )
    rounds, wrong = races.hunt(60, 2, names=["job_looks", "job_donation"])
    assert rounds == 1 and len(wrong) == 2 and all("job_looks: result 0 is" in text for text in wrong)


def test_so_is_an_error(monkeypatch):
    def failing(self):
        raise ValueError("in all threads")

    monkeypatch.setattr(races.Jobs, "job_looks", failing)
    assert any("in all threads" in text for text in races.hunt(60, 2, names=["job_looks"])[1])


@pytest.mark.slow
def test_threads_do_the_same_and_different_things_at_once():
    assert races.hunt(300, 8, rounds=1) == (1, [])
