"""Tasks of a pool that are one piece of work."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from snellen.cpu import tasks


def test_results_are_in_order():
    with ThreadPoolExecutor(2) as pool:
        assert tasks.results([pool.submit(pow, number, 2) for number in range(5)]) == [
            0,
            1,
            4,
            9,
            16,
        ]
        with pytest.raises(ZeroDivisionError):
            tasks.results([pool.submit(divmod, 1, number) for number in (1, 0)])


def test_an_interrupt_cancels_what_has_not_begun(monkeypatch):
    def interrupted(waiting):
        raise KeyboardInterrupt

    monkeypatch.setattr(tasks, "wait", interrupted)
    begun, queued = Future(), Future()
    begun.set_running_or_notify_cancel()
    with pytest.raises(KeyboardInterrupt):
        tasks.results([begun, queued])
    assert queued.cancelled() and not begun.cancelled()
