"""Enhancement of films: options as values, the order of the steps, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from snellen.errors import InputError, SnellenError
from snellen.jobs import Clip, Enhancement, Job, UpscaleJob, VideoOptions, run
from snellen.jobs.calls.dry import dry_run
from snellen.schema import named
from support import lut
from support.heard import Heard
from support.video.clips import luma, make, picture, read


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """Three frames, exactly `picture(0)` … `picture(2)`."""
    return make(tmp_path_factory.mktemp("enhance") / "in.mkv", codec="ffv1", frames=3)


def enhanced(film, tmp_path, **options):
    """Run a job; return its summary, what was said, and what was written."""
    from snellen.jobs import Encoding, VideoOptions

    target, notes = tmp_path / "out.mkv", Heard()
    job = UpscaleJob(
        source=film, target=target, model="t91-x2", device="cpu",
        video=VideoOptions(encoding=Encoding("ffv1")), enhancement=Enhancement(**options),
    )  # fmt: skip
    result = run(Job.from_json(job.to_json()), notes)
    return result.summary, notes, read(target)


def test_nothing_is_the_default():
    assert not Enhancement()
    assert Enhancement(crop="8:8:0:0")
    assert named(Enhancement(crop="8:8:0:0")) == ("crop",)


@pytest.mark.slow
def test_a_part_is_enlarged(film, tmp_path):
    """As that part alone is, but for what the method sees beyond it."""
    summary, notes, found = enhanced(film, tmp_path, crop="32:24:8:4")
    assert summary.chain == (
        "64×48 4:2:0 8 bit", "crop 32:24:8:4", "32×24 4:2:0 8 bit", "upscale ×2",
        "64×48 4:2:0 8 bit",
    )  # fmt: skip
    assert notes.notices[-1] == "chain: " + " → ".join(summary.chain)
    expected = luma(picture(0))[4:28, 8:40].repeat(2, 0).repeat(2, 1)
    assert np.abs(luma(found.frames[0])[8:-8, 8:-8].astype(int) - expected[8:-8, 8:-8]).mean() < 4


@pytest.mark.cases
@pytest.mark.parametrize(
    ("crop", "words"),
    [
        ("", "W:H:X:Y"),
        ("32x24", "W:H:X:Y"),
        ("0:24:0:0", "W:H:X:Y"),
        ("32:24:8", "W:H:X:Y"),
        ("32:24:8:26", "beyond"),
        ("32:24:7:4", "32:24:8:4|30:24:8:4"),
        ("31:24:8:4", "30:24:8:4"),
    ],
)
def test_a_wrong_part(film, tmp_path, crop, words):
    with pytest.raises(InputError, match=words) as caught:
        enhanced(film, tmp_path, crop=crop)
    assert caught.value.parameter == "crop"
    assert not (tmp_path / "out.mkv").exists()


@pytest.fixture
def grey(tmp_path):
    """A table that makes all colours grey, and doubles nothing else."""
    path = tmp_path / "grey.cube"
    table = lut.identity(2) @ np.outer([0.2126, 0.7152, 0.0722], np.ones(3))
    path.write_text(lut.text(table))
    return path


def test_a_table_of_colours(film, tmp_path, grey):
    """Luma stays, chroma goes; the film states no matrix, and the guess is said."""
    _, _, plain = enhanced(film, tmp_path, crop="64:48:0:0")
    (tmp_path / "out.mkv").unlink()
    summary, notes, found = enhanced(film, tmp_path, lut=grey, lut_matrix="bt709")
    assert summary.chain[-2:] == ("128×96 4:2:0 8 bit", "lut")
    assert not [text for text in notes.notices if "matrix" in text]
    for got, given in zip(found.frames, plain.frames, strict=True):
        planes = got.to_ndarray().reshape(-1, 128)
        assert (planes[96:] == 128).all()
        assert np.abs(luma(got).astype(int) - luma(given)).mean() < 1  # some colours are clipped
    (tmp_path / "out.mkv").unlink()
    _, notes, _ = enhanced(film, tmp_path, lut=grey)
    assert [text for text in notes.notices if "bt601 is assumed, by its size of 64×48" in text]


def test_a_table_is_no_output(film, tmp_path, grey):
    """The option is checked at the door, the file before anything is written; and it stays."""
    for options in ({"lut_matrix": "bt709"}, {"lut": grey, "lut_matrix": "ycgco"}):
        with pytest.raises(InputError) as caught:
            Enhancement(**options)
        assert caught.value.parameter == "lut_matrix"
    with pytest.raises(InputError, match=r"broken\.cube, line 1"):
        (tmp_path / "broken.cube").write_text("nothing of that kind")
        enhanced(film, tmp_path, lut=tmp_path / "broken.cube")
    assert not (tmp_path / "out.mkv").exists()
    before, goal = grey.read_bytes(), tmp_path / "out.mkv"
    goal.hardlink_to(grey)
    job = UpscaleJob(source=film, target=goal, device="cpu", overwrite=True,
                     enhancement=Enhancement(lut=grey))  # fmt: skip
    with pytest.raises(SnellenError, match="is the input itself"):
        run(job, Heard())
    assert grey.read_bytes() == before


def test_segments_depend_on_the_table(film, tmp_path, grey):
    """By its contents, whatever it is called."""
    from snellen.jobs.runs.upscale_video import models_of
    from snellen.jobs.sharing.segments import segments_of
    from snellen.video.segments.manifest import differences

    def facts():
        job = UpscaleJob(
            source=film, target=tmp_path / "out.mkv", enhancement=Enhancement(lut=grey)
        )
        return segments_of(job, models_of(job), Heard())().job

    one = facts()
    grey.write_text(grey.read_text() + "\n")
    assert differences(one, facts()) == ["the file of `lut` has changed"]


@pytest.mark.slow
def test_grain_of_segments_is_that_of_one_piece(tmp_path, monkeypatch):
    """Also where decoding begins before a cut; and it is the grain of the frames' times."""
    from snellen.jobs import Encoding, VideoOptions
    from snellen.video.segments import cuts

    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    source = make(tmp_path / "in.mkv", codec="libx264", frames=90, options={"g": "10"})
    found = []
    for segments in (True, False):
        target, notes = tmp_path / f"{segments}.mkv", Heard()
        job = UpscaleJob(
            source=source, target=target, model="t91-x2", device="cpu", segments=segments,
            video=VideoOptions(encoding=Encoding("libx264", crf=0)),
            enhancement=Enhancement(grain=4, grain_seed=3),
        )  # fmt: skip
        run(job, notes)
        assert segments == any("segments" in text for text in notes.notices)
        found.append([luma(frame) for frame in read(target).frames])
    assert len(found[0]) == len(found[1]) == 90
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    flat = [frame.astype(float) for frame in found[0]]
    assert np.abs(flat[1] - flat[0]).mean() > 1


