"""Which samples arrive: depth, chroma, size, and what is lost where a codec cannot."""

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.convert import Encoding
from snellen.video.sink.encoders import best
from support.video.checks import PATHS
from support.video.clips import HEIGHT, WIDTH, luma, make, picture, read
from support.video.converting import convert
from support.video.steps import Nearest


@pytest.mark.cases(11)
@pytest.mark.parametrize(
    ("name", "bits", "subsampling", "direct"),
    [
        ("yuv420p", 8, (1, 1), True),
        ("yuvj420p", 8, (1, 1), True),
        ("yuv422p10le", 10, (1, 0), True),
        ("yuv444p16le", 16, (0, 0), True),
        ("yuv440p12le", 12, (0, 1), True),
        ("yuv411p", 8, (2, 0), True),
        ("yuv410p", 8, (2, 2), True),
        ("yuva420p", 8, (1, 1), True),
        ("gray", 8, None, True),
        ("gray12le", 12, None, True),
        ("nv12", 8, (1, 1), False),
        ("p010le", 10, (1, 1), False),
        ("yuyv422", 8, (1, 0), False),
        ("yuv420p10be", 10, (1, 1), False),
        ("rgb24", 8, (0, 0), False),
        ("gbrp10le", 10, (0, 0), False),
        ("gbrpf32le", 16, (0, 0), False),
        ("pal8", 8, (0, 0), False),
        ("ya8", 8, None, False),
        ("monow", 8, None, False),
    ],
)
def test_descriptions(name, bits, subsampling, direct):
    made = pixels.parse(name)
    assert (made.bits, made.subsampling, made.direct) == (bits, subsampling, direct)
    av.VideoFormat(made.planar)  # exists
    assert made.alpha == (name in ("yuva420p", "ya8"))


def test_pslots_are_views_of_the_decoders_memory():
    frame = picture(3, "yuv422p10le", 70, 50)
    planes = pixels.planes(frame)
    assert [p.shape for p in planes] == [(50, 70), (50, 35), (50, 35)]
    for plane, owner in zip(planes, frame.planes, strict=True):
        assert np.shares_memory(plane, np.from_dlpack(owner))


@pytest.mark.parametrize(("packed", "flat"), [("nv12", "yuv420p"), ("p010le", "yuv420p10le")])
def test_semi_planar_is_rearranged_without_loss(packed, flat):
    frame = picture(5, flat)
    for got, want in zip(
        pixels.planes(frame.reformat(format=packed)), pixels.planes(frame), strict=True
    ):
        assert np.array_equal(got, want)


def test_grey_with_alpha_keeps_its_samples():
    """Through swscale grey counts as full range and would be stretched."""
    grey = (np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) % 220 + 16).astype(np.uint8)
    frame = av.VideoFrame(WIDTH, HEIGHT, "ya8")
    rows = np.zeros((HEIGHT, frame.planes[0].line_size), np.uint8)
    rows[:, 0 : 2 * WIDTH : 2], rows[:, 1 : 2 * WIDTH : 2] = grey, 255
    frame.planes[0].update(rows.tobytes())
    assert np.array_equal(pixels.planes(frame)[0], grey)


def test_rgb_becomes_bt709_limited():
    red = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    red[..., 0] = 255
    y, u, v = pixels.planes(av.VideoFrame.from_ndarray(red, format="rgb24"))
    # BT.709: Y = 16 + 219·0.2126, Cb = 128 − 224·0.2126/1.8556, Cr = 240; one step of rounding.
    assert abs(int(y[20, 20]) - 63) <= 1
    assert abs(int(u[20, 20]) - 102) <= 1
    assert abs(int(v[20, 20]) - 240) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv422p", "yuv444p", "yuv440p", "yuv411p",
                                     "yuv410p", "gray", "yuv420p10le", "yuv422p10le",
                                     "yuv444p12le", "yuv420p16le", "gray10le"])  # fmt: skip
@pytest.mark.parametrize("size", [(64, 48), (65, 49)])
def test_every_layout_goes_through_whole(tmp_path, step, pix_fmt, size):
    """FFV1 in and out: each sample arrives, also of odd sizes."""
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt=pix_fmt, size=size, frames=3)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=Encoding(codec="ffv1"))
    assert summary.pixel_format == pix_fmt
    assert summary.warnings == ()
    before, after = read(source), read(tmp_path / "out.mkv")
    for old, new in zip(before.frames, after.frames, strict=True):
        for p, q in zip(old.planes, new.planes, strict=True):
            p, q = np.from_dlpack(p), np.from_dlpack(q)
            assert np.array_equal(p.repeat(2, 0).repeat(2, 1)[: q.shape[0], : q.shape[1]], q)
    given = step.prepared[0]
    assert given.bits == pixels.parse(pix_fmt).bits
    assert (given.width, given.height) == size


