"""Long films that are deblurred in segments: frames and what is found are those of one piece."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

import snellen
from snellen.errors import InputError, OutputError
from snellen.jobs.options import psf_files
from snellen.jobs.steps.deblur_step import DeblurStep, FrameFits
from snellen.mia.result import Restored
from snellen.video.segments import cuts
from support.heard import Heard
from support.video.clips import make, read
from support.video.segments import KEYS, KilledError, same


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    monkeypatch.setattr(cuts, "LEADING", 0)


@pytest.fixture
def source(tmp_path):
    return make(tmp_path / "in.mkv", rate=Fraction(12), frames=40, options=KEYS, audio="aac")


def run(source, target, **settings):
    heard = Heard()
    how = {"prior": None, "psf_size": 3, "iterations": 2, "crf": 0, "preset": "ultrafast"}
    result = snellen.deblur_file(source, target, device="cpu", events=heard, **how | settings)
    return result, heard


def found(rows):
    return [(row.frame, row.fit, row.iterations) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{}, {"window": 3}, {"tile": 32}, {"region": (8, 8, 32, 24), "paste_back": True}]
)
def test_they_are_those_of_one_piece(tmp_path, source, settings, monkeypatch):
    whole, cut, again = (tmp_path / f"{name}.mkv" for name in ("whole", "cut", "again"))
    one, there = run(source, whole, segments=False, psf_out=tmp_path / "whole.npy", **settings)
    two, heard = run(source, cut, psf_out=tmp_path / "cut.npy", **settings)
    assert there.notices == []
    assert "segments" in heard.notices[0]
    same(whole, cut)
    assert found(one.frames) == found(two.frames) == found(heard.rows)
    assert [row.frame for row in heard.rows] == list(range(40))
    assert one.fit == two.fit
    assert np.array_equal(one.psf, two.psf)
    assert np.array_equal(np.load(tmp_path / "whole.npy"), np.load(tmp_path / "cut.npy"))

    submit, left = DeblurStep.submit, [30]

    def dying(step, plane):
        left[0] -= 1
        if left[0] < 0:
            raise KilledError
        return submit(step, plane)

    with monkeypatch.context() as patch:
        patch.setattr(DeblurStep, "submit", dying)
        with pytest.raises(KilledError):
            run(source, again, psf_out=tmp_path / "again.npy", **settings)
    three, heard = run(source, again, psf_out=tmp_path / "again.npy", **settings)
    assert any("goes on" in text for text in heard.notices)
    same(whole, again)
    assert found(three.frames) == found(one.frames)
    assert sorted(p.name for p in tmp_path.iterdir() if "again" in p.name) == [
        "again.mkv", "again.npy"
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".npy", pytest.param(".png", marks=pytest.mark.slow)])
def test_a_kill_between_the_names_of_the_psfs_and_the_film(tmp_path, source, monkeypatch, suffix):
    target, psf, write = tmp_path / "out.mkv", tmp_path / f"psf{suffix}", psf_files.write

    def dying(path, *rest):
        write(path, *rest)
        assert not target.exists()
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(psf_files, "write", dying)
        with pytest.raises(KilledError):
            run(source, target, psf_out=psf)
    assert psf.exists() and not target.exists()
    made = psf.read_bytes()
    _, heard = run(source, target, psf_out=psf)
    assert any(re.match(r"goes on: (\d+) of \1 ", text) for text in heard.notices)
    assert psf.read_bytes() == made and target.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.mkv", "out.mkv", psf.name]


@pytest.mark.slow
def test_another_psf_that_has_come_between_stays(tmp_path, source, monkeypatch):
    target, psf = tmp_path / "out.mkv", tmp_path / "psf.npy"

    def dying(path, *rest):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(psf_files, "write", dying)
        with pytest.raises(KilledError):
            run(source, target, psf_out=psf)
    psf.write_bytes(b"another one")
    with pytest.raises(OutputError, match=r"psf.npy has come to exist"):
        run(source, target, psf_out=psf)
    assert psf.read_bytes() == b"another one" and not target.exists()


@pytest.mark.slow
def test_what_depends_on_the_whole_film_is_in_one_piece(tmp_path, source):
    positions = tmp_path / "track.txt"
    positions.write_text("8,8\n" * 40)
    moving = {"region": (0, 0, 32, 24), "positions": positions}
    for number, settings in enumerate([{"warm": True}, moving]):
        _, heard = run(source, tmp_path / f"{number}.mkv", **settings)
        assert "may depend on the whole film" in heard.notices[0]


@pytest.mark.slow
def test_another_psf_under_the_same_name_is_another_job(tmp_path, source, monkeypatch):
    psf, target = tmp_path / "psf.npy", tmp_path / "out.mkv"
    np.save(psf, np.eye(3, dtype=np.float32) / 3)
    how = {"psf": psf, "psf_size": None, "keep_segments": True}
    run(source, target, **how)
    np.save(psf, np.ones((3, 3), np.float32) / 9)
    with pytest.raises(InputError, match="the file of psf has changed"):
        run(source, target, overwrite=True, **how)
    _, heard = run(source, target, overwrite=True, discard_segments=True, **how)
    assert "removed the segments" in heard.notices[0]
    assert len(read(target).frames) == 40


def test_what_was_found_in_parts_of_a_film_comes_together():
    heard = []
    fits = FrameFits(heard.append, keep=True)
    parts = []
    for begin in (0, 3):
        fits.begin_part()
        for number in range(begin, begin + 4):
            psf = np.full((3, 3), number, np.float32)
            fits.add(Restored(None, psf, number / 8, 2, (), "restored"), 1.5)
        parts.append(fits.packed(begin // 3, 3))
    assert heard == []
    fits.unpack([*parts, b""])
    assert [row.fit * 8 for row in fits.rows] == [0, 1, 2, 4, 5, 6]
    assert heard == fits.rows
    assert [row.frame for row in heard] == list(range(6))
    assert [psf[0, 0] for psf in fits.psfs] == [0, 1, 2, 4, 5, 6]
    assert fits.rows[0].outcome == "restored"
    assert fits.packed(9, 1) == b""
