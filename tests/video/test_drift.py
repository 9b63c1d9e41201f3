"""Comparisons of videos whose times drift or jump inside."""

import re
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen import compare_files, score_files
from snellen.jobs import ScoreJob, run, score_pairs

TEXTURE = np.random.default_rng(5).integers(20, 230, (16, 40), np.uint8).repeat(4, 0).repeat(4, 1)
RATE = Fraction(24)


def film(path, numbers, rate=RATE, offset=0):
    """Write these pictures of a moving texture, each at its own time."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("ffv1", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "gray"
        stream.codec_context.time_base = 1 / rate
        for number in numbers:
            part = np.ascontiguousarray(TEXTURE[:48, 2 * number : 2 * number + 64])
            frame = av.VideoFrame.from_ndarray(part, format="gray")
            frame.pts, frame.time_base = number - offset, 1 / rate
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def disagreeing(warnings):
    """Return the frame from which on times disagree, and how many pairs, as warnings say."""
    found = [re.search(r"from frame (\d+) on, .* the times of (\d+) pair", one) for one in warnings]
    return [tuple(map(int, one.groups())) for one in found if one]


@pytest.fixture
def reference(tmp_path):
    return film(tmp_path / "reference.mkv", range(24))


@pytest.mark.parametrize("last", [24, 25, 22])  # fewer frames, as many, and fewer still
@pytest.mark.parametrize("swapped", [False, True])
def test_a_frame_that_is_missing(tmp_path, reference, last, swapped):
    gap = film(tmp_path / "gap.mkv", [n for n in range(last) if n != 7])
    pair = (gap, reference) if swapped else (reference, gap)
    result = score_files(*pair, metrics="psnr", device="cpu")
    assert disagreeing(result.warnings) == [(7, last - 1 - 7)]
    assert result.summary.drift.number == 7


def test_what_does_not_disagree(tmp_path, reference):
    late = film(tmp_path / "late.mkv", range(3, 24), offset=3)  # by a constant
    found = score_files(reference, late, metrics="psnr", device="cpu", offset=-3)
    assert found.summary.frames == 21 and disagreeing(found.warnings) == []
    holes = [n for n in range(20) if n not in (5, 6, 12)]
    one, other = film(tmp_path / "a.mkv", holes), film(tmp_path / "b.mkv", holes)
    assert disagreeing(score_files(one, other, metrics="psnr", device="cpu").warnings) == []


def test_frames_that_come_slowly_apart(tmp_path):
    one = film(tmp_path / "one.mkv", range(48))
    other = film(tmp_path / "other.mkv", range(48), rate=Fraction(2390, 100))
    # frame n at n / 24 and n / 23.9: half a frame apart from n = 119.5 on, so not within 48 …
    assert disagreeing(score_files(one, other, metrics="psnr", device="cpu").warnings) == []
    faster = film(tmp_path / "faster.mkv", range(48), rate=Fraction(25))
    # … and n (1/24 − 1/25) reaches 1/48 at n = 12.5; Matroska rounds to 1 ms
    found = score_files(one, faster, metrics="psnr", device="cpu").warnings
    assert disagreeing(found) == [(13, 35)]
    assert found[-1].endswith("lacks frames of the other one, or has another rate")


def test_aligned_films(tmp_path, reference):
    gap = film(tmp_path / "gap.mkv", [n for n in range(3, 24) if n != 15])
    result = score_files(reference, gap, metrics="psnr", device="cpu", align=True)
    assert result.offset == -3 and disagreeing(result.warnings) == [(15, 8)]


def test_films_that_are_too_short_to_be_aligned(tmp_path):
    short = film(tmp_path / "short.mkv", range(6))
    (said,) = score_files(short, short, metrics="psnr", device="cpu", align=True).warnings
    assert "too short for align: it needs more than 8 frames" in said and "within 0" not in said


def test_a_film_without_times(tmp_path, reference):
    gap = film(tmp_path / "gap.mkv", [n for n in range(24) if n != 7])
    frames = b"".join(
        b"FRAME\n" + np.ascontiguousarray(TEXTURE[:48, 2 * n : 2 * n + 64]).tobytes()
        for n in range(24)
        if n != 7
    )
    plain = tmp_path / "gap.y4m"
    plain.write_bytes(b"YUV4MPEG2 W64 H48 F24:1 Cmono\n" + frames)
    assert disagreeing(score_files(gap, plain, metrics="psnr", device="cpu").warnings) == []


def test_each_pair_of_a_list(tmp_path, reference):
    gap = film(tmp_path / "gap.mkv", [n for n in range(24) if n != 7])
    job = ScoreJob(reference=reference, distorted=gap, metrics=("psnr",), device="cpu")
    (found,) = score_pairs([job])
    assert disagreeing(found.warnings) == [(7, 16)]


@pytest.mark.slow
def test_parts_of_several_workers_and_a_report(tmp_path):
    reference = film(tmp_path / "reference.mkv", range(32))
    gap = film(tmp_path / "gap.mkv", [n for n in range(32) if n != 7])
    job = ScoreJob(reference=reference, distorted=gap, metrics=("psnr",), workers=2, device="cpu")
    result = run(job)
    assert disagreeing(result.warnings) == [(7, 24)] and result.summary.drift.number == 7
    report = compare_files(reference, [gap], tmp_path / "r.html", metrics="psnr", device="cpu")
    assert disagreeing(report.warnings) == [(7, 24)]
