"""A program that forks while objects of Snellen are open; the first argument names the part.

A child that does not end in time is killed by its alarm, and the program fails.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

import snellen
from snellen import Deblurrer, Format, Frame, Scorer, Stream, Upscaler
from snellen.errors import DeviceError, InputError
from snellen.jobs.events import Silent

LIMIT = 400
SIZE = 40
PICTURE = np.random.default_rng(0).integers(0, 256, (SIZE, SIZE), np.uint8)
FLOATS = PICTURE.astype(np.float32) / 255


def in_child(work):
    """Run a function in a child, and check that it ends well."""
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(LIMIT)
            work()
            code = 0
        finally:
            sys.excepthook(*sys.exc_info()) if code else None
            sys.stdout.flush()
            os._exit(code)
    ended(child)


def ended(child, code=0):
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == code, status


def refused(call, kind=InputError, words="another process"):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError("nothing was raised")


def opened(device):
    """Return an object of each kind, prepared and used once, and the use."""
    format, frame = Format(SIZE, SIZE), Frame((PICTURE,))
    upscaler, scorer = Upscaler(device=device), Scorer(device=device)
    deblurrer, other = (Deblurrer(psf_size=3, iterations=1, device=device) for _ in range(2))
    for one in (upscaler, scorer, deblurrer):
        one.prepare(format)
    stream = Stream(other, (SIZE, SIZE))
    uses = {
        upscaler: lambda: upscaler.run(frame),
        scorer: lambda: scorer.run(PICTURE, PICTURE),
        deblurrer: lambda: deblurrer.run(PICTURE),
        stream: lambda: (stream.push(FLOATS), stream.pop()),
    }
    for use in uses.values():
        use()
    return uses


def functions(device):
    snellen.upscale(PICTURE, device=device)
    snellen.score(PICTURE, PICTURE, device=device)
    snellen.deblur(PICTURE, prior=None, psf_size=3, iterations=1, device=device)


def objects(device="cpu"):
    """Open objects are refused in a child, closed and collected without harm, and work on here."""
    uses = opened(device)
    functions(device)

    def closed():
        for one, use in uses.items():
            refused(use)
            one.close()
        uses.clear()
        gc.collect()

    def prepared():
        for one in list(uses)[:3]:
            one.prepare(Format(SIZE, SIZE))
            uses[one]()
        functions(device)

    in_child(closed)
    in_child(lambda: [refused(one.finish) for one in list(uses)[3:]])
    if device == "cpu":
        in_child(prepared)
        thread = threading.Thread(target=in_child, args=(prepared,))
        thread.start()
        thread.join()
    else:
        in_child(lambda: refused(prepared, DeviceError, "spawn"))
        in_child(lambda: refused(lambda: Upscaler(device="cuda"), DeviceError, "spawn"))
        in_child(lambda: (functions("cpu"), functions("auto")))
    for use in uses.values():
        use()
    child = os.fork()
    if not child:
        signal.alarm(LIMIT)
        sys.exit(0)  # everything is collected as the interpreter ends
    ended(child)
    for one in uses:
        one.close()


def compiling():
    """Fork while another thread compiles."""
    thread = threading.Thread(target=snellen.upscale, args=(PICTURE,), kwargs={"device": "cpu"})
    thread.start()
    time.sleep(2)
    in_child(lambda: snellen.upscale(PICTURE, device="cpu"))
    thread.join()


def busy():
    """Fork while other threads hold locks; and in a pool of processes."""
    functions("cpu")  # Python's locks of imports are not for us to free
    stop = threading.Event()

    def work():
        while not stop.is_set():
            functions("cpu")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    try:
        for _ in range(int(sys.argv[2])):
            in_child(lambda: functions("cpu"))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(functions, ["cpu"] * 4)


class Forking(Silent):
    """Events of a run: its tenth frame forks a child, which ends in some way."""

    def __init__(self, end):
        self.end, self.frames, self.parent, self.child = end, 0, os.getpid(), None

    def progress(self, progress):
        self.frames += 1
        if self.frames == 10 and self.parent == os.getpid():
            self.child = os.fork()
            if not self.child:
                signal.alarm(LIMIT)
                self.end()


def film():
    """A child of a run leaves the film alone, however it ends."""
    source, folder = Path(sys.argv[2]), Path(sys.argv[3])
    snellen.upscale_file(source, folder / "plain.mp4", device="cpu")

    def leave():
        sys.exit(3)

    for number, end in enumerate((leave, lambda: None)):
        target, events = folder / f"{number}.mp4", Forking(end)
        try:
            snellen.upscale_file(source, target, device="cpu", events=events)
        except SystemExit:
            raise
        except InputError as error:
            if os.getpid() == events.parent:
                raise
            assert "another process" in str(error)
            sys.exit(3)
        ended(events.child, 3)
        assert target.read_bytes() == (folder / "plain.mp4").read_bytes()
    assert len(list(folder.iterdir())) == 3


PARTS = {
    "objects": objects, "gpu": lambda: objects("cuda"), "busy": busy, "compiling": compiling,
    "film": film,
}  # fmt: skip
if __name__ == "__main__":
    PARTS[sys.argv[1]]()