@pytest.mark.parametrize(
    ("codec", "bits", "subsampling", "want"),
    [
        ("libx264", 8, (1, 1), "yuv420p"),
        ("libx264", 10, (1, 0), "yuv422p10le"),
        ("libx264", 8, (2, 0), "yuv422p"),  # 4:1:1 fits in 4:2:2
        ("libx264", 8, (0, 1), "yuv444p"),  # 4:4:0 fits in 4:4:4
        ("libx264", 9, (1, 1), "yuv420p10le"),
        ("libx264", 8, None, "gray"),
        ("libx265", 12, (0, 0), "yuv444p12le"),
        ("libx265", 16, (1, 1), "yuv420p12le"),
        ("libsvtav1", 8, (0, 0), "yuv420p"),
        ("libsvtav1", 12, None, "yuv420p10le"),
        ("prores_ks", 8, (1, 1), "yuv422p10le"),
        ("h264_nvenc", 10, (1, 1), "p010le"),
    ],
)
def test_the_format_that_loses_least_is_chosen(codec, bits, subsampling, want):
    offered = [f.name for f in av.Codec(codec, "w").video_formats]
    chosen = best(tuple(offered), Format(64, 48, bits, subsampling))
    assert chosen.name == want


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pix_fmt", "encoder", "result"),
    [
        ("yuv420p", "libx264", "yuv420p"),
        ("yuv422p10le", "libx265", "yuv422p10le"),
        ("yuv420p12le", "libx265", "yuv420p12le"),
    ],
)
def test_automatic_encoder(tmp_path, step, pix_fmt, encoder, result):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt=pix_fmt, frames=3)
    summary = convert(source, tmp_path / "out.mkv", step, encoding=Encoding(preset="ultrafast"))
    assert (summary.encoder, summary.pixel_format) == (encoder, result)
    assert summary.warnings == ()


@pytest.mark.slow
def test_asked_depth_reaches_the_step(plain, tmp_path, step):
    """8 bit in, 10 bit out: the step itself rounds to 10, nothing after it."""
    encoding = Encoding(codec="ffv1", pix_fmt="yuv420p10le")
    convert(plain, tmp_path / "out.mkv", step, encoding=encoding)
    assert step.prepared[1] == 10
    before, after = read(plain), read(tmp_path / "out.mkv")
    want = luma(before.frames[7]).repeat(2, 0).repeat(2, 1).astype(np.uint16) << 2
    assert np.array_equal(luma(after.frames[7]), want)


def test_losses_are_warned_of_and_strict_refuses(tmp_path, step):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv444p12le", frames=2)
    encoding = Encoding(codec="libx264", preset="ultrafast")
    summary = convert(source, tmp_path / "out.mkv", step, encoding=encoding)
    assert any("12 bit samples are rounded to 10 bit" in w for w in summary.warnings)
    encoding = replace(encoding, pix_fmt="yuv420p10le")
    summary = convert(source, tmp_path / "out2.mkv", step, encoding=encoding)
    assert any("chroma 444 is reduced to 420" in w for w in summary.warnings)
    refusing = Nearest()
    with pytest.raises(InputError, match="chroma 444"):
        convert(source, tmp_path / "out3.mkv", refusing, encoding=encoding, strict=True)
    assert refusing.prepared is None
    assert not (tmp_path / "out3.mkv").exists()


def test_a_step_without_alpha_drops_it_with_a_warning(tmp_path, step):
    source = tmp_path / "in.mkv"
    out = av.open(str(source), "w")
    stream = out.add_stream("ffv1", rate=25)
    stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuva420p"
    for number in range(2):
        y, u, v = (np.array(np.from_dlpack(p)) for p in picture(number).planes)
        frame = av.VideoFrame.from_dlpack((y, u, v, y.copy()), format="yuva420p")
        frame.pts, frame.time_base = number, Fraction(1, 25)
        out.mux(stream.encode(frame))
    out.mux(stream.encode(None))
    out.close()
    summary = convert(source, tmp_path / "out.mkv", step, encoding=Encoding(codec="ffv1"))
    assert summary.warnings == ("the alpha channel is dropped",)
    assert summary.pixel_format == "yuv420p"
    after = read(tmp_path / "out.mkv")
    old = np.array(np.from_dlpack(picture(1).planes[0]))
    assert np.array_equal(luma(after.frames[1]), old.repeat(2, 0).repeat(2, 1))
    with pytest.raises(InputError, match="alpha"):
        convert(source, tmp_path / "strict.mkv", step, strict=True)


