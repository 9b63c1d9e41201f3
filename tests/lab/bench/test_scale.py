"""`snellen bench scale`: more and more workers, each result checked before it is timed."""

from __future__ import annotations

import json

import pytest

from benchmarks import extras
from snellen.cpu.threads import cores
from snellen.errors import SnellenError
from snellen.jobs.sharing.tickets import Done
from snellen_lab.bench import scale

TINY = scale.Sizes((64, 48), discarded=2, film=8, scored=2)


@pytest.mark.slow
def test_a_report_of_one_worker_and_two():
    lines, count = [], cores()
    report = scale.run("scale", 1, lines.append, device="cpu", sizes=TINY, counts=(1, 2))
    assert json.loads(json.dumps(report))["cells"] == report["cells"]
    assert report["failed"] == 0 and report["benchmark"] == "scale" and report["digest"]
    kinds = [(one["kind"], one["workers"], one["cores"]) for one in report["cells"]]
    named = ("discard", "film", "score")
    places = [(1, count // 2), (1, count), (2, count)] if count > 1 else [(1, count)]
    assert kinds == [(kind, *place) for place in places for kind in named]
    assert all(one["fps"]["median"] > 0 for one in report["cells"])
    assert [one.get("beside") for one in report["cells"][:3]] == [None, "encoders", "decoders"]
    assert cores() == count
    ((head, rows),) = extras.tables(report)
    assert len(rows) == len(kinds) and len(rows[0]) == len(head)
    assert rows[1][4].endswith("of the encoders alone")
    assert "discard, 1 worker, " in lines[1]


def test_a_wrong_result_gets_no_time(monkeypatch, tmp_path):
    def wrong(place, repeats):
        raise SnellenError("other frames")

    lines = []
    monkeypatch.setattr(scale, "discard", wrong)
    monkeypatch.setattr(scale, "film", lambda place, repeats: {"fps": scale.spread([1.0])})
    monkeypatch.setattr(scale, "score", wrong)
    report = scale.run("scale", 1, lines.append, device="cpu", sizes=TINY, counts=(1,))
    assert report["failed"] == 2
    first, film, last = report["cells"]
    assert first["error"] == last["error"] == "other frames" and "fps" not in first
    assert film["fps"]["median"] == 1
    assert "WRONG" in lines[1]


def test_frames_that_are_not_those_of_this_process_are_found(monkeypatch, tmp_path):
    monkeypatch.setattr(scale, "_pool", lambda place: Fake())
    monkeypatch.setattr(scale, "_plain", lambda place: "right")
    place = scale.Place(("cpu",), 1, 1, TINY, tmp_path)
    with pytest.raises(SnellenError, match="not an enlarged frame"):
        scale.discard(place, 1)


class Fake:
    """A pool whose results are wrong."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def submit(self, ticket):
        pass

    def wait(self):
        return Done(0, "wrong")