def test_values_of_grain(film, tmp_path):
    for options in ({"grain": 0.0}, {"grain": 65.0}, {"grain_seed": 1}):
        with pytest.raises(InputError) as caught:
            Enhancement(**options)
        assert caught.value.parameter == [*options][-1]
    summary, _, _ = enhanced(film, tmp_path, grain=2, grain_seed=9)
    assert summary.chain[-1] == "grain 2, seed 9"


@pytest.mark.slow
def test_filters_before_and_after(film, tmp_path):
    """A mirror twice is none; the encoder takes what the last step gives."""
    _, _, expected = enhanced(film, tmp_path, crop="64:48:0:0")
    (tmp_path / "out.mkv").unlink()
    summary, _, found = enhanced(film, tmp_path, vf="hflip,hflip", post_vf="vflip,vflip")
    assert summary.chain == (
        "64×48 4:2:0 8 bit", "vf hflip,hflip", "upscale ×2", "128×96 4:2:0 8 bit",
        "post-vf vflip,vflip",
    )  # fmt: skip
    assert found.times == expected.times
    for one, other in zip(found.frames, expected.frames, strict=True):
        assert (luma(one) == luma(other)).all()


def test_a_chain_is_said_as_it_was_written(tmp_path):
    """With its quotes, so that it can be used again, and with what comes before it."""
    tape = make(tmp_path / "in.mkv", codec="ffv1", frames=2, fields="woven", interlaced=True)
    written = "lutyuv=y='clip(val,20,200)',crop=iw:ih"
    job = UpscaleJob(
        source=tape, target=tmp_path / "out.mkv", model="t91-x2", device="cpu",
        video=VideoOptions(clip=Clip(deinterlace="field")), enhancement=Enhancement(vf=written),
    )  # fmt: skip
    notes = Heard()
    summary = run(job, notes).summary
    size = "64×48 4:2:0 8 bit"
    assert summary.chain[:3] == (size, "deinterlace field", f"vf {written}")
    again = replace(job, target=tmp_path / "b.mkv")
    assert dry_run(again, notes).film.chain == summary.chain


