"""Properties of the pictures: colour, aspect, rotation, siting, light."""

from contextlib import closing
from fractions import Fraction
from io import BytesIO

import av
import pytest
from PIL import ExifTags, Image

from snellen.errors import InputError
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT
from snellen.video.convert import Clip, Encoding
from snellen.video.ffmpeg import chroma_location
from snellen.video.side_data import display_matrix, light, scaled_matrix, side_data
from snellen.video.source.decode import Source
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest

FAST = Encoding(preset="ultrafast")
LIGHT = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
HDR = {"x265-params": f"hdr10=1:master-display={LIGHT}:max-cll=1000,400"}


def colours(path):
    container = av.open(str(path))
    frame = next(container.decode(video=0))
    return (frame.color_range, frame.colorspace, frame.color_primaries, frame.color_trc)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
@pytest.mark.parametrize(
    "colour", [(1, 1, 1, 1), (2, 5, 5, 6), (1, 9, 9, 16), (2, 2, 2, 2)], ids=str
)
def test_colour_tags(tmp_path, step, suffix, colour):
    source = make(tmp_path / "in.mkv", colour=colour, frames=2)
    assert colours(source) == colour
    target = tmp_path / f"out{suffix}"
    convert(source, target, step, encoding=FAST)
    assert colours(target) == colour
    assert step.prepared[0].full_range == (colour[0] == 2)


@pytest.mark.parametrize(
    ("codec", "suffix"),
    [("prores_ks", ".mov"), ("prores_ks", ".mkv"), ("ffv1", ".mp4"), ("mpeg2video", ".mkv")],
)
@pytest.mark.parametrize("colour", [(1, 1, 1, 1), (1, 9, 9, 16), (1, 5, 5, 6)], ids=str)
def test_colour_tags_that_encoders_read_from_the_frame(tmp_path, step, codec, suffix, colour):
    source = make(tmp_path / "in.mkv", colour=colour, frames=2)
    target = tmp_path / f"out{suffix}"
    summary = convert(source, target, step, encoding=Encoding(codec=codec), strict=True)
    assert summary.warnings == ()
    assert colours(target) == colour


@pytest.mark.parametrize(("codec", "suffix"), [("prores_ks", ".mov"), ("prores_ks", ".mkv"),
                                               ("ffv1", ".mp4")])  # fmt: skip
def test_full_range_that_nobody_would_know_of_is_refused(tmp_path, step, codec, suffix):
    """ProRes cannot state it, nor can mp4 without colour properties: players show it too dark."""
    source = make(tmp_path / "in.mkv", colour=(2, 2, 2, 2), frames=2)
    with pytest.raises(
        InputError, match=f"{codec} in {suffix} can only state limited range.*libx26"
    ):
        convert(source, tmp_path / f"out{suffix}", step, encoding=Encoding(codec=codec))
    assert step.prepared is None
    assert not (tmp_path / f"out{suffix}").exists()


def test_colour_tags_that_a_container_cannot_hold_are_named(tmp_path, step):
    source = make(tmp_path / "in.mkv", colour=(1, 9, 2, 2), frames=2)
    encoding = Encoding(codec="ffv1")
    summary = convert(source, tmp_path / "out.mp4", step, encoding=encoding)
    assert summary.dropped == ("colour matrix BT2020: ffv1 in .mp4 cannot state it",)
    with pytest.raises(InputError, match=r"strict.*BT2020"):
        convert(source, tmp_path / "o.mp4", Nearest(), encoding=encoding, strict=True)
    summary = convert(source, tmp_path / "out.y4m", Nearest())
    assert summary.dropped == ("colour matrix BT2020: .y4m cannot state it",)


@pytest.mark.parametrize(
    ("colour", "lost"),
    [((1, 9, 22, 1), "primaries EBU3213"), ((1, 16, 1, 1), "matrix 16")],
)
def test_colours_that_x265_cannot_state_are_named(tmp_path, step, capfd, colour, lost):
    """It would not open with them, and would say so on standard error."""
    source = make(tmp_path / "in.mkv", colour=colour, frames=2, size=(96, 96), codec="ffv1")
    encoding = Encoding(codec="libx265", preset="ultrafast")
    summary = convert(source, tmp_path / "out.mkv", step, encoding=encoding)
    assert [one.lower() for one in summary.dropped] == [
        f"colour {lost.lower()}: libx265 in .mkv cannot state it"
    ]
    assert capfd.readouterr().err == ""


