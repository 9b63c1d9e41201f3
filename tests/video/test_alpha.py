"""The alpha channel of films: read, enlarged beside the pictures, and written where it fits."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError
from snellen.files.numbering import numbered
from snellen.frames.frame import Format, Frame
from snellen.upscaling.fit import Fit
from snellen.upscaling.opacity import OpacityUpscaler
from snellen.upscaling.target import geometry, target
from snellen.upscaling.upscaler import Upscaler
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.source.decode import Source
from snellen.video.steps.chain import Chain
from support.video.converting import convert
from support.video.steps import Nearest

WIDTH, HEIGHT = 96, 64


class Clear(Nearest):
    """Nearest, for pictures with alpha too."""

    def alpha(self):
        return Nearest(self.scale)


def opacity(number, opaque=False):
    """Alpha of a frame, 8 bits."""
    if opaque:
        return np.full((HEIGHT, WIDTH), 255, np.uint8)
    across = np.minimum(np.arange(WIDTH) * 2 + 5 * number, 255)
    return np.broadcast_to(across, (HEIGHT, WIDTH)).astype(np.uint8)


def film(path, codec="ffv1", pix_fmt="yuva420p", frames=3, opaque=()):
    """Write a film with alpha; those frames of it are opaque."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pix_fmt
        for number in range(frames):
            samples = np.full((HEIGHT, WIDTH, 4), 9 * number + 60, np.uint8)
            samples[..., 3] = opacity(number, number in opaque)
            frame = av.VideoFrame.from_ndarray(samples, format="rgba").reformat(format=pix_fmt)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def alphas(path):
    """The alpha channels of a film, and the depth of its samples."""
    source = Source(path, Clip())
    try:
        found = [item.frame.alpha for item in source.items(alpha=True) if item.frame]
        return found, source.info.picture.format.bits
    finally:
        source.close()


def check(path, off=1, scale=2, frames=3):
    """Compare with what was enlarged by Nearest: within so many codes of 8 bits."""
    found, bits = alphas(path)
    assert len(found) == frames
    for number, alpha in enumerate(found):
        wanted = opacity(number).repeat(scale, 0).repeat(scale, 1).astype(float)
        assert np.abs(alpha * (255 / ((1 << bits) - 1)) - wanted).max() <= off


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("pix_fmt", "codec", "suffix", "name", "got"),
    [
        ("yuva420p", "ffv1", ".mkv", None, "yuva420p"),
        ("yuva422p12le", "ffv1", ".mkv", None, "yuva422p12le"),
        ("bgra", "ffv1", ".mkv", None, "yuva444p"),
        ("ya8", "ffv1", ".mkv", None, "yuva420p"),
        ("yuva420p", "prores_ks", ".mov", None, "yuva444p10le"),
        ("yuva420p", "libvpx-vp9", ".webm", None, "yuva420p"),
        ("yuva420p", None, ".webm", None, "yuva420p"),
        ("yuva420p", "ffv1", ".mkv", "yuva444p", "yuva444p"),
        ("yuva444p12le", None, ".mkv", None, "yuva444p12le"),
        ("yuva420p10le", None, ".mkv", None, "yuva420p10le"),
        ("yuva422p10le", None, ".mov", None, "yuva444p10le"),
    ],
)
def test_it_is_kept_where_codec_and_container_hold_it(tmp_path, pix_fmt, codec, suffix, name, got):
    source = film(tmp_path / "in.mkv", pix_fmt=pix_fmt)
    out = tmp_path / f"out{suffix}"
    summary = convert(source, out, Clear(), encoding=Encoding(codec=codec, pix_fmt=name))
    assert summary.pixel_format == got and not summary.dropped
    # swscale rounds down where it changes the layout: once more with a pix_fmt.
    check(out, off=3 if "vpx" in summary.encoder else 1 + (name is not None))


@pytest.mark.parametrize("pix_fmt", ["bgra", "yuva444p10le"])
def test_vp9_gets_half_the_chroma_and_8_bits(tmp_path, pix_fmt):
    """Its encoder offers 4:4:4 with alpha, and refuses it."""
    source = film(tmp_path / "in.mkv", pix_fmt=pix_fmt)
    summary = convert(source, tmp_path / "out.webm", Clear())
    assert summary.pixel_format == "yuva420p"
    *deep, chroma = summary.dropped
    assert chroma == "chroma 444 is reduced to 420 (libvpx-vp9, yuva420p)"
    wanted = ["10 bit samples are rounded to 8 bit (yuva420p)"]
    assert deep == (wanted if pix_fmt.endswith("10le") else [])
    check(tmp_path / "out.webm", off=3)


