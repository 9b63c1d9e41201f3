"""One blur for a whole film: what is estimated, when it is doubted, and the step that undoes it."""

from __future__ import annotations

import av
import numpy as np
import pytest
from scipy import ndimage

from snellen.errors import InputError, SnellenError
from snellen.frames.frame import Format, Frame
from snellen.jobs import Encoding, Enhancement, UpscaleJob, VideoOptions, run
from snellen.jobs.kinds import film_blur
from snellen.jobs.runs.upscale_video import settled
from snellen.mia.result import IMPLAUSIBLE, RESTORED, SHARP, Restored
from support.heard import Heard
from support.video.clips import luma, read

SIDE = 15


def gaussian(sigma, shift=0):
    x = np.arange(SIDE) - SIDE // 2
    line = np.exp(-0.5 * ((x - shift) / sigma) ** 2)
    return np.outer(line, line) / line.sum() ** 2


def strokes(random, blur, frames=8):
    """Planes of a moving page of random blocks, blurred."""
    page = np.kron(random.integers(20, 230, (40, 60)), np.ones((9, 7)))
    planes = []
    for at in range(frames):
        part = page[3 * at : 3 * at + 240, 4 * at : 4 * at + 320]
        soft = ndimage.gaussian_filter(part, blur) if blur else part
        noisy = soft + random.normal(0, 0.7, part.shape)
        planes.append(np.clip(np.rint(noisy), 0, 255).astype(np.uint8))
    return planes


def film(path, planes, codec="ffv1"):
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=24)
        stream.height, stream.width = planes[0].shape
        stream.pix_fmt = "gray"
        for plane in planes:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(plane, "gray")))
        out.mux(stream.encode())
    return path


@pytest.fixture
def answers(monkeypatch):
    """Let the search of each frame, in its turn, answer this; returns what was asked."""

    def answers(*found):
        asked, left = [], list(found)

        def deblur(plane, **settings):
            asked.append(plane)
            outcome, psf = left.pop(0)
            return Restored(plane, psf, 0.0, 1, outcome=outcome)

        monkeypatch.setattr(film_blur, "deblur", deblur)
        return asked

    return answers


def test_frames_that_agree(random, answers):
    """The mean, the same from both sides, whichever way one frame has moved."""
    asked = answers(
        (RESTORED, gaussian(1.5, 0.3)), (SHARP, gaussian(0.1)), (RESTORED, gaussian(1.6))
    )
    said = []
    planes = strokes(random, 1.5)
    planes[2] = strokes(random, 0.7)[2]
    psf = np.array(film_blur.estimated(planes, said.append))
    assert asked[0] is planes[2] and len(asked) == 3
    np.testing.assert_array_equal(psf, psf[::-1, ::-1])
    assert (psf * gaussian(1.55)).sum() > 0.98 * np.sqrt(
        (psf**2).sum() * (gaussian(1.55) ** 2).sum()
    )
    assert "15×15 (σ 1.5 across, 1.5 down)" in said[0] or "σ 1.6 across" in said[0]


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("found", "says"),
    [
        ([(SHARP, None)] * 3, "have no blur"),
        ([(IMPLAUSIBLE, None), (SHARP, None), (SHARP, None)], "too much noise, or no blur"),
        ([(RESTORED, gaussian(2)), (SHARP, None), (SHARP, None)], "share no blur"),
        (
            [(RESTORED, np.eye(SIDE)), (RESTORED, np.eye(SIDE)[::-1]), (SHARP, None)],
            "share no blur",
        ),
    ],
)
def test_frames_that_do_not(random, answers, found, says):
    answers(*found)
    said = []
    assert film_blur.estimated(strokes(random, 1), said.append) is None
    assert says in said[0] and "nothing is undone" in said[0]


def test_flat_films_and_single_frames(random, answers):
    said = []
    assert film_blur.estimated([np.full((40, 50), 9, np.uint8)] * 3, said.append) is None
    assert film_blur.estimated([], said.append) is None
    assert all("flat" in text for text in said)
    answers((RESTORED, gaussian(1)))
    assert film_blur.estimated(strokes(random, 1, 1), said.append) is not None


@pytest.mark.slow
def test_a_film_without_blur_stays_as_it_is(random, tmp_path, answers):
    answers(*[(SHARP, None)] * 3)
    source = film(tmp_path / "in.mkv", strokes(random, 0))
    made = []
    for name, options in (("plain", {}), ("asked", {"deblur": "auto"})):
        notes = Heard()
        job = UpscaleJob(
            source=source, target=tmp_path / f"{name}.mkv", model="t91-x2", device="cpu",
            video=VideoOptions(encoding=Encoding("ffv1")), enhancement=Enhancement(**options),
        )  # fmt: skip
        result = run(job, notes)
        made.append([luma(frame) for frame in read(job.target).frames])
    assert [text for text in notes.notices if "have no blur" in text]
    assert result.summary.chain == ()
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize("crop", ["auto", "320:240:0:32"])
def test_it_is_looked_for_inside_the_bars(random, tmp_path, answers, crop):
    """A frame with bars of 32 rows, which `crop` leaves out."""
    planes = [np.pad(one, ((32, 32), (0, 0)), constant_values=16) for one in strokes(random, 1.5)]
    asked = answers(*[(RESTORED, gaussian(1.5))] * 3)
    job = UpscaleJob(
        source=film(tmp_path / "in.mkv", planes), target=tmp_path / "out.mkv", device="cpu",
        enhancement=Enhancement(deblur="auto", crop=crop),
    )  # fmt: skip
    found = settled(job, Heard()).enhancement
    assert (found.crop, len(found.deblur)) == (crop, SIDE)
    assert [plane.shape for plane in asked] == [(240, 320)] * 3