def test_rgb_video_is_converted_with_a_warning(tmp_path, step):
    source = tmp_path / "in.mkv"
    out = av.open(str(source), "w")
    stream = out.add_stream("ffv1", rate=25)
    stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "bgr0"
    red = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    red[..., 0] = 255
    frame = av.VideoFrame.from_ndarray(red, format="rgb24").reformat(format="bgr0")
    frame.pts, frame.time_base = 0, Fraction(1, 25)
    out.mux([*stream.encode(frame), *stream.encode(None)])
    out.close()
    summary = convert(source, tmp_path / "out.mkv", step, encoding=Encoding(codec="ffv1"))
    assert summary.pixel_format == "yuv444p"
    assert "BT.709" in summary.warnings[0]
    after = read(tmp_path / "out.mkv").frames[0]
    assert (after.colorspace, after.color_range) == (1, 1)
    assert abs(int(luma(after)[5, 5]) - 63) <= 1


def test_grey_in_a_codec_without_grey_keeps_its_samples(tmp_path, step):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="gray", frames=2)
    convert(
        source,
        tmp_path / "out.mkv",
        step,
        encoding=Encoding(codec="libvpx-vp9", options={"lossless": "1"}),
    )
    after = read(tmp_path / "out.mkv").frames[1]
    old = luma(picture(1, "gray"))
    assert np.array_equal(luma(after), old.repeat(2, 0).repeat(2, 1))
    assert set(np.unique(np.from_dlpack(after.planes[1]))) == {128}


def test_four_one_one_in_h264(tmp_path, step):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv411p", frames=2)
    summary = convert(
        source, tmp_path / "out.mkv", step, encoding=Encoding(preset="ultrafast", crf=0)
    )
    assert (summary.pixel_format, summary.warnings) == ("yuv422p", ())
    after = read(tmp_path / "out.mkv").frames[1]
    assert np.array_equal(luma(after), luma(picture(1, "yuv411p")).repeat(2, 0).repeat(2, 1))


def test_read_only_and_pitched_pslots_can_be_returned(plain, tmp_path):
    class Same(Nearest):
        def prepare(self, format, bits=None, *, on_device=False):
            self.prepared = (format, bits)
            return format

        def run(self, frame):
            assert not frame.planes[0].flags.writeable
            return frame

    convert(plain, tmp_path / "out.mkv", Same(), encoding=Encoding(codec="ffv1"))
    before, after = read(plain), read(tmp_path / "out.mkv")
    for old, new in zip(before.frames, after.frames, strict=True):
        assert np.array_equal(luma(old), luma(new))


@pytest.mark.parametrize("codec", ["png", "gif"])
def test_colour_is_never_made_grey_unasked(plain, tmp_path, step, codec):
    with pytest.raises(InputError, match=f"{codec} takes no YUV pictures.*grey"):
        convert(plain, tmp_path / "out.mkv", step, encoding=Encoding(codec=codec))


def test_grey_that_was_asked_for(plain, tmp_path, step):
    """PNG's grey is of full range, always: only such samples are shown as they were."""
    source = make(tmp_path / "in.mkv", codec="mjpeg", pix_fmt="yuvj420p", frames=2)
    encoding = Encoding(codec="png", pix_fmt="gray")
    summary = convert(source, tmp_path / "out.mov", step, encoding=encoding)
    assert any("chroma 420 is reduced to none" in w for w in summary.warnings)
    with pytest.raises(InputError, match=r"png in \.mov can only state full range"):
        convert(plain, tmp_path / "out2.mov", Nearest(), encoding=encoding)


@pytest.mark.parametrize("option", ["time_base", "color_range", "chroma_sample_location", "aspect"])
def test_options_that_follow_from_the_input_are_refused(plain, tmp_path, step, option):
    encoding = Encoding(options={option: "1/3"})
    with pytest.raises(InputError, match=f"option {option} follows from the input"):
        convert(plain, tmp_path / "out.mkv", step, encoding=encoding)