def test_unspecified_stays_unspecified(tmp_path, step):
    source = make(tmp_path / "in.mkv", frames=2)
    convert(source, tmp_path / "out.mp4", step, encoding=FAST)
    assert colours(tmp_path / "out.mp4") == colours(source) == (0, 2, 2, 2)


def test_grey_has_no_matrix(tmp_path, step):
    """PNG's decoder says that it is RGB, which encoders refuse for YUV."""
    frames = [Image.new("L", (64, 48), 60 * n) for n in range(3)]
    frames[0].save(tmp_path / "in.png", save_all=True, append_images=frames[1:], duration=40)
    with closing(Source(tmp_path / "in.png", Clip())) as source:
        assert source.info.picture.colorspace == 2  # unspecified
    convert(tmp_path / "in.png", tmp_path / "out.avif", step, encoding=Encoding(preset="11"))
    with Image.open(tmp_path / "out.avif") as made:
        assert made.n_frames == 3


def test_motion_jpeg_is_full_range_and_centred(tmp_path, step):
    source = make(tmp_path / "in.mkv", codec="mjpeg", pix_fmt="yuvj420p", frames=2,
                  options={"qmin": "1", "qmax": "1"})  # fmt: skip
    convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    given = step.prepared[0]
    assert (given.full_range, given.siting) == (True, CENTRE)
    assert colours(tmp_path / "out.mkv")[0] == 2
    with av.open(str(tmp_path / "out.mkv")) as back:
        assert chroma_location(back, back.streams.video[0]) == "center"


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
@pytest.mark.parametrize(
    ("location", "siting"), [("left", LEFT), ("center", CENTRE), ("topleft", TOP_LEFT)]
)
def test_chroma_location(tmp_path, step, codec, location, siting):
    source = make(tmp_path / "in.mp4", frames=2, options={"chroma_sample_location": location})
    convert(source, tmp_path / "o.mkv", step, encoding=Encoding(codec=codec, preset="ultrafast"))
    assert step.prepared[0].siting == siting
    with av.open(str(tmp_path / "o.mkv")) as back:
        assert chroma_location(back, back.streams.video[0]) == location


def test_chroma_location_that_the_codec_cannot_say(tmp_path, step):
    source = make(tmp_path / "in.mp4", frames=2, options={"chroma_sample_location": "center"})
    encoding = Encoding(codec="libsvtav1", preset="11")
    summary = convert(source, tmp_path / "out.mp4", step, encoding=encoding)
    assert any("chroma location center" in w for w in summary.warnings)


def test_siting_of_four_one_one_lies_on_the_first_of_four(tmp_path):
    source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv411p", frames=1)
    opened = Source(source, Clip())
    assert opened.info.picture.format.siting == (0.125, 0.5)
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_sample_aspect_ratio(tmp_path, step, suffix):
    source = make(tmp_path / "in.mkv", aspect=Fraction(16, 11), frames=2)
    summary = convert(source, tmp_path / f"out{suffix}", step, encoding=FAST)
    assert summary.warnings == ()
    with av.open(str(tmp_path / f"out{suffix}")) as back:
        assert Fraction(*_ratio(back.streams.video[0].sample_aspect_ratio)) == Fraction(16, 11)


def _ratio(value):
    return value.numerator, value.denominator


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotation(tmp_path, step, suffix, degrees):
    source = make(tmp_path / "in.mp4", rotation=degrees, frames=2)
    summary = convert(source, tmp_path / f"out{suffix}", step, encoding=FAST)
    assert summary.warnings == ()
    before, after = read(source).frames[0], read(tmp_path / f"out{suffix}").frames[0]
    assert before.rotation % 360 == degrees
    assert after.rotation == before.rotation


def test_rotation_in_y4m_is_lost_and_reported(tmp_path, step):
    source = make(tmp_path / "in.mp4", rotation=90, frames=2)
    summary = convert(source, tmp_path / "out.y4m", step)
    assert any("rotation" in w for w in summary.dropped)


