"""Pools of threads: tasks, their order and their end; and calls when the program has ended."""

import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import CancelledError, Future
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.cpu import pool as module
from snellen.cpu.pool import Pool
from support.web import served

CALLS = {
    "upscale": "snellen.upscale(picture, method='cnn-fast').shape",
    "score": "round(snellen.score(picture, picture).mad)",
    "deblur": "snellen.deblur(picture, np.full((3, 3), 1 / 9), iterations=2).image.shape",
    "aplus": "snellen.upscale(picture, method='aplus').shape",
    "blind": "snellen.deblur(picture, psf_size=3, iterations=2).image.shape",
    "file": "snellen.upscale_file('in.png', 'out.png', method='cnn-fast', overwrite=True).width",
    "film": "snellen.upscale_file('in.gif', 'out.mkv', method='cnn-fast', overwrite=True).width",
    "scores": "len(snellen.score_files('in.gif', 'in.gif').table.rows)",
}
MADE = {
    "upscale": "(80, 96)", "score": "0", "deblur": "(40, 48)", "aplus": "(80, 96)",
    "blind": "(40, 48)", "file": "96", "film": "96", "scores": "3",
}  # fmt: skip
QUICK = "upscale", "film"

WORK = """
def work():
    try:
        print("made", {call}, flush=True)
    except snellen.SnellenError as error:
        print("said", error, flush=True)
"""
ENDS = {
    "thread": """
def late():
    threading.main_thread().join()
    work()
threading.Thread(target=late).start()
""",
    "exit": """
def late():
    threading.main_thread().join()
    work()
threading.Thread(target=late).start()
sys.exit(0)
""",
    "atexit": "atexit.register(work)",
    "second": "atexit.register(work); snellen.upscale(np.zeros((40, 48), 'u1'), method='cnn-fast')",
}


def said_by(program: str, folder: Path) -> str:
    """Return what a program prints; it must end well and say nothing else."""
    before = "import atexit, sys, threading\nimport numpy as np, snellen\n"
    before += "picture = np.add.outer(np.arange(40), np.arange(48)).astype('u1')\n"
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", before + program], cwd=folder, capture_output=True, text=True,
            timeout=120,
        )  # fmt: skip
        if "llvmlite" not in run.stderr:  # which complains where it compiles as Python ends
            break
    assert run.returncode == 0 and "Traceback" not in run.stderr, run.stderr
    return run.stdout.strip()


def pictures(folder: Path) -> None:
    shown = [Image.fromarray(np.full((40, 48), level, np.uint8)) for level in (9, 99, 199)]
    shown[0].save(folder / "in.png")
    shown[0].save(folder / "in.gif", save_all=True, append_images=shown[1:], duration=100)


@pytest.mark.parametrize(
    ("call", "end"),
    [
        pytest.param(call, end, marks=() if call in QUICK and end in ("thread", "atexit") else slow)
        for slow in [pytest.mark.slow]
        for call in CALLS
        for end in ENDS
    ],
)
def test_calls_work_when_the_program_has_ended(tmp_path: Path, call: str, end: str) -> None:
    pictures(tmp_path)
    said = said_by(WORK.format(call=CALLS[call]) + ENDS[end], tmp_path)
    assert said == f"made {MADE[call]}"


@pytest.mark.parametrize("way", ["snellen.", ""])
def test_a_finalizer_that_python_calls_last_is_told_so(tmp_path: Path, way: str) -> None:
    call = CALLS["upscale"].replace("snellen.", way)
    program = f"""
from snellen import SnellenError, upscale
class Late:
    def __del__(self):
        try:
            print("made", {call}, flush=True)
        except SnellenError as error:
            print("said", error, flush=True)
late = Late()
late.itself = late
"""
    said = said_by(program, tmp_path)
    assert said.startswith("said Python is shutting down") and "atexit" in said


@pytest.mark.parametrize("name", ["snellen.upscale", "snellen.jobs.run"])
def test_a_finalizer_without_any_import_before_it_is_told_so(tmp_path: Path, name: str) -> None:
    program = f"""
import snellen.jobs
class Late:
    def __del__(self):
        try:
            {name}
        except RuntimeError as error:
            print(error, flush=True)
late = Late()
late.itself = late
"""
    assert said_by(program, tmp_path).startswith(f"Python is shutting down: {name} does not work")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["thread", "atexit"])
