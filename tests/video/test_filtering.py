"""FFmpeg's filters as a step: chains as users write them, formats, colours and times."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from av.filter import filters_available

from snellen.errors import InputError
from snellen.frames.frame import Frame
from snellen.frames.step import Traits
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.filtering import graph
from snellen.video.filtering.graph import Filter
from snellen.video.filtering.overlaps import reach, unknown
from snellen.video.filtering.parse import options, parse
from snellen.video.filtering.step import FilterStep
from snellen.video.side_data import light, side_data
from snellen.video.source.decode import Source
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest

BT709 = (1, 1, 1, 1)


@pytest.mark.cases(7)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hflip", [Filter("hflip")]),
        (" hflip , vflip ", [Filter("hflip"), Filter("vflip")]),
        ("scale=w=2:h='3'", [Filter("scale", "w=2:h=3")]),
        ("select=not(mod(n\\,2)),hflip", [Filter("select", "not(mod(n,2))"), Filter("hflip")]),
        ("select='not(mod(n,2))'", [Filter("select", "not(mod(n,2))")]),
        ("lut=y='val*2\\,'", [Filter("lut", "y=val*2\\,")]),
        ("drawbox@a=x='  ' ", [Filter("drawbox", "x=  ", "drawbox@a")]),
        ("x=a\\\\,b", [Filter("x", "a\\"), Filter("b")]),
        ("x='a'\\''b'", [Filter("x", "a'b")]),
        ("metadata=print:file=file:notes.txt", [Filter("metadata", "print:file=file:notes.txt")]),
    ],
)
def test_quotes_as_in_ffmpeg(text, expected):
    assert list(parse(text, "vf")) == expected


@pytest.mark.cases(11)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no name"),
        ("hflip,", "no name"),
        ("hflip,,vflip", "no name"),
        ("=3", "no name"),
        ("h flip", "a filter 'h flip'"),
        ("[in]hflip", "a label"),
        ("hflip[out]", "a label"),
        ("scale=2[out]", "a label"),
        ("hflip;vflip", "several chains"),
        ("select='n", "does not end"),
        ("metadata=print:file=tcp\\\\://127.0.0.1\\\\:9", "no file"),
        ("metadata=print:file='pipe\\:1'", "no file"),
        ("metadata=print:file=-", "no file"),
        ("removelogo=https\\\\://example.org/a.png", "no file"),
        (",".join(["null"] * 101), "more than 100"),
    ],
)
def test_no_chain(text, words):
    with pytest.raises(InputError, match=words) as caught:
        parse(text, "vf")
    assert caught.value.parameter == "vf"


def test_options_of_a_filter():
    assert options(Filter("x", "1:b=2:c='a:b':d=a\\:b")) == (
        (None, "1"), ("b", "2"), ("c", "a:b"), ("d", "a:b"),
    )  # fmt: skip


@pytest.mark.cases(13)
@pytest.mark.parametrize(
    ("chain", "frames"),
    [
        ("hflip,nlmeans", 0),
        ("atadenoise", 4),
        ("atadenoise=s=129", 64),
        ("atadenoise=s=21,fftdnoiz", 11),
        ("atadenoise=0.1:0.2:0.1", 64),
        ("tmedian=radius=2", 5),
        ("tmix=frames=4", 4),
        ("dedot", 2),
        ("mestimate", 16),
        ("noise=alls=9", None),
        ("hflip,framestep=2", None),
        ("drawbox=x=n", None),
        ("geq=lum='random(1)*255'", None),
        ("geq=lum='randomi(1,0,255)'", None),
        ("geq=lum='st(0,ld(0)+1)'", None),
    ],
)
def test_frames_around_one(chain, frames):
    assert reach(parse(chain, "vf")) == frames
    assert unknown(parse(chain, "vf")) == (("mestimate",) if "mestimate" in chain else ())


def step_of(film, chain):
    """Return a step for a film, and the frames of the film."""
    source = Source(film, Clip())
    try:
        frames = [item.frame for item in source.items() if item.frame is not None]
        return FilterStep(parse(chain, "vf"), source.info, "vf"), frames, source.info
    finally:
        source.close()


def pushed(step, frames):
    return [out for frame in [*frames, None] for out in step.push(frame)]


@pytest.mark.cases(4)
@pytest.mark.parametrize("chain", ["null", "hflip,hflip", "vflip,negate,vflip,negate"])
@pytest.mark.parametrize(
    ("pix_fmt", "size"),
    [("yuv420p", (64, 48)), ("yuv420p10le", (64, 48)), ("yuv444p12le", (65, 47)),
     ("gray10le", (64, 48)), ("yuv440p", (65, 47))],
)  # fmt: skip
def test_what_changes_nothing_is_exact(tmp_path, chain, pix_fmt, size):
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=3, pix_fmt=pix_fmt, size=size)
    step, frames, info = step_of(film, chain)
    form = info.picture.format
    assert step.outcome(form, 3) == form == step.prepare(form)
    for _ in range(2):  # after the end it is as after `prepare`
        found = pushed(step, frames)
        assert [(one.pts, one.duration) for one in found] == [(f.pts, f.duration) for f in frames]
        for one, frame in zip(found, frames, strict=True):
            for plane, expected in zip(one.planes, frame.planes, strict=True):
                assert plane.dtype == expected.dtype and (plane == expected).all()
    assert (step.losses, step.said) == ((), ())
    assert step.traits == Traits(call="push", label=step.traits.label)
    step.close()


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """Four frames of 10 bits, BT.709, limited range."""
    path = tmp_path_factory.mktemp("filtering") / "deep.mkv"
    return make(path, codec="ffv1", frames=4, pix_fmt="yuv420p10le", colour=BT709)


def test_lost_bits_are_said_and_the_depth_is_kept(deep):
    step, frames, info = step_of(deep, "gradfun")
    assert step.prepare(info.picture.format) == info.picture.format
    assert "gradfun of `vf` works on 8 bits (yuv420p)" in step.losses[0]
    assert step.traits.label == "vf (yuv420p10le → yuv420p → yuv420p10le)"
    assert np.abs(pushed(step, frames)[0].planes[0].astype(int) - frames[0].planes[0]).max() < 64


@pytest.mark.parametrize("chain", ["deband=1thr=0.00003", "format=yuva420p10le"])
def test_alpha_is_not_kept(deep, chain):
    step, frames, info = step_of(deep, chain)
    assert step.prepare(info.picture.format) == info.picture.format
    assert len(pushed(step, frames)[0].planes) == 3 and not step.losses


def test_deeper_results_are_filtered_deeper(deep):
    """At 12 bits an exact sequence of filters gives the samples, four times as large."""
    step, frames, info = step_of(deep, "negate,negate")
    assert step.prepare(info.picture.format, 12).bits == 12
    assert (pushed(step, frames)[0].planes[0] == frames[0].planes[0] * 4).all()


def test_a_format_of_the_chain_stays_but_for_its_depth(deep):
    step, _, info = step_of(deep, "format=yuv444p")
    result = step.prepare(info.picture.format)
    assert (result.bits, result.subsampling) == (10, (0, 0))
    assert "works on 8 bits" in step.losses[0]


@pytest.mark.parametrize("colour", [BT709, (1, 9, 9, 14), (2, 5, 5, 6)])
def test_there_and_back_from_rgb(tmp_path, colour):
    """The matrix and the range are stated both ways: flat colours inside the gamut come back."""
    film = make(
        tmp_path / "in.mkv", codec="ffv1", frames=1, pix_fmt="yuv444p10le", colour=colour
    )  # fmt: skip
    step, (frame,), info = step_of(film, "format=gbrp16le,hflip,hflip")
    step.prepare(info.picture.format)
    flat = tuple(
        np.full_like(plane, code) for plane, code in zip(frame.planes, (500, 520, 505), strict=True)
    )
    (found,) = pushed(step, [replace(frame, planes=flat)])
    for plane, expected in zip(found.planes, flat, strict=True):
        assert np.abs(plane.astype(int) - expected).max() <= 1  # swscale rounds to 14 bits
    assert (step.picture.colorspace, step.picture.color_range) == (colour[1], colour[0])


def test_colours_that_a_filter_changes_are_stated(deep):
    step, _, _ = step_of(deep, "colorspace=all=bt2020:iall=bt709")
    found = step.picture
    assert (found.colorspace, found.color_primaries, found.color_trc) == (9, 9, 14)
    step, _, info = step_of(deep, "scale=out_range=pc")
    assert step.picture.color_range == 2 and step.prepare(info.picture.format).full_range


def test_an_unknown_matrix_is_guessed_and_said(tmp_path):
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=1)
    step, _, _ = step_of(film, "curves")
    assert "BT.601" in step.said[0]
    assert step.picture.colorspace == 2  # as the input, which states none


@pytest.mark.parametrize(
    ("chain", "times", "ticks"),
    [
        ("fps=50", [Fraction(n, 50) for n in range(13)], 1),
        ("fps=30000/1001", [Fraction(1001 * n, 30000) for n in range(8)], 30),
        ("setpts=2*PTS", [0, Fraction(2, 25), Fraction(6, 25), Fraction(12, 25)], 1),
        ("framestep=2", [0, Fraction(3, 25)], 1),
        ("bwdif=send_frame:deint=all", [0, Fraction(1, 25), Fraction(3, 25), Fraction(6, 25)], 2),
    ],
)
def test_times(tmp_path, chain, times, ticks):
    """A film of frames at 0, 1, 3 and 6 twenty-fifths of a second."""
    film = make(
        tmp_path / "in.mkv", codec="ffv1", frames=4, times=[0, 40, 120, 240],
        time_base=Fraction(1, 1000),
    )  # fmt: skip
    step, frames, info = step_of(film, chain)
    step.prepare(info.picture.format)
    found = pushed(step, frames)
    base = info.time_base / step.traits.ticks
    assert step.traits.ticks == ticks
    assert [one.pts * base for one in found][: len(times)] == times
    ends = [one.pts + one.duration for one in found]
    assert ends[:-1] == [one.pts for one in found[1:]] and ends[-1] > found[-1].pts


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ("setpts=0", "do not rise"),
        ("setpts=PTS-1/TB", "do not rise"),
        ("tpad=stop=-1", "never end"),
    ],
)
def test_frames_that_no_film_can_have(deep, chain, words):
    step, frames, info = step_of(deep, chain)
    step.prepare(info.picture.format)
    with pytest.raises(InputError, match=words) as caught:
        pushed(step, frames)
    assert caught.value.parameter == "vf"


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("chain", "words"),
    [
        ("unsharp=nosuch=1", "vf: unsharp: .*nosuch"),
        ("nosuch", "no filter 'nosuch'"),
        ("hflop", "similar names: hflip"),
        ("overlay", "2 inputs"),
        ("split", "2 outputs"),
        ("movie=/etc/passwd", "pictures of its own"),
        ("anull", "type mismatch"),
        ("lut3d=/no/such.cube", "No such file"),
    ],
)
def test_what_ffmpeg_refuses(deep, chain, words):
    with pytest.raises(InputError, match=words) as caught:
        step_of(deep, chain)
    assert caught.value.parameter == "vf"


def test_what_is_named_in_place_of_a_filter_is_there(deep, monkeypatch):
    offered = ", ".join(graph._INSTEAD.values()).split(", ")
    assert set(offered) <= set(filters_available)
    monkeypatch.setitem(graph._INSTEAD, "nosuch", "bwdif")
    with pytest.raises(InputError, match="'nosuch'; it has bwdif"):
        step_of(deep, "nosuch")


def test_a_film_without_frames_is_no_film(deep, tmp_path):
    def late(info):
        step = FilterStep(parse("select=0", "vf"), info, "vf")
        return step, info

    with pytest.raises(InputError, match="no frame"):
        convert(deep, tmp_path / "out.mkv", late, encoding=Encoding("ffv1"))
    assert not (tmp_path / "out.mkv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".y4m"])
def test_the_rate_of_a_film(deep, tmp_path, suffix):
    """The encoder gets the chain's rate, also where times are numbers of frames."""

    def late(info):
        step = FilterStep(parse("fps=50", "vf"), info, "vf")
        return step, replace(info, picture=replace(step.picture, format=info.picture.format))

    target = tmp_path / f"out{suffix}"
    summary = convert(deep, target, late)
    found = read(target)
    assert summary.frames == len(found.frames) == 8
    assert [round(time * 50) for time in found.times] == list(range(8))