def test_an_encoder_is_asked_about_the_size_that_comes_out(tmp_path):
    """DNxHR takes 256×120 and larger: the result, not the input."""
    source = make(tmp_path / "in.mkv", size=(160, 120), frames=3, pix_fmt="yuv422p")
    encoding = Encoding(codec="dnxhd", options={"profile": "dnxhr_hq"})
    convert(source, tmp_path / "out.mov", Nearest(), encoding=encoding)
    assert len(read(tmp_path / "out.mov").frames) == 3
    with pytest.raises(InputError, match="dnxhd does not open for 160×120 "):
        convert(source, tmp_path / "small.mov", Nearest(1), encoding=encoding)
    odd = make(tmp_path / "odd.mkv", codec="ffv1", size=(65, 49), frames=2)
    with pytest.raises(
        InputError, match=r"libx264 does not open for 195×147 .*take an even width and height"
    ):
        convert(odd, tmp_path / "out.mkv", Nearest(3))


_CONVERT = """
import sys
from pathlib import Path
from snellen.video.convert import Encoding
from support.video.converting import convert
from support.video.steps import Nearest
options = {"x265-params": sys.argv[3]} if sys.argv[3] else {}
for number in range(3):
    target = Path(sys.argv[2]) / f"{number}.mkv"
    convert(Path(sys.argv[1]), target, Nearest(1), encoding=Encoding("libx265", options=options))
"""


@pytest.mark.slow
@pytest.mark.parametrize("own", ["", "keyint=3:cutree=1"])
def test_x265_does_not_write_beyond_its_memory_for_narrow_pictures(tmp_path, own):
    """Without care the process aborts, so another one converts."""
    source = make(tmp_path / "in.mkv", size=(40, 34), frames=12, codec="ffv1")
    words = [sys.executable, "-c", _CONVERT, str(source), str(tmp_path), own]
    ran = subprocess.run(words, env={**os.environ, "PYTHONPATH": PATHS}, check=False)
    assert ran.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("codec", "suffix"), [("mpeg2video", ".mkv"), ("mpeg2video", ".mp4"),
                                               ("mpeg4", ".mp4"), ("mpeg4", ".mkv")])  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"bf": "2"}], ids=str)
def test_encoders_that_count_frames_keep_times(tmp_path, step, codec, suffix, options):
    """Their unit is a frame's duration, but a late frame stays late."""
    times = [0, 3600, 7200, 10800, 15300, 18000, 21600, 25200]
    source = make(tmp_path / "in.mp4", times=times, time_base=Fraction(1, 90000), audio="aac")
    target = tmp_path / f"out{suffix}"
    convert(source, target, step, encoding=Encoding(codec=codec, options=options))
    slack = Fraction(1, 1000) if suffix == ".mkv" else Fraction(1, 10000)
    before, after = read(source), read(target)
    assert len(after.times) == 8
    for old, new in zip(before.times, after.times, strict=True):
        assert abs(old - new) <= slack
    assert after.types == ["video", "audio"]


def test_advice_is_not_the_container_that_was_asked_for(plain, tmp_path, step):
    encoding = Encoding(codec="dnxhd")
    with pytest.raises(
        InputError, match=r"\.mkv cannot hold video of dnxhd: choose another codec$"
    ):
        convert(plain, tmp_path / "out.mkv", step, encoding=encoding)


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "encoding",
    [
        {"preset": "warp"},
        {"options": {"tune": "nosuch"}},
        {"options": {"profile": "nosuch"}},
        {"codec": "libx265", "crf": 55},
    ],
    ids=str,
)
def test_nothing_but_the_error_is_printed(plain, tmp_path, step, encoding, capfd):
    with pytest.raises(InputError, match=r"expects one|expects 0 to 51"):
        convert(plain, tmp_path / "out.mkv", step, encoding=Encoding(**encoding))
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(8, 44), (44, 8)])
def test_small_pictures_of_av1(tmp_path, size):
    """Several threads of SVT-AV1 would wait for ever."""
    source = make(tmp_path / "in.mkv", codec="ffv1", size=size, frames=2)
    for suffix in (".mkv", ".avif"):
        encoding = Encoding("libsvtav1") if suffix == ".mkv" else Encoding()
        convert(source, tmp_path / f"out{suffix}", Nearest(2), encoding=encoding)
    assert len(read(tmp_path / "out.mkv").frames) == 2
