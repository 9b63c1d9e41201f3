"""Whole calls: each is checked against the plain path; fresh processes; tables."""

from __future__ import annotations

import json
import time
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from benchmarks import compare, results, tables
from snellen.errors import SnellenError
from snellen_lab.bench.calls import child, films, fresh, run, table
from snellen_lab.bench.calls.case import FULL, ON_CPU, Sizes
from snellen_lab.bench.calls.films import DeblurFilm
from snellen_lab.bench.calls.pictures import Deblur, Upscale

TINY = Sizes(
    plane=(48, 40), large=(64, 64), batch=2, square=(40, 36), small=32, pictures=3, film=(96, 64),
    region_frames=7, tile_frames=2, scored=(64, 48), scored_frames=3, image=(140, 130),
    iterations=4, checked=2,
)  # fmt: skip
CALLS = {(one.name, one.device): one for one in table.cases(["cpu"], TINY)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Films of the calls."""
    path = tmp_path_factory.mktemp("films")
    for name in {name for one in CALLS.values() for name in one.films}:
        films.write(path, name, TINY)
    return path


@pytest.mark.cases
@pytest.mark.parametrize(
    "key", [one for one in CALLS if "l0" not in one[0]], ids=lambda key: key[0]
)
def test_every_call_is_right_and_timed(folder, monkeypatch, key):
    monkeypatch.setattr(child, "SHORT", 0.0)
    case = CALLS[key]
    found = child.measure(case, folder, 2, time.time())
    assert json.loads(json.dumps(found)) == found
    of_films = {"p99_ms", "start_ms"} if case.unit == "frame" else set()
    assert set(found) == {"first", "check", "ms", "calls"} | of_films
    assert found["calls"] == 2
    assert 0 < found["ms"]["min"] <= found["ms"]["median"] <= found["ms"]["max"]
    assert found["first"]["s"] > 0 and found["first"]["cpu_s"] > 0
    assert all(value == 0 for value in found["check"].values())


def test_short_calls_are_repeated_until_they_have_a_median(monkeypatch):
    """And a call of a second is not; of a film three runs suffice."""

    class Short(Upscale):
        prepare = check = lambda self, given: {}
        run = lambda self: None  # noqa: E731  nothing

    class Film(Short):
        def run(self):
            self.stamps = [time.perf_counter()] * 3

    for ms, repeats, calls in ((3.0, 5, 167), (0.01, 5, 200), (1000.0, 5, 5), (300.0, 1, 2)):
        monkeypatch.setattr(child.clock, "host", lambda work, ms=ms: work() or ms)
        found = child.measure(Short("cpu", TINY), Path(), repeats, time.time())
        assert found["calls"] == calls and found["ms"]["median"] == ms
        found = child.measure(Film("cpu", TINY), Path(), repeats, time.time())
        assert found["calls"] == min(repeats, child.FILMS)
        assert found["p99_ms"]["max"] == 0 <= found["start_ms"]["median"] < 1000


def test_what_is_wrong_gets_no_time(folder, monkeypatch):
    """Of arrays and of films, by one code value of one sample."""
    honest = Upscale.run

    def spoilt(self):
        result = honest(self)
        result[3, 4] ^= 1
        return result

    monkeypatch.setattr(Upscale, "run", spoilt)
    with pytest.raises(SnellenError, match="differ by 1 code values; expected 0"):
        child.measure(Upscale("cpu", TINY), folder, 1, time.time())
    monkeypatch.setattr(Upscale, "run", lambda self: honest(self).astype(float))
    with pytest.raises(SnellenError, match="of float64"):
        child.measure(Upscale("cpu", TINY), folder, 1, time.time())
    film = next(one for one in CALLS.values() if isinstance(one, DeblurFilm))
    monkeypatch.setattr(DeblurFilm, "_plain", lambda self, luma: np.zeros((32, 32), int))
    with pytest.raises(SnellenError, match="2 frames differ by up to"):
        child.measure(film, folder, 1, time.time())


def test_the_answer_of_a_process(folder, monkeypatch, capsys):
    """An error is an answer, too; what libraries print does not disturb it."""
    request = {
        "name": Upscale("cpu", TINY).name, "device": "cpu", "folder": str(folder), "repeats": 1,
        "sizes": json.loads(json.dumps({name: getattr(TINY, name) for name in TINY.__slots__})),
        "since": time.time(),
    }  # fmt: skip
    monkeypatch.setattr(child, "measure", lambda case, *rest: print("hello") or {"ms": case.name})
    monkeypatch.setattr("sys.stdin", StringIO(json.dumps(request)))
    child.main()
    told = capsys.readouterr()
    assert json.loads(told.out) == {"ms": request["name"]} and told.err == "hello\n"

    def fail(*_):
        raise ValueError("no")

    monkeypatch.setattr(child, "measure", fail)
    assert child.answer(request) == {"error": "ValueError: no"}


def test_between_outputs():
    assert child.between([1.0]) == 0.0
    assert child.between([0.0, 0.001, 0.003]) == pytest.approx(2)
    steady = np.arange(0, 1, 0.001)
    assert child.between(list(steady)) == pytest.approx(1)
    late = np.concatenate([steady, steady[-1] + 0.01 * np.arange(1, 30)])
    assert child.between(list(late)) == pytest.approx(10)


def test_a_fresh_installation(monkeypatch):
    """Nothing of the user's caches is seen, and nothing stays."""
    monkeypatch.setenv("CUPY_CACHE_DIR", "/somewhere")
    with fresh.installation() as given:
        places = [Path(given[name]) for name in ("HOME", "SNELLEN_CACHE", "TMPDIR")]
        assert len(set(places)) == 3 and not any(any(place.iterdir()) for place in places)
        assert not set(fresh.CACHES) & set(given)
        ran = fresh.run("json.tool", given=given, request='{"a": 1}')
        assert json.loads(ran.output) == {"a": 1}
        assert ran.cpu > 0 and ran.seconds > 0
        with pytest.raises(SnellenError, match=r"json.tool ended with 1: .*Expecting value"):
            fresh.run("json.tool", given=given, request="nothing")
    assert not any(place.exists() for place in places)


def test_a_score_is_the_same_after_the_notice_of_a_first_use():
    told = [{"event": "notice", "input": "first use"}, {"event": "done", "mad": 1.5, "hi": 1}]
    first, later = ("".join(json.dumps(row) + "\n" for row in rows) for rows in (told, told[1:]))
    found = {run._result(["score"], fresh.Ran(1, 1, text)) for text in (first, later)}
    assert len(found) == 1 and b"1.5" in found.pop()


@pytest.fixture
def report(monkeypatch):
    """What `run` makes of processes that are not started."""
    monkeypatch.setattr(films, "write", lambda folder, name, sizes: (folder / name).touch())
    monkeypatch.setattr(run, "_check_upscaled", lambda folder, device: {"codes": 0})
    monkeypatch.setattr(run, "_result", lambda given, ran: b"")

    def ran(module, *arguments, given, request=""):
        if module == "snellen":
            return fresh.Ran(2.0, 3.0 + len(list(Path(given["HOME"]).iterdir())), "")
        asked = json.loads(request)
        if "two films" in asked["name"]:
            raise SnellenError("it ended with 1")
        found = {"first": {"s": 1.0, "cpu_s": 2.0}, "check": {"codes": 0}}
        found["ms"] = {"median": 5.0, "min": 4.0, "max": 6.0}
        if "film" in asked["name"]:
            found["p99_ms"] = {"median": 7.0, "min": 7.0, "max": 7.0}
            found["start_ms"] = found["p99_ms"]
        return fresh.Ran(1.0, 1.0, json.dumps(found))

    monkeypatch.setattr(fresh, "run", ran)
    lines = []
    return run.run("calls", 2, lines.append, device="cpu", sizes=TINY), lines


def test_the_report(report):
    found, lines = report
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(found | {"quick": False}))
    assert len(found["cells"]) == len(CALLS) + len(run.COMMANDS) == len(lines) - 1
    assert found["failed"] == 1 and found["devices"] == ["cpu"] and found["format"] == 2
    assert found["note"] == child.NOTE
    (wrong,) = (cell for cell in found["cells"] if "error" in cell)
    assert "two films" in wrong["call"] and "ms" not in wrong
    command = found["cells"][-1]
    assert command["first"]["cpu_s"]["median"] == command["cpu_s"]["median"] == 3.0
    assert command["ms"]["median"] == 2000 and command["unit"] == "command"
    assert any("WRONG" in line for line in lines)
    assert run.run("calls", 1, lines.append, device="cpu", only="nothing")["cells"] == []