def test_the_next_run_after_an_error(deep):
    """What comes after `close` is nothing; a step that is closed twice stays closed."""
    step, frames, info = step_of(deep, "null")
    step.prepare(info.picture.format)
    list(step.push(frames[0]))
    step.close()
    step.close()
    assert list(step.push(None)) == []
    assert isinstance(frames[0], Frame)


def test_pictures_upside_down(deep):
    step, frames, info = step_of(deep, "vflip")
    step.prepare(info.picture.format)
    for one, frame in zip(pushed(step, frames), frames, strict=True):
        assert (one.planes[0] == frame.planes[0][::-1]).all()


@pytest.mark.parametrize("bits", [8, 10])
def test_fewer_bits_have_the_same_mean(deep, bits):
    """FFmpeg by itself would make 8-bit samples darker by a quarter of a code value."""
    step, frames, info = step_of(deep, "null")
    step.prepare(info.picture.format, bits)
    noise = np.random.default_rng(1).integers(200, 800, (48, 64)).astype(np.uint16)
    (one,) = pushed(step, [replace(frames[0], planes=(noise, *frames[0].planes[1:]))])
    scale = 1 << (10 - bits)
    assert abs(one.planes[0].mean() * scale - noise.mean()) < 0.1  # 4 σ of the dither: 0.09


