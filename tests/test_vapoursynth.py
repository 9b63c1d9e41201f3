"""snellen.vapoursynth: clips of scripts, and vspipe into the real ffmpeg program."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import snellen
from snellen.errors import InputError, ModelError

vs = pytest.importorskip("vapoursynth", exc_type=ImportError)
from snellen import vapoursynth as ours  # noqa: E402  after the skip

WIDTH, HEIGHT, FRAMES = 96, 64, 5
ROOT = Path(__file__).parents[1]


def clip_of(random, name="YUV420P8", width=WIDTH, height=HEIGHT, frames=FRAMES, **properties):
    """A clip of noise that is smooth enough to be a picture."""
    format = getattr(vs, name.replace("Gray", "GRAY"))
    blank = vs.core.std.BlankClip(
        format=format, width=width, height=height, length=frames, fpsnum=25, keep=True
    )
    top = (1 << blank.format.bits_per_sample) - 1
    kept = []

    def filled(n, f):
        frame = f.copy()
        for number, plane in enumerate(kept[n]):
            np.asarray(frame[number])[:] = plane
        return frame

    for _ in range(frames):
        shapes = [np.asarray(plane).shape for plane in blank.get_frame(0)]
        noise = [random.random((h // 4 + 1, w // 4 + 1)) for h, w in shapes]
        kept.append(
            [
                (np.kron(one, np.ones((4, 4)))[:h, :w] * top).astype(int)
                for one, (h, w) in zip(noise, shapes, strict=True)
            ]
        )
    made = blank.std.ModifyFrame(clips=blank, selector=filled)
    return made.std.SetFrameProps(**properties) if properties else made


def y4m(clip):
    out = io.BytesIO()
    clip.output(out, y4m=True)
    return out.getvalue()


def samples(data):
    """The frames of a y4m file, without its headers."""
    return data.partition(b"\n")[2].split(b"FRAME\n")[1:]


def planes(frame):
    return [np.asarray(plane).copy() for plane in frame]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place"), [("YUV420P8", 1), ("YUV420P10", 0), ("YUV444P16", 0), ("Gray16", None)]
)
def test_upscaling_is_that_of_films_to_the_bit(random, tmp_path, backend, name, place):
    properties = {} if place is None else {"_ChromaLocation": place}  # as FFmpeg reads a y4m
    clip = clip_of(random, name, **properties)
    larger = ours.upscale(clip, 2, device=backend)
    assert (larger.width, larger.height, larger.num_frames) == (2 * WIDTH, 2 * HEIGHT, FRAMES)
    assert larger.format.name == name and larger.fps == clip.fps
    (tmp_path / "a.y4m").write_bytes(y4m(clip))
    snellen.upscale_file(
        tmp_path / "a.y4m", tmp_path / "b.y4m", 2, source_kind="clean", device=backend
    )
    wanted = samples((tmp_path / "b.y4m").read_bytes())
    assert samples(y4m(larger)) == wanted and len(wanted) == FRAMES


def test_the_property_says_where_chroma_lies(random):
    state = random.bit_generator.state
    found = []
    for place in (0, 1):
        random.bit_generator.state = state
        clip = clip_of(random, frames=1, _ChromaLocation=place)
        found.append(planes(ours.upscale(clip, device="cpu").get_frame(0)))
    assert (found[0][0] == found[1][0]).all() and (found[0][1] != found[1][1]).any()


@pytest.mark.slow
def test_properties_are_kept(random):
    clip = clip_of(random, _ChromaLocation=2, _Matrix=1, _Range=1, Name="x", Numbers=[1, 2, 3])
    for one in (
        ours.upscale(clip, 3, device="cpu"),
        ours.deblur(clip, device="cpu", iterations=1, psf_size=3),
    ):
        assert dict(one.get_frame(1).props) == dict(clip.get_frame(1).props)


def test_several_requests_are_in_flight(random, monkeypatch):
    """Two frames are in work at once: each waits for the other one."""
    barrier, run = Barrier(2, timeout=60), ours.Upscaler.run

    def together(self, frame):
        barrier.wait()
        return run(self, frame)

    clip = clip_of(random, frames=6)
    wanted = [planes(clip.get_frame(n)) for n in range(6)]
    monkeypatch.setattr(ours.Upscaler, "run", together)
    larger = ours.upscale(clip, device="cpu")
    asked = [larger.get_frame_async(n) for n in (5, 4, 1, 0, 3, 2)]
    for n, frame in zip((5, 4, 1, 0, 3, 2), asked, strict=True):
        luma = np.asarray(frame.result()[0])
        small = luma.reshape(HEIGHT, 2, WIDTH, 2).mean((1, 3))
        assert np.abs(small - wanted[n][0]).mean() < 12  # every other frame is 80 away


@pytest.mark.slow
@pytest.mark.parametrize("name", ["YUV420P8", "Gray10"])
def test_deblurring_is_that_of_films_to_the_bit(random, tmp_path, name):
    how = {"iterations": 3, "psf_size": 5, "tv": 0.002, "device": "cpu"}
    clip = clip_of(random, name, frames=2)
    (tmp_path / "a.y4m").write_bytes(y4m(clip))
    snellen.deblur_file(tmp_path / "a.y4m", tmp_path / "b.y4m", **how)
    wanted = samples((tmp_path / "b.y4m").read_bytes())
    assert samples(y4m(ours.deblur(clip, **how))) == wanted


def test_the_range_says_where_black_is(random):
    state, found = random.bit_generator.state, []
    for properties in ({}, {"_Range": 0}, {"_Range": 1}):
        random.bit_generator.state = state
        clip = clip_of(random, frames=1, **properties)
        found.append(planes(ours.deblur(clip, device="cpu", iterations=2).get_frame(0))[0])
    assert (found[0] == found[1]).all() and (found[1] != found[2]).any()


def test_scores_are_those_of_films(random, tmp_path, backend):
    clip = clip_of(random, "YUV420P10", frames=3)
    worse = clip.std.BoxBlur(planes=0)
    (tmp_path / "a.y4m").write_bytes(y4m(clip))
    (tmp_path / "b.y4m").write_bytes(y4m(worse))
    found = snellen.score_files(tmp_path / "a.y4m", tmp_path / "b.y4m", device=backend)
    scored = ours.score(clip, worse, device=backend)
    for n, row in enumerate(found.table.rows):
        properties = scored.get_frame(n).props
        assert (properties["MAD"], properties["HI"], properties["LO"]) == (row.mad, row.hi, row.lo)
        assert planes(scored.get_frame(n))[1].tolist() == planes(worse.get_frame(n))[1].tolist()
    assert properties["MAD"] > 1


def bad_clips():
    blank = vs.core.std.BlankClip
    return {
        "RGB24": blank(format=vs.RGB24),
        "YUV444PS": blank(format=vs.YUV444PS),
        "Gray32": blank(format=vs.GRAY32),
        "vary in format": blank(format=vs.YUV420P8, varformat=True),
        "or size": blank(format=vs.YUV420P8, varsize=True),
        "got ndarray": np.zeros((48, 64), np.uint8),
    }


@pytest.mark.cases
@pytest.mark.parametrize("what", bad_clips())
def test_other_clips_are_refused_at_once(what):
    clip = bad_clips()[what]
    for function in (ours.upscale, ours.deblur, lambda one: ours.score(one, one)):
        with pytest.raises(InputError, match=what):
            function(clip)


def test_wrong_settings_are_refused_at_once(random):
    clip = clip_of(random)
    with pytest.raises(ModelError, match="scale=5; expected one of 2, 3, 4"):
        ours.upscale(clip, 5)
    with pytest.raises(InputError, match="got sharpness; expected some of dtype, edges"):
        ours.deblur(clip, sharpness=3)
    with pytest.raises(InputError, match="noise='x'"):
        ours.deblur(clip, noise="x")
    with pytest.raises(InputError, match="one size, depth and number of frames"):
        ours.score(clip, clip[:2])
    with pytest.raises(InputError, match="got fast; expected some of dtype"):
        ours.score(clip, clip, fast=True)
    small = vs.core.std.BlankClip(format=vs.GRAY8, width=30, height=30)
    with pytest.raises(InputError, match="34×34"):
        ours.score(small, small)


def test_interlaced_frames_are_refused(random):
    clip = clip_of(random).std.SetFieldBased(2)
    with pytest.raises(vs.Error, match=r"frame 3 is interlaced .*std\.SetFieldBased"):
        ours.upscale(clip, device="cpu").get_frame(3)


SCRIPT = """
import vapoursynth as vs
import snellen.vapoursynth as s

