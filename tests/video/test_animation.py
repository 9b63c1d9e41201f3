"""Films as animated GIF, WebP and AVIF."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError, OutputError
from snellen.frames.frame import Format, Frame
from snellen.video.convert import Encoding
from snellen.video.sink.pictures import rgb
from support.video.clips import make, picture
from support.video.converting import convert
from support.video.steps import Nearest

QUICK = Encoding(preset="11")


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    return make(tmp_path_factory.mktemp("film") / "film.mkv", codec="ffv1", frames=6, audio="aac",
                tags={"title": "A film"})  # fmt: skip


def shown(path):
    """Return the frames as RGB, and their durations in milliseconds."""
    with Image.open(path) as file:
        found = []
        for number in range(file.n_frames):
            file.seek(number)
            found.append((np.asarray(file.convert("RGB")).astype(int), file.info["duration"]))
    return found


def expected(number):
    planes = tuple(np.from_dlpack(plane) for plane in picture(number).planes)
    return rgb(Frame(planes, 0, 1), Format(64, 48, 8, (1, 1)), (6, False)).astype(int)


def test_gif(film, tmp_path):
    summary = convert(film, tmp_path / "out.gif", Nearest(1))
    assert (summary.encoder, summary.pixel_format, summary.frames) == ("gif", "rgb24", 6)
    assert ".gif holds 256 colours a picture: others are dithered" in summary.dropped
    assert "audio stream 1 (aac, eng): .gif cannot hold it" in summary.dropped
    assert "tags that .gif cannot hold: title" in summary.dropped
    frames = shown(tmp_path / "out.gif")
    assert [time for _, time in frames] == [40] * 6
    for number, (samples, _) in enumerate(frames):
        # Dithering changes pixels by a step of the palette, but hardly their mean.
        error = samples - expected(number)
        assert abs(error.mean()) < 1
        assert np.abs(error).mean() < 8


@pytest.mark.slow
def test_webp(film, tmp_path):
    convert(film, tmp_path / "out.webp", Nearest(1), quality=100)
    frames = shown(tmp_path / "out.webp")
    assert [time for _, time in frames] == [40] * 6
    for number, (samples, _) in enumerate(frames):
        assert np.array_equal(samples, expected(number))
    convert(film, tmp_path / "lossy.webp", Nearest(1))
    assert np.abs(shown(tmp_path / "lossy.webp")[3][0] - expected(3)).mean() < 6
    size = [(tmp_path / name).stat().st_size for name in ("lossy.webp", "out.webp")]
    convert(film, tmp_path / "low.webp", Nearest(1), quality=20)
    assert (tmp_path / "low.webp").stat().st_size < size[0]


@pytest.mark.slow
def test_avif(film, tmp_path):
    summary = convert(film, tmp_path / "out.avif", Nearest(2), encoding=QUICK)
    assert summary.encoder == "libsvtav1"
    assert "audio stream 1 (aac, eng): .avif cannot hold it" in summary.dropped
    with Image.open(tmp_path / "out.avif") as file:
        assert (file.n_frames, file.size) == (6, (128, 96))


@pytest.mark.slow
def test_times_of_gif_are_those_of_the_film(tmp_path):
    source = make(tmp_path / "in.mkv", codec="ffv1", rate=Fraction(30), frames=7)
    convert(source, tmp_path / "out.gif", Nearest(1))
    times = [time for _, time in shown(tmp_path / "out.gif")]
    assert set(times) == {30, 40}
    assert sum(times[:6]) == 200
    fast = make(tmp_path / "fast.mkv", codec="ffv1", rate=Fraction(60), frames=3)
    assert any("50 frames a second" in one
               for one in convert(fast, tmp_path / "f.gif", Nearest(1)).dropped)  # fmt: skip


def test_one_picture_has_no_rate(tmp_path):
    """FFmpeg states 100 frames a second of a GIF without a second picture."""
    Image.new("RGB", (64, 48)).save(tmp_path / "in.gif")
    summary = convert(tmp_path / "in.gif", tmp_path / "out.gif", Nearest(1))
    assert summary.dropped == (".gif holds 256 colours a picture: others are dithered",)


@pytest.mark.slow
def test_grey_and_deep(tmp_path):
    for kind in ("gray", "yuv444p10le"):
        source = make(tmp_path / f"{kind}.mkv", codec="ffv1", pix_fmt=kind, frames=2)
        for suffix in (".gif", ".webp"):
            target = tmp_path / f"{kind}{suffix}"
            summary = convert(source, target, Nearest(1))
            assert len(shown(target)) == 2
            halved = any("halves the chroma" in one for one in summary.dropped)
            assert halved == (kind != "gray" and suffix == ".webp")


class Fails(Nearest):
    """Fails at the second frame."""

    def run(self, frame, *args):
        if frame.pts:
            raise OutputError("no more")
        return super().run(frame, *args)


@pytest.mark.parametrize("suffix", [".gif", ".webp"])
def test_after_an_error_there_is_nothing(film, tmp_path, suffix):
    with pytest.raises(OutputError, match="no more"):
        convert(film, tmp_path / f"out{suffix}", Fails())
    assert not list(tmp_path.iterdir())


def test_what_is_refused(film, tmp_path):
    with pytest.raises(InputError, match=r"which pictures \(\.gif\) do not have"):
        convert(film, tmp_path / "out.gif", Nearest(), encoding=Encoding("libx264"))
    with pytest.raises(InputError, match="strict"):
        convert(film, tmp_path / "out.gif", Nearest(), strict=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_animation_stays_one(tmp_path):
    frames = [Image.new("RGB", (16, 12), (40 * n, 90, 20)) for n in range(4)]
    frames[0].save(tmp_path / "in.gif", save_all=True, append_images=frames[1:], duration=100)
    snellen.upscale_file(tmp_path / "in.gif", tmp_path / "out.gif", device="cpu")
    found = shown(tmp_path / "out.gif")
    assert [time for _, time in found] == [100] * 4
    assert found[0][0].shape == (24, 32, 3)


def test_an_animation_as_a_film_has_chroma_of_full_resolution(tmp_path):
    """As pictures have it; who names the pixels knows."""
    frames = [Image.new("RGB", (16, 12), (40 * n, 90, 20)) for n in range(2)]
    frames[0].save(tmp_path / "in.gif", save_all=True, append_images=frames[1:], duration=100)
    said = "few players play chroma of full resolution (4:4:4): `pix_fmt`=yuv420p halves it"
    found = convert(tmp_path / "in.gif", tmp_path / "out.mp4", Nearest())
    assert said in found.warnings and found.pixel_format == "yuv444p"
    halved = convert(
        tmp_path / "in.gif", tmp_path / "half.mp4", Nearest(), encoding=Encoding(pix_fmt="yuv420p")
    )
    assert said not in halved.warnings