def test_files_that_a_chain_reads():
    from pathlib import Path

    from snellen.video.filtering.parse import files

    text = (
        "lut3d=a.cube:interp=nearest,lut1d=file='file\\:b.cube',curves=psfile=c.acv,metadata=print"
    )
    assert files(parse(text, "vf")) == (Path("a.cube"), Path("b.cube"), Path("c.acv"))
    assert files(parse("curves=vintage,removelogo=filename=d.png", "vf")) == (Path("d.png"),)


@pytest.mark.parametrize("chain", ["curves", "format=rgb24", "format=gbrp10le,negate,negate"])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv420p10le"])
def test_the_way_to_rgb_and_back_changes_no_mean(tmp_path, chain, pix_fmt):
    """FFmpeg by itself would make coloured pictures darker by more than a code value of 8 bits."""
    film = make(
        tmp_path / "in.mkv", codec="ffv1", frames=1, pix_fmt=pix_fmt, colour=BT709
    )  # fmt: skip
    step, (frame,), info = step_of(film, chain)
    step.prepare(info.picture.format)
    scale = 1 if pix_fmt == "yuv420p" else 4
    y, x = np.mgrid[:48, :64]
    luma = ((100 + x / 4 + y / 3) * scale).astype(frame.planes[0].dtype)
    coloured = (luma, *(np.full_like(frame.planes[1], code * scale) for code in (110, 150)))
    (found,) = pushed(step, [replace(frame, planes=coloured)])
    assert abs(found.planes[0].astype(float).mean() - luma.mean()) < 0.1 * scale
    assert np.abs(found.planes[0].astype(int) - luma).max() <= scale  # RGB has as many bits as YUV