def test_vp8_keeps_it(tmp_path):
    """It takes alpha only without frames that are not shown."""
    source = film(tmp_path / "in.mkv")
    summary = convert(source, tmp_path / "out.webm", Clear(), encoding=Encoding(codec="vp8"))
    assert summary.pixel_format == "yuva420p" and not summary.dropped
    check(tmp_path / "out.webm", off=4)  # 5 would be those of another frame


@pytest.mark.parametrize("codec", ["libvpx-vp9", "prores_ks"])
def test_it_is_read_from_what_other_programs_write(tmp_path, codec):
    """20 frames: of VP9 with frames that are not shown, too."""
    kind = ("yuva420p", ".webm") if codec == "libvpx-vp9" else ("yuva444p10le", ".mov")
    source = film(tmp_path / f"in{kind[1]}", codec, kind[0], frames=20)
    check(source, off=4, scale=1, frames=20)  # 5 would be those of another frame
    clip = Clip(start=Fraction(2, 5))
    convert(source, tmp_path / "out.mkv", Clear(1), clip=clip, encoding=Encoding(codec="ffv1"))
    found, bits = alphas(tmp_path / "out.mkv")
    first = found[0] * (255 / ((1 << bits) - 1))
    assert len(found) == 10 and np.abs(first - opacity(10)).max() <= 4


def test_what_does_not_hold_it_is_named(tmp_path):
    source = film(tmp_path / "in.mkv")
    for settings in ({}, {"codec": "ffv1", "pix_fmt": "yuv420p"}):
        out = tmp_path / "out.mkv"
        summary = convert(source, out, Clear(), encoding=Encoding(**settings), overwrite=True)
        (lost,) = summary.dropped
        assert lost.startswith("the alpha channel is dropped (`codec`=ffv1 in .mkv")
        assert not summary.pixel_format.startswith("yuva")
    with pytest.raises(InputError, match="strict, and this would be lost: the alpha channel"):
        convert(source, tmp_path / "no.mkv", Clear(), strict=True)
    with pytest.raises(InputError, match="got pix_fmt=yuva420p; expected YUV or grey, without al"):
        plain = film(tmp_path / "plain.mkv", pix_fmt="yuv420p")
        convert(plain, out, Clear(), encoding=Encoding(pix_fmt="yuva420p"), overwrite=True)


@pytest.mark.parametrize(
    ("pix_fmt", "suffix", "settings"),
    [
        ("yuva444p12le", ".mp4", {}), ("yuva420p10le", ".ts", {}),
        ("yuva420p", ".mkv", {"codec": "libx265"}), ("yuva422p12le", ".mov", {"crf": 20}),
        ("gbrap12le", ".mkv", {"preset": "ultrafast"}),
        ("yuva444p16le", ".mov", {"max_bitrate": "20M"}),
    ],
)  # fmt: skip
def test_hevc_drops_it_and_says_so(tmp_path, pix_fmt, suffix, settings):
    """The encoder offers alpha, and as it is built does not open for it."""
    source = film(tmp_path / "in.mkv", pix_fmt=pix_fmt, frames=1)
    summary = convert(source, tmp_path / f"out{suffix}", Clear(), encoding=Encoding(**settings))
    assert summary.encoder == "libx265" and not summary.pixel_format.startswith("yuva")
    assert any(text.startswith("the alpha channel is dropped (") for text in summary.dropped)


def test_alpha_that_an_encoder_does_not_take_is_refused(tmp_path):
    """What it expects in its place is named."""
    source = film(tmp_path / "in.mkv", frames=1)
    for codec, name in (("libx265", "yuva420p10le"), ("libvpx-vp9", "yuva444p")):
        settings = Encoding(codec=codec, pix_fmt=name)
        with pytest.raises(InputError, match=f"got pix_fmt={name}; {codec} expects one of .*yuv4"):
            convert(source, tmp_path / "out.mkv", Clear(), encoding=settings)
    assert not (tmp_path / "out.mkv").exists()


def test_deep_pictures_without_alpha_keep_their_encoder(tmp_path):
    """Opaque ones, and those whose pixel format the user gives."""
    opaque = film(tmp_path / "opaque.mkv", pix_fmt="yuva420p10le", frames=1, opaque=(0,))
    assert convert(opaque, tmp_path / "out.mkv", Clear()).encoder == "libx265"
    source = film(tmp_path / "in.mkv", pix_fmt="yuva420p10le", frames=1)
    settings = Encoding(pix_fmt="yuv420p10le")
    summary = convert(source, tmp_path / "out.mov", Clear(), encoding=settings)
    assert summary.encoder == "libx265" and len(summary.dropped) == 1