def test_the_shift_of_a_display_matrix_grows_with_the_picture():
    matrix = (0, 65536, 0, -65536, 0, 0, 48 << 16, 3, 1 << 30)
    grown = scaled_matrix(matrix, Fraction(2), Fraction(3))
    assert grown == (*matrix[:6], 96 << 16, 9, 1 << 30)
    extreme = scaled_matrix((*matrix[:6], 2**31 - 1, -(2**31), 1), Fraction(2), Fraction(3))
    assert extreme[6:8] == (2**31 - 1, -(2**31))


def test_the_shift_of_a_film_grows_with_it(tmp_path, step):
    """Phones write such matrices, which move the turned picture back to the origin."""
    upright, shifted = make(tmp_path / "in.mp4", rotation=90, frames=2), tmp_path / "shifted.mp4"
    matrix = display_matrix(side_data(read(upright).frames[0]))
    with av.open(str(upright)) as inside, av.open(str(shifted), "w") as out:
        stream = out.add_stream_from_template(inside.streams.video[0])
        stream.set_display_matrix((*matrix[:6], 48 << 16, 5 << 16, matrix[8]))
        for packet in inside.demux():
            if packet.size:
                packet.stream = stream
                out.mux(packet)
    convert(shifted, tmp_path / "out.mp4", step, encoding=FAST)
    after = display_matrix(side_data(read(tmp_path / "out.mp4").frames[0]))
    assert after == (*matrix[:6], 96 << 16, 10 << 16, matrix[8])


@pytest.fixture(scope="module")
def bright(tmp_path_factory):
    """HDR10: 10 bit, PQ, with mastering display and light levels."""
    return make(tmp_path_factory.mktemp("hdr") / "in.mkv", codec="libx265", pix_fmt="yuv420p10le",
                frames=3, colour=(1, 9, 9, 16), options=HDR)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["libx265", "libx264", "libsvtav1"])
@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_static_hdr_metadata(bright, tmp_path, step, codec, suffix):
    preset = "11" if codec == "libsvtav1" else "ultrafast"
    target = tmp_path / f"out{suffix}"
    summary = convert(bright, target, step, encoding=Encoding(codec=codec, preset=preset))
    assert summary.warnings == ()
    assert summary.pixel_format == "yuv420p10le"
    # Some decoders state it in every frame, some in the first, some in all but the first.
    reported = [[light(side_data(frame)) for frame in read(p).frames] for p in (bright, target)]
    before, after = (next(one for one in many if one.mastering and one.levels) for many in reported)
    assert before.levels == after.levels == (1000, 400)
    assert before.luminance == (Fraction(50, 10000), Fraction(1000))
    for old, new in zip(before.primaries, after.primaries, strict=True):
        assert float(new) == pytest.approx(float(old), abs=2e-5)
    for old, new in zip(before.luminance, after.luminance, strict=True):
        assert float(new) == pytest.approx(float(old), abs=2e-5)
    assert colours(target) == (1, 9, 9, 16)


def test_hdr_that_a_codec_is_not_reported_is_named(bright, tmp_path, step):
    encoding = Encoding(codec="ffv1")
    summary = convert(bright, tmp_path / "out.mkv", step, encoding=encoding)
    assert any("mastering display" in w for w in summary.warnings)
    with pytest.raises(InputError, match="mastering display"):
        convert(bright, tmp_path / "out2.mkv", step, encoding=encoding, strict=True)


def test_encoders_are_quiet(bright, tmp_path, capfd):
    for codec in ("libx264", "libx265", "libsvtav1"):
        preset = "11" if codec == "libsvtav1" else "ultrafast"
        encoding = Encoding(codec=codec, preset=preset)
        convert(bright, tmp_path / f"{codec}.mkv", Nearest(), encoding=encoding)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("orientation", [1, 6])
def test_exif_of_motion_jpeg(tmp_path, step, orientation):
    """PyAV does not know FFmpeg's side data for it, and refuses all of such a frame."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    data = BytesIO()
    Image.new("RGB", (64, 48), "teal").save(data, "JPEG", exif=exif)
    with av.open(str(tmp_path / "a.mov"), "w") as out:
        stream = out.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        out.start_encoding()
        for number in range(2):
            packet = av.Packet(data.getvalue())
            packet.stream, packet.time_base = stream, Fraction(1, 25)
            packet.pts = packet.dts = number
            out.mux(packet)
    with closing(Source(tmp_path / "a.mov", Clip())) as source:
        assert (source.info.picture.display_matrix is None) == (orientation == 1)
        assert len([one for one in source.items() if one.frame is not None]) == 2