def test_frames_of_several_sizes_get_that_of_the_first(deep):
    step, frames, info = step_of(deep, "scale=w='64+2*n':h=48:eval=frame")
    step.prepare(info.picture.format)
    assert {one.planes[0].shape for one in pushed(step, frames)} == {(48, 64)}


@pytest.mark.parametrize("chain", ["trim=end_frame=2", "hflip,trim=end_frame=2,hflip"])
def test_a_filter_may_end_before_the_film(deep, chain):
    step, frames, info = step_of(deep, chain)
    step.prepare(info.picture.format)
    for _ in range(2):
        found = pushed(step, frames)
        assert [(one.pts, one.duration) for one in found] == [
            (one.pts, one.duration) for one in frames[:2]
        ]
        assert (found[1].planes[0] == frames[1].planes[0]).all()


def test_grey_films_do_not_become_grey(tmp_path):
    film = make(tmp_path / "in.mkv", codec="ffv1", frames=2, pix_fmt="gray")
    step, _, info = step_of(film, "hue=s=2")
    assert step.prepare(info.picture.format) == info.picture.format
    assert step.losses == ()


HDR = {"x265-params": "hdr10=1:max-cll=1000,400:master-display=G(13250,34500)B(7500,3000)"
                      "R(34000,16000)WP(15635,16450)L(10000000,50)"}  # fmt: skip