def test_what_filters_lose_is_a_loss(tmp_path):
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=2, pix_fmt="yuv420p10le")
    _, notes, _ = enhanced(film, tmp_path, vf="gradfun")
    assert any("gradfun of `vf` works on 8 bits" in one for one in notes.warnings)
    (tmp_path / "out.mkv").unlink()
    _, notes, _ = enhanced(film, tmp_path, vf="mestimate")
    assert any("not known how many frames around one mestimate" in one for one in notes.notices)


@pytest.mark.parametrize("chain", ["", "a;b", "[x]hflip", "hflip,"])
@pytest.mark.parametrize("name", ["vf", "post_vf"])
def test_no_chain_is_refused_at_the_door(name, chain):
    with pytest.raises(InputError) as caught:
        Enhancement(**{name: chain})
    assert caught.value.parameter == name


@pytest.mark.parametrize(
    "size", [(720, 576), (1278, 576), (1280, 480), (640, 578), (1920, 1080), (64, 48)]
)
def test_the_guess_of_the_matrix_is_that_of_the_output(size):
    """What players take an unspecified film for, the output states, and a table is given."""
    from snellen.frames.coding import BT709, matrix_of
    from snellen.video.sink.colour import guessed

    assert (matrix_of(2, size)[0] is BT709) == (guessed(*size) == "bt709")


def letterboxed(path, size=(64, 80)):
    """Write twelve frames with bars of sixteen rows above and below; return the path."""
    import av

    source = av.open(str(make(path.with_suffix(".avi"), codec="ffv1", frames=12)))
    out = av.open(str(path), "w")
    stream = out.add_stream("ffv1", rate=25)
    stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
    for frame in source.decode(video=0):
        tall = np.full((120, 64), 128, np.uint8)
        tall[:80] = 16
        tall[16:64] = frame.to_ndarray()[:48]
        out.mux(stream.encode(av.VideoFrame.from_ndarray(tall, "yuv420p")))
    out.mux(stream.encode(None))
    out.close()
    return path


def test_black_bars(film, tmp_path):
    bars = letterboxed(tmp_path / "in.mkv")
    summary, notes, _ = enhanced(bars, tmp_path, crop="auto")
    assert summary.chain[1:3] == ("crop 64:48:0:16", "64×48 4:2:0 8 bit")
    assert not [text for text in notes.notices if "black bars" in text]
    (tmp_path / "out.mkv").unlink()
    _, notes, _ = enhanced(bars, tmp_path)
    assert "it has black bars: `crop`=auto, or `crop`=64:48:0:16, leaves them out" in notes.notices
    (tmp_path / "out.mkv").unlink()
    summary, notes, _ = enhanced(film, tmp_path, crop="auto")
    assert "`crop`=auto: there are no black bars" in notes.notices
    (tmp_path / "out.mkv").unlink()
    _, notes, _ = enhanced(film, tmp_path)
    assert not [text for text in notes.notices if "black bars" in text]


def test_bars_of_pictures_in_files_are_not_looked_for(tmp_path):
    from PIL import Image

    from snellen.jobs import VideoOptions

    for number in range(3):
        Image.new("RGB", (32, 24), (number, 9, 9)).save(tmp_path / f"f{number}.png")
    job = UpscaleJob(
        source=tmp_path / "f%d.png", target=tmp_path / "out.mkv", device="cpu", model="t91-x2",
        video=VideoOptions(fps=Fraction(25)), enhancement=Enhancement(crop="auto"),
    )  # fmt: skip
    with pytest.raises(InputError, match="beforehand") as caught:
        run(job, Heard())
    assert caught.value.parameter == "crop"


def test_segments_depend_on_files_of_chains(tmp_path):
    text = f"lut3d={tmp_path / 'a.cube'},lut1d=file={tmp_path / 'b.cube'}"
    assert Enhancement(vf=text, post_vf="lut1d=c.cube").files() == {
        "vf": tmp_path / "a.cube", "vf (2)": tmp_path / "b.cube", "post_vf": Path("c.cube"),
    }  # fmt: skip