clip = vs.core.std.BlankClip(format=vs.YUV420P8, width=64, height=48, length=4, color=[90, 80, 99])
s.upscale(clip, 2, device="cpu").set_output()
"""


def test_vspipe_into_ffmpeg(tmp_path):
    """As docs/recipes.md says it; vspipe wants its configuration to be written once."""
    if (ffmpeg := shutil.which("ffmpeg")) is None:
        pytest.skip("there is no ffmpeg program here")
    (tmp_path / "script.vpy").write_text(SCRIPT)
    folder = str(Path(sys.executable).parent)
    place = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    place |= {"XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    how = {"env": os.environ | place, "cwd": tmp_path, "timeout": 120, "check": True}
    subprocess.run([f"{folder}/vapoursynth", "config"], capture_output=True, **how)
    piped = subprocess.run(
        [f"{folder}/vspipe", "-c", "y4m", "script.vpy", "-"], capture_output=True, **how
    )
    words = ["-loglevel", "error", "-f", "yuv4mpegpipe", "-i", "-", "-c:v", "ffv1", "film.mkv"]
    subprocess.run([ffmpeg, *words], input=piped.stdout, **how)
    back = subprocess.run(
        [ffmpeg, "-loglevel", "error", "-i", "film.mkv", "-f", "rawvideo", "-"],
        capture_output=True, **how,
    )  # fmt: skip
    assert back.stdout == b"".join(samples(piped.stdout))
    assert len(back.stdout) == 4 * 128 * 96 * 3 // 2