@pytest.fixture(scope="module")
def bright(tmp_path_factory):
    """HDR10: 10 bit, PQ, with mastering display and light levels."""
    return make(tmp_path_factory.mktemp("hdr") / "in.mkv", codec="libx265", pix_fmt="yuv420p10le",
                frames=2, colour=(1, 9, 9, 16), options=HDR)  # fmt: skip


LINEAR = "format=gbrpf32le,tonemap=hable,format=yuv420p10le"
CHAINS = {
    LINEAR: "still stated as HDR",
    f"{LINEAR},setparams=color_trc=bt709:color_primaries=bt709": "",
    "setparams=color_trc=bt709": "",
}


@pytest.mark.parametrize("chain", CHAINS)
def test_tones_that_are_mapped_are_no_hdr10(bright, chain):
    with closing(Source(bright, Clip())) as source:
        assert source.info.picture.light
        step = FilterStep(parse(chain, "vf"), source.info, "vf")
    assert not step.picture.light
    assert "behind `vf` the HDR10 light levels" in step.said[0]
    assert CHAINS[chain] in str(step.said[1:]) and len(step.said) == 1 + bool(CHAINS[chain])


def test_other_filters_keep_hdr10(bright):
    with closing(Source(bright, Clip())) as source:
        step = FilterStep(parse("hflip,scale=32:24", "vf"), source.info, "vf")
        assert step.picture.light == source.info.picture.light and step.said == ()


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_a_film_whose_tones_are_mapped_claims_no_hdr10(bright, tmp_path, codec):
    """Neither filters nor `colour` leave what no longer describes the pictures."""
    chain = next(one for one in CHAINS if "setparams" in one and "tonemap" in one)
    target = tmp_path / "out.mkv"
    preset = Encoding(codec=codec, preset="ultrafast")

    def made(info):
        step = FilterStep(parse(chain, "vf"), info, "vf")
        return step, replace(info, picture=step.picture)

    convert(bright, target, made, encoding=preset)
    stated = replace(preset, colour="bt709")
    other = tmp_path / "other.mkv"
    summary = convert(bright, other, Nearest(), encoding=stated)
    assert any("`colour` states no HDR" in one for one in summary.warnings)
    for path in (target, other):
        frames = read(path).frames
        assert not any(light(side_data(frame)) for frame in frames)
        assert frames[0].color_trc == 1
