"""Long waits for others are told, with what is waited for, by whatever thread waits."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from pathlib import Path

import pytest

from snellen.errors import InputError
from snellen.files import opening, store, transfer, waiting
from snellen.files.remote import typed
from snellen.files.transfer import RemoteFilm
from snellen.video.pipes import Incoming, Outgoing
from support.web import served

web_only = pytest.mark.skipif(
    importlib.util.find_spec("fsspec") is None or importlib.util.find_spec("aiohttp") is None,
    reason="fsspec and aiohttp are not installed",
)


@pytest.fixture
def said(monkeypatch):
    """Return what was said, with the first word after a hundredth of a second."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    told: list[tuple[str, str]] = []
    with waiting.heard(lambda subject, message: told.append((subject, message))):
        yield told


def until(said):
    """Wait until something was said, for a minute at most."""
    for _ in range(6000):
        if said:
            return
        time.sleep(0.01)


def first(said):
    """Return the first word without its seconds, which are more where the machine is busy."""
    subject, message = said[0]
    return subject, message.rpartition(", ")[0]


def test_each_word_comes_once_and_later_ones_after_twice_the_time(said):
    for _ in range(2):
        with waiting.waiting("a", "b"):
            while len(said) < 2:
                time.sleep(0.001)
    assert said[:2] == [("a", "waiting for b, 0.01 s"), ("a", "waiting for b, 0.03 s")]
    assert len(said) == len(set(said))


def test_short_waits_are_not_told(said, monkeypatch):
    monkeypatch.setattr(waiting, "PATIENCE", 60.0)
    with waiting.waiting("a", "b"):
        time.sleep(0.02)
    assert not said


def test_the_inner_block_hears_and_an_exception_of_it_is_raised(said):
    def full(subject, message):
        raise InputError("enough")

    with waiting.heard(full), pytest.raises(InputError, match="enough"):
        for _ in range(600):
            with waiting.waiting("a", "b"):
                time.sleep(0.1)
    assert not said


def test_of_several_threads_each_hears_its_own(said):
    """A run of another thread, which began later, is not told of the waits of this one."""
    other: list[str] = []
    begun, over = threading.Event(), threading.Event()

    def run():
        with waiting.heard(lambda subject, message: other.append(message)):
            begun.set()
            over.wait(60)

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(60)
    with waiting.waiting("a", "b"):
        until(said)
    over.set()
    thread.join()
    assert said and not other


@pytest.fixture
def silent(monkeypatch):
    """Return a server that sends the beginning only, until it is let go."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with served() as web:
        web.hold.set()
        yield web
        web.hold.clear()


@web_only
def test_what_is_read_as_a_whole(silent, said):
    path = typed(silent.put("a.npy", bytes(20)))
    thread = threading.Thread(target=lambda: (until(said), silent.hold.clear()))
    thread.start()
    assert opening.contents(path, 30) == bytes(20)
    thread.join()
    assert first(said) == (str(path), "waiting for the server to send all of it")


@web_only
def test_parts_of_a_film_and_the_first_answer(silent, said, monkeypatch):
    path = typed(silent.put("a.mkv", bytes(20)))
    film = RemoteFilm(path)
    said.clear()
    thread = threading.Thread(target=lambda: (until(said), silent.hold.clear()))
    thread.start()
    assert film.read(20) == bytes(20)
    thread.join()
    assert first(said) == (str(path), "waiting for the server to send bytes 0 to 20")
    said.clear()
    monkeypatch.setattr(transfer, "system", lambda path: _Slow(said))
    transfer.status(typed("http://h/a"))
    assert first(said) == ("http://h/a", "waiting for the server to answer")


class _Slow:
    """A store that answers when something was said."""

    def __init__(self, said):
        self._said = said

    def invalidate_cache(self):
        pass

    def exists(self, url):
        until(self._said)
        return False

    def info(self, url):
        until(self._said)
        return {"size": 3}

    def put_file(self, file, url, mode="overwrite"):
        until(self._said)


def test_a_store(said, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "system", lambda path: _Slow(said))
    (tmp_path / "a").write_bytes(b"abc")
    for work, what in (
        (store.is_there, "answer"),
        (store.check_bucket, "answer"),
        (lambda path: store.upload(tmp_path / "a", path, True), "take it"),
    ):
        path = typed(f"s3://bucket/{what}{len(said)}/{work.__name__}")
        said.clear()
        work(path)
        assert first(said) == (str(path), f"waiting for the store to {what}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe(said, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        until(said)
        path.write_bytes(b"abc")

    thread = threading.Thread(target=write)
    thread.start()
    assert opening.contents(path, 9) == b"abc"
    thread.join()
    assert first(said) == (str(path), "waiting for its writer")


@pytest.mark.parametrize("kind", [Incoming, Outgoing])
def test_pipes_of_films(kind, said):
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source, os.fdopen(write, "wb") as target:
        if kind is Outgoing:  # full, so that the writer waits
            os.set_blocking(write, False)
            with pytest.raises(BlockingIOError):
                while True:
                    os.write(write, bytes(1 << 16))
            os.set_blocking(write, True)

        def other_end():
            until(said)
            os.read(read, 1 << 20) if kind is Outgoing else os.write(write, b"abc")

        thread = threading.Thread(target=other_end)
        thread.start()
        if kind is Incoming:
            assert Incoming(source, title="standard input").read(9) == b"abc"
            expected = ("standard input", "waiting for its writer")
        else:
            outgoing = Outgoing(target)
            assert outgoing.write(memoryview(b"abc")) == 3
            outgoing.close()
            expected = (str(write), "waiting for its reader")
        thread.join()
    assert first(said) == expected


def test_a_cluster(said, monkeypatch):
    from types import SimpleNamespace

    from snellen.jobs.options import cluster_connection

    ray = SimpleNamespace(init=lambda *args, **options: until(said), shutdown=lambda: None)
    cluster_connection.connect(ray, "local")
    assert first(said) == ("cluster", "waiting for Ray at local to let us in")


def test_a_run_and_a_command_hear_of_it(monkeypatch, tmp_path):
    """By the notices of events, in a run, and of the command's report before it."""
    from snellen.cli.report import Report
    from snellen.jobs.events import Silent
    from snellen.jobs.first_use import announced

    class Heard(Silent):
        def __init__(self):
            self.said = []

        def notice(self, subject, message):
            self.said.append((subject, message))

    monkeypatch.setattr(waiting, "PATIENCE", 0.01)
    events, report = Heard(), Report(as_json=False)
    monkeypatch.setattr(report, "notice", (before := Heard()).notice)
    with report:
        for hears in (before, events):
            within = announced(events) if hears is events else waiting.heard(None)
            with within, waiting.waiting(Path("a"), "b"):
                until(hears.said)
            assert first(hears.said) == ("a", "waiting for b")
