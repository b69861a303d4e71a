"""The order of calls on a queue, and what becomes of one that fails."""

import threading

import pytest

from stagec.core import errors
from stagec.runtime.device import binding
from stagec.runtime.devices import Device, cpu
from stagec.runtime.timeline import TimelineSemaphore


@pytest.fixture
def timeline():
    return TimelineSemaphore(binding(), cpu().hal_device("local-task"))


def succeed(before, after):
    before.wait()
    after.signal()


def fail(before, after):
    after.fail("the device went away")


def test_calls_are_done_in_their_order(timeline):
    order = []

    def call(number):
        def start(before, after):
            def work():
                before.wait()
                order.append(number)
                after.signal()

            threading.Thread(target=work).start()

        return start

    pending = [timeline.submit(call(n), f"call {n}", None) for n in range(20)]
    pending[-1].wait()
    assert order == list(range(20))
    assert all(p.is_done() for p in pending)


def test_a_failure_is_told_at_the_wait_and_names_the_call(timeline):
    pending = timeline.submit(fail, "loss, called at train.py:12,", None)
    assert pending.is_done()
    for _ in range(2):  # whoever asks again is told again
        with pytest.raises(errors.ExecutionError, match=r"loss, called at train.py:12, failed.*the device went away"):
            pending.wait()


def test_the_queue_goes_on_after_a_failure(timeline):
    with pytest.raises(errors.ExecutionError):
        timeline.submit(fail, "the bad call", None).wait()
    timeline.submit(succeed, "a good call", None).wait()
    timeline.submit(succeed, "another", None).wait()


def test_a_call_that_cannot_start_leaves_the_queue_as_it_was(timeline):
    def refuse(before, after):
        raise MemoryError("no room")

    timeline.submit(succeed, "a good call", None).wait()
    with pytest.raises(MemoryError, match="no room"):
        timeline.submit(refuse, "the bad call", None)
    timeline.submit(succeed, "another", None).wait()


def test_what_a_call_reads_is_kept_until_it_is_done(timeline):
    class Thing:
        pass

    import weakref

    thing, release = Thing(), threading.Event()
    seen = weakref.ref(thing)

    def start(before, after):
        def work():
            release.wait()
            after.signal()

        threading.Thread(target=work).start()

    pending = timeline.submit(start, "a call", thing)
    del thing
    assert seen() is not None and not pending.is_done()
    release.set()
    pending.wait()
    assert seen() is None


def started(device_timeline, ends):
    """A call on a timeline that ends when `ends` is set."""

    def start(before, after):
        def work():
            ends.wait(20)
            after.signal()

        threading.Thread(target=work).start()

    return device_timeline.submit(start, "a call", None)


def test_a_timeline_that_was_left_gets_a_successor_which_does_not_wait_for_its_calls():
    device, ends = Device("cpu", 0), threading.Event()
    old = device.timeline("local-task")
    pending = started(old, ends)
    assert device.timeline("local-task") is old
    assert not device.has_abandoned()
    old.leave()
    new = device.timeline("local-task")
    assert new is not old
    new.submit(succeed, "a good call", None).wait()
    assert device.has_abandoned()
    assert not pending.is_done()
    ends.set()
    device.drain()
    assert pending.is_done()
    assert not device.has_abandoned()


def test_a_signal_in_the_middle_of_a_wait_does_not_look_like_a_failure(timeline):
    class Fence:
        """Its wait is met by a signal whose handler raises."""

        def wait(self, timeout):
            if timeout:
                raise TimeoutError("too long")
            return False

    pending = timeline.submit(succeed, "a good call", None)
    fence, pending._fence = pending._fence, Fence()
    with pytest.raises(TimeoutError, match="too long"):
        pending.wait()
    assert timeline.left
    pending._fence = fence
    pending.wait()


def test_an_interrupt_while_a_call_is_submitted_keeps_what_it_may_read(timeline):
    fences = []

    def start(before, after):
        fences.append(after)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timeline.submit(start, "a call", "what it reads")
    assert timeline.left
    assert [p.kept for p in timeline._doubtful] == ["what it reads"]
    fences[0].signal()
    successor = TimelineSemaphore(binding(), cpu().hal_device("local-task"), previous=timeline)
    successor.submit(succeed, "a good call", None).wait()
    assert successor._doubtful == []