def test_an_image_is_not_enhanced_and_that_is_said(tmp_path):
    from PIL import Image

    Image.new("RGB", (32, 24), (9, 90, 200)).save(tmp_path / "in.png")
    job = UpscaleJob(
        source=tmp_path / "in.png", target=tmp_path / "out.png", device="cpu", model="t91-x2",
        enhancement=Enhancement(vf="hflip", deband=True),
    )  # fmt: skip
    result = run(job, notes := Heard())
    assert (result.width, result.height) == (64, 48)
    assert [text for text in notes.warnings if text.startswith("`vf` is for video")]
    assert [text for text in notes.warnings if text.startswith("`deband` is for video")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "segmented"),
    [
        ({"denoise": "medium", "deband": True, "crop": "60:40:2:4"}, True),
        ({"vf": "fps=40"}, True),
        ({"vf": "noise=alls=9:allf=t"}, False),
    ],
)
def test_segments_are_as_one_piece(tmp_path, monkeypatch, options, segmented):
    from snellen.jobs import Encoding, VideoOptions
    from snellen.video.segments import cuts

    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    source = make(tmp_path / "in.mkv", codec="libx264", frames=90, options={"g": "10"})
    found = []
    for segments in (True, False):
        target, notes = tmp_path / f"{segments}.mkv", Heard()
        job = UpscaleJob(
            source=source, target=target, model="t91-x2", device="cpu", segments=segments,
            video=VideoOptions(encoding=Encoding("libx264", crf=0)),
            enhancement=Enhancement(**options),
        )  # fmt: skip
        run(job, notes)
        if segments:
            assert segmented == any("it is made in" in t and "segments" in t for t in notes.notices)
            assert segmented != any("in one piece" in text for text in notes.notices)
        found.append(read(target))
    one, other = found
    assert one.times == other.times
    for frame, expected in zip(one.frames, other.frames, strict=True):
        np.testing.assert_array_equal(luma(frame), luma(expected))


def test_pictures_that_players_turn(tmp_path):
    film = make(tmp_path / "in.mp4", frames=2, rotation=90)
    _, notes, _ = enhanced(film, tmp_path, crop="32:24:0:0", vf="hflip")
    assert "players turn its pictures: `crop` and `vf` get them as they are stored" in notes.notices
    (tmp_path / "out.mkv").unlink()
    _, notes, _ = enhanced(film, tmp_path, denoise="light")
    assert not [text for text in notes.notices if "players turn" in text]


@pytest.mark.slow
def test_the_chain_beside_an_alpha_channel(tmp_path):
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=2, pix_fmt="yuva420p")
    summary, _, found = enhanced(film, tmp_path, crop="32:24:0:0")
    assert summary.chain[1] == "crop 32:24:0:0" and found.frames[0].format.name == "yuva420p"


@pytest.mark.parametrize(
    "options",
    [
        {"denoise": "light", "deblock": True, "sharpen": 0.2, "deband": True},
        {"denoise": "strong", "post_vf": "hue=s=0", "grain": 2},
    ],
)
def test_filters_leave_the_alpha_channel(tmp_path, options):
    """Those that see frames before and after one, too: each frame has its own opacity."""
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=7, pix_fmt="yuva420p")
    _, _, plain = enhanced(film, tmp_path, crop="64:48:0:0")
    (tmp_path / "out.mkv").unlink()
    summary, _, found = enhanced(film, tmp_path, **options)
    assert summary.dropped == () and len(found.frames) == 7
    for one, other in zip(found.frames, plain.frames, strict=True):
        assert one.format.name == "yuva420p"
        assert bytes(one.planes[3]) == bytes(other.planes[3])
    assert bytes(plain.frames[0].planes[3]) != bytes(plain.frames[6].planes[3])


def test_filters_that_move_pixels_drop_the_alpha_channel(tmp_path):
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=2, pix_fmt="yuva420p")
    for chain in ("hflip", "scale=32:24", "fps=50"):
        summary, _, _ = enhanced(film, tmp_path, vf=chain)
        (tmp_path / "out.mkv").unlink()
        assert summary.dropped == ("the alpha channel is dropped",), chain