@pytest.mark.slow
def test_its_tables(report, tmp_path, capsys):
    path = tmp_path / "calls-cpu.json"
    path.write_text(json.dumps(report[0]))
    (tmp_path / "README.md").write_text(f"{tables.BEGIN}\n{tables.END}\n")
    pages = tables.pages([results.read(path)], tmp_path)
    page = pages[tmp_path / "docs" / "benchmarks" / "calls.md"]
    region = next(line for line in page.splitlines() if "a region of 32×32 |" in line)
    assert "| 5 ms (4 ms … 6 ms) a frame | 7 ms | 1 s | 2 s |" in region
    assert "| 2 s (2 s … 2 s) | – | 2 s | 3 s; later 3 s |" in page and "two films" not in page
    readme = pages[tmp_path / "README.md"]
    assert "| snellen.upscale, one picture of 48×40 | 5 ms | 1 s |" in readme
    assert "[All](docs/benchmarks/calls.md)" in readme.replace("\n", " ")
    assert compare.main([str(path), str(path)]) == 1  # one call is wrong
    assert "wrong in the new file: snellen score, two films" in capsys.readouterr().out


def test_several_gpus_are_named_in_turn():
    found = table.cases([f"cuda:{number}" for number in range(5)], FULL)
    names = {(one.name, one.device) for one in found}
    assert len(names) == len(found)
    shared = [one.device for one in found if isinstance(one, Deblur) and one.batch > 1]
    assert shared == ["cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:1,cuda:2,cuda:3"]
    assert all(one.single == "cuda:0" for one in found)
    assert not any("3840" in one.name for one in table.cases(["cpu"], ON_CPU))


@pytest.mark.slow
def test_processes_and_commands():
    """One call by a process, and the first use of a command; with empty caches, as they are."""
    found = run.run("calls", 1, print, device="cpu", only="l0", sizes=TINY)
    assert found["failed"] == 0 and len(found["cells"]) == 1
    found = run.run("calls", 1, print, device="cpu", only="fresh installation", sizes=TINY)
    assert found["failed"] == 0 and len(found["cells"]) == 3
