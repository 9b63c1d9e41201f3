"""Each of FFmpeg's messages reaches its listener, and PyAV's logging stays as it was."""

import threading
from concurrent.futures import ThreadPoolExecutor

import av
import av.logging
import pytest

from snellen.video.logs import logs, slots
from support.video.clips import make


@pytest.fixture
def listener():
    one = logs.Listener()
    yield one
    one.close()


def tagged(listener, level=av.logging.ERROR):
    return int(listener.options["log_level_offset"]) + level


def test_messages_of_this_thread_within_the_block_only(listener):
    av.logging.log(av.logging.ERROR, "demuxer", "before")
    with listener.here():
        av.logging.log(av.logging.ERROR, "demuxer", "%s is no format\n")
        av.logging.log(av.logging.INFO, "demuxer", "not asked for")
        other = threading.Thread(target=av.logging.log, args=(av.logging.ERROR, "x", "elsewhere"))
        other.start()
        other.join()
    assert listener.take() == [(av.logging.ERROR, "demuxer", "%s is no format\n")]
    assert listener.take() == []


def test_a_tag_is_heard_from_any_thread_and_by_its_owner_only(listener):
    second = logs.Listener()
    for one, text in ((listener, "first"), (second, "second")):
        thread = threading.Thread(target=av.logging.log, args=(tagged(one), "h264", text))
        thread.start()
        thread.join()
    assert listener.take() == [(av.logging.ERROR, "h264", "first")]
    assert second.take() == [(av.logging.ERROR, "h264", "second")]
    late = tagged(second)
    second.close()
    third = logs.Listener()  # in the same place
    av.logging.log(late, "h264", "of the one before")
    assert third.take() == []
    third.close()


def test_listeners_nest(listener):
    with listener.here():
        with logs.listening() as messages:
            av.logging.log(av.logging.WARNING, "inner", "a")
        av.logging.log(av.logging.WARNING, "outer", "b")
    assert messages == [(av.logging.WARNING, "inner", "a")]
    assert listener.take() == [(av.logging.WARNING, "outer", "b")]


def test_a_flood_from_many_threads_is_counted(listener):
    count, threads = slots.RECORDS, 4

    def flood():
        for number in range(count):
            av.logging.log(tagged(listener), "ffv1", f"message {number}")

    flooding = [threading.Thread(target=flood) for _ in range(threads)]
    for thread in flooding:
        thread.start()
    for thread in flooding:
        thread.join()
    found = listener.take()
    assert len(found) == count * threads
    assert sum(bool(text) for _, _, text in found) == slots.RECORDS
    assert {text.split()[0] for _, _, text in found if text} == {"message"}


def test_a_short_text_does_not_end_in_an_older_one(listener):
    for text in ("a long text", "short"):
        for _ in range(slots.RECORDS):
            av.logging.log(tagged(listener), "", text)
        assert {t for _, _, t in listener.take()} == {text}


@pytest.mark.parametrize("level", [None, av.logging.INFO])
def test_pyavs_logging_is_as_it_was(level):
    before = av.logging.get_level()
    av.logging.set_level(level)
    try:
        logs.Listener().close()
        dropped = logs.Listener()
        del dropped
        with av.logging.Capture() as messages:
            av.logging.log(av.logging.ERROR, "theirs", "text")
        assert messages == ([] if level is None else [(av.logging.ERROR, "theirs", "text")])
        assert av.logging.get_level() == level
    finally:
        av.logging.set_level(before)


def test_setting_pyavs_level_meanwhile_does_not_deafen(listener):
    before = av.logging.get_level()
    av.logging.set_level(av.logging.PANIC)
    with listener.here():
        av.logging.log(av.logging.ERROR, "demuxer", "text")
    av.logging.set_level(before)
    assert listener.take()


@pytest.mark.slow
def test_descriptions_at_once_leave_the_level(tmp_path):
    """It would stay at that of the other one: libwebp then prints on standard error."""
    file = make(tmp_path / "a.mkv", frames=2)
    before = logs.libav_level()

    def describe(_):
        with av.open(str(file)) as container:
            return logs.description(container)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(describe, range(200)))
    assert logs.libav_level() == before