def test_the_psf_is_written(random, tmp_path, answers):
    """Not by a dry run; and not over the film, or a file that is there."""
    source, out = film(tmp_path / "in.mkv", strokes(random, 1.5)), tmp_path / "psf.npy"

    def job(out, **how):
        return UpscaleJob(source=source, target=tmp_path / "out.mkv", device="cpu", **how,
                          enhancement=Enhancement(deblur="auto", deblur_psf_out=out))  # fmt: skip

    for dry in (True, False):
        answers(*[(RESTORED, gaussian(1.5))] * 3)
        found = settled(job(out), Heard(), dry=dry).enhancement
        assert out.exists() != dry
        assert found.deblur_psf_out is None
    np.testing.assert_allclose(np.load(out), gaussian(1.5), atol=1e-4)
    step = film_blur.step_of(out, "cpu")
    step.close()
    answers(*[(RESTORED, gaussian(1.5))] * 3)
    settled(job(out), Heard())  # as a run that was killed goes on
    out.write_bytes(b"another one")
    answers(*[(RESTORED, gaussian(1.5))] * 3)
    with pytest.raises(SnellenError, match="exists"):
        settled(job(out), Heard())
    assert out.read_bytes() == b"another one"
    for wrong, how in (("psf.jpg", {"deblur": "auto"}), ("psf.npy", {"deblur": "p.npy"})):
        with pytest.raises(InputError) as caught:
            Enhancement(deblur_psf_out=wrong, **how)
        assert caught.value.parameter == "deblur_psf_out"


def test_the_step_undoes_a_given_blur(random):
    """Of the squared error at most three fifths are left; chroma stays; frame by frame."""
    sharp = np.kron(random.integers(4, 20, (8, 10)) * 40, np.ones((10, 10)))
    soft = np.rint(ndimage.gaussian_filter(sharp, 1.2, mode="nearest")).astype(np.uint16)
    step = film_blur.step_of(tuple(map(tuple, gaussian(1.2).tolist())), "cpu")
    format = Format(100, 80, 10, (1, 1))
    assert step.prepare(format) == format
    chroma = np.full((40, 50), 300, np.uint16)
    found = [step.run(Frame((soft, chroma, chroma), pts)).planes for pts in (3, 1, 3)]
    step.close()
    inside = (slice(8, -8),) * 2
    errors = [((plane - sharp)[inside] ** 2).mean() for plane in (soft.astype(float), found[0][0])]
    assert errors[1] < 0.6 * errors[0]
    np.testing.assert_array_equal(found[0][0], found[2][0])
    np.testing.assert_array_equal(found[0][1], chroma)
    assert step.traits.label == "deblur 15×15"


def test_values(tmp_path):
    assert Enhancement(deblur="auto").deblur == "auto"
    assert Enhancement(deblur="psf.npy").files() == {"deblur": Enhancement(deblur="psf.npy").deblur}
    rows = Enhancement(deblur=gaussian(1)).deblur
    job = UpscaleJob(source="a.mkv", target="b.mkv", enhancement=Enhancement(deblur=rows))
    assert UpscaleJob.from_json(job.to_json()) == job
    for wrong in (3, np.zeros((3, 3)), [[1, 2], [3]], {"a": 1}):
        with pytest.raises(InputError) as caught:
            Enhancement(deblur=wrong)
        assert caught.value.parameter == "deblur"
    with pytest.raises(InputError, match="one for the whole film"):
        film_blur.step_of(tuple(gaussian(1)[None].tolist()), "cpu")
    for source in ("-", str(tmp_path / "none.mkv")):
        job = UpscaleJob(source=source, target=tmp_path / "out.mkv",
                         enhancement=Enhancement(deblur="auto"))  # fmt: skip
        with pytest.raises(InputError, match="expected a video file"):
            settled(job, Heard())


@pytest.mark.slow
def test_a_soft_film_becomes_sharper(monkeypatch):
    """By a real search. A third of the squared error, at the source's size, is gone."""
    monkeypatch.setattr(film_blur, "FRAMES", 1)
    sharp, soft = (strokes(np.random.default_rng(3), blur, 4) for blur in (0, 1.5))
    said = []
    rows = film_blur.estimated(soft, said.append)
    assert "was found" in said[0]
    step = film_blur.step_of(rows, "cpu")
    step.prepare(Format(320, 240, 8, None, full_range=True))
    found = step.run(Frame((soft[1],))).planes[0].astype(float)
    step.close()
    inside = (slice(16, -16),) * 2
    before, after = (
        ((one - sharp[1])[inside] ** 2).mean() for one in (soft[1].astype(float), found)
    )
    assert after < before * 2 / 3