@pytest.mark.parametrize("before", ["", "import concurrent.futures.thread"])
def test_an_address_is_read_or_it_is_said_why_not(tmp_path: Path, end: str, before: str) -> None:
    """By a name: asyncio asks for its numbers in a thread of a pool."""
    pytest.importorskip("aiohttp")
    pictures(tmp_path)
    with served() as web:
        address = web.put("in.png", (tmp_path / "in.png").read_bytes())
        address = address.replace("127.0.0.1", "localhost")
        call = f"snellen.upscale_file('{address}', 'out.png', method='cnn-fast').width"
        said = said_by(before + WORK.format(call=call) + ENDS[end], tmp_path)
    ours = "starts no threads any more: the program has ended"
    assert said == "made 96" or (before and said.startswith("said") and ours in said)


def test_a_daemon_is_told_that_nobody_waits_for_it(tmp_path: Path) -> None:
    program = """
from snellen.cpu.pool import Pool
pool = Pool(1)
begun, said = threading.Event(), threading.Event()
def daemon():
    try:
        while True:
            pool.submit(int).result()
            begun.set()
    except snellen.SnellenError as error:
        print(error, flush=True)
        said.set()
atexit.register(said.wait, 60)
from snellen.cpu import pool as module
atexit.unregister(module._at_exit)
atexit.register(module._at_exit)
threading.Thread(target=daemon, daemon=True).start()
begun.wait(60)
"""
    said = said_by(program, tmp_path)
    assert said.startswith("the program has ended, and does not wait for this thread, a daemon")


def test_a_daemon_makes_a_pool_while_the_end_looks_for_pools(monkeypatch):
    class Slow(weakref.WeakSet):
        def __iter__(self):
            for one in super().__iter__():
                made.append(threading.Thread(target=Pool, args=(1,), daemon=True))
                made[-1].start()
                made[-1].join(0.1)
                yield one

    made = []
    monkeypatch.setattr(module, "_pools", Slow())
    monkeypatch.setattr(module, "_ending", False)
    pools = [Pool(1) for _ in range(2)]
    module._at_exit()
    assert len(made) == len(pools)


def test_the_end_waits_for_what_is_computed(tmp_path: Path) -> None:
    program = """
import time
from snellen.cpu.pool import Pool
pool = Pool(1)
begun = threading.Event()
def task():
    begun.set()
    time.sleep(0.2)
    print("done", flush=True)
pool.submit(task)
begun.wait(60)
"""
    assert said_by(program, tmp_path) == "done"


def test_results_errors_and_order() -> None:
    with Pool(3, "some") as pool:
        assert list(pool.map(lambda value: value**2, range(20))) == [n**2 for n in range(20)]
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 // 0).result()
        assert pool.submit(dict, a=1).result() == {"a": 1}
        assert pool.submit(lambda: threading.current_thread().name).result().startswith("some_")
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(int)
    with pytest.raises(ValueError, match="got 0 threads"):
        Pool(0)


def test_threads_start_where_none_is_free_and_end_with_the_pool() -> None:
    def alive() -> int:  # those of other tests may end meanwhile
        return sum(one.name.startswith("counted_") for one in threading.enumerate())

    pool = Pool(3, "counted")
    for _ in range(10):
        pool.submit(int).result()
    # A thread counts as free a moment after its result is there.
    assert 0 < alive() <= 3
    barrier = threading.Barrier(4)
    tasks: list[Future[int]] = [pool.submit(barrier.wait, 60) for _ in range(3)]
    barrier.wait(60)
    assert sorted(task.result() for task in tasks) != [] and len(pool._threads) == 3
    threads = list(pool._threads)
    del pool
    gc.collect()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_what_no_thread_has_begun_is_cancelled() -> None:
    pool, go, begun = Pool(1), threading.Event(), threading.Event()

    def task() -> int:
        begun.set()
        go.wait(60)
        return 7

    first = pool.submit(task)
    begun.wait(60)
    second = pool.submit(int)
    pool.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(CancelledError):
        second.result(60)
    go.set()
    assert first.result(60) == 7


def test_results_are_in_order():
    with Pool(2) as pool:
        found = module.results([pool.submit(pow, number, 2) for number in range(5)])
        assert found == [0, 1, 4, 9, 16]
        with pytest.raises(ZeroDivisionError):
            module.results([pool.submit(divmod, 1, number) for number in (1, 0)])


def test_an_interrupt_cancels_what_has_not_begun(monkeypatch):
    def interrupted(waiting):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "wait", interrupted)
    begun, queued = Future(), Future()
    begun.set_running_or_notify_cancel()
    with pytest.raises(KeyboardInterrupt):
        module.results([begun, queued])
    assert queued.cancelled() and not begun.cancelled()