def test_an_opaque_film_loses_nothing(tmp_path):
    source = film(tmp_path / "in.mkv", opaque=range(3))
    assert not convert(source, tmp_path / "out.mkv", Clear(), strict=True).warnings
    later = film(tmp_path / "later.mkv", opaque=(0, 2))
    (said,) = convert(later, tmp_path / "out2.mkv", Clear()).warnings
    assert said == (
        "the alpha channel of 1 frame is dropped, which are not opaque as the first one"
    )
    with pytest.raises(InputError, match="strict, and this was lost: the alpha channel of 1 frame"):
        convert(later, tmp_path / "no.mkv", Clear(), strict=True)
    assert not (tmp_path / "no.mkv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("transparent", [False, True])
def test_gifs(tmp_path, transparent):
    """FFmpeg decodes all of them as bgra."""
    file = tmp_path / "in.gif"
    frames = [Image.new("RGBA", (32, 24), (90, 60 * n, 9, 255)) for n in range(3)]
    if transparent:
        frames[0].paste((0, 0, 0, 0), (0, 0, 9, 9))
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=40, disposal=2)
    summary = convert(file, tmp_path / "out.mkv", Clear())
    assert any("alpha channel" in text for text in summary.dropped) == transparent
    if not transparent:
        convert(file, tmp_path / "strict.mkv", Clear(), strict=True)


def test_pictures_become_films_and_films_pictures(tmp_path):
    source = film(tmp_path / "in.mkv", pix_fmt="yuva444p")
    found = [one.repeat(2, 0).repeat(2, 1) for one in alphas(source)[0]]
    summary = convert(source, tmp_path / "out%d.png", Clear())
    assert summary.pixel_format == "rgba" and not summary.dropped
    for number in range(3):
        with Image.open(numbered(str(tmp_path / "out%d.png"), number + 1)) as file:
            assert file.mode == "RGBA"
            alpha = np.asarray(file)[..., 3]
        assert (alpha == found[number]).all()
    summary = convert(source, tmp_path / "out%d.jpg", Clear())
    assert any("alpha channel" in text for text in summary.dropped)
    convert(source, tmp_path / "out.webp", Clear(), quality=100)
    with Image.open(tmp_path / "out.webp") as file:
        file.seek(1)
        assert (np.asarray(file.convert("RGBA"))[..., 3] == found[1]).all()


@pytest.mark.slow
def test_transparent_pictures_become_a_film(tmp_path):
    for number in range(2):
        samples = np.full((HEIGHT, WIDTH, 4), 90, np.uint8)
        samples[..., 3] = opacity(number)
        Image.fromarray(samples).save(tmp_path / f"out{number}.png")
    back = snellen.upscale_file(
        tmp_path / "out%d.png", tmp_path / "back.mkv", fps=25, codec="ffv1", device="cpu",
        method="aplus", frames=1,
    )  # fmt: skip
    assert back.summary.pixel_format == "yuva444p" and not back.summary.dropped


def test_the_steps_for_it():
    constant = Frame((np.full((8, 8), 1023, np.uint16),))
    step = OpacityUpscaler(3)
    assert step.prepare(Format(8, 8, 10, full_range=True), 8) == Format(24, 24, 8, full_range=True)
    (plane,) = step.run(constant).planes
    assert plane.shape == (24, 24) and (plane == 255).all()
    sized = geometry(target(None, "40x20", None, "pad"), 8, 8)
    fit = Fit(sized).alpha()
    fit.prepare(Format(24, 24, 8, full_range=True))
    (bars,) = fit.run(Frame((np.zeros((24, 24), np.uint8),))).planes
    fit.close()
    assert (bars[:, :10] == 255).all() and (bars[:, 10:30] == 0).all()
    with Upscaler(2, device="cpu") as upscaler:
        assert upscaler.alpha().scale == 2


@pytest.mark.slow
def test_a_chain_with_a_step_that_has_none_drops_it(tmp_path):
    source = film(tmp_path / "in.mkv")
    chain = Chain(Clear(), Clear(1))
    summary = convert(source, tmp_path / "out.mkv", chain, encoding=Encoding(codec="ffv1"))
    assert summary.pixel_format == "yuva420p"
    check(tmp_path / "out.mkv")
    chain = Chain(Clear(), Nearest(1))
    summary = convert(source, tmp_path / "no.mkv", chain, encoding=Encoding(codec="ffv1"))
    assert summary.dropped == ("the alpha channel is dropped",)
