"""Animations last as long as their source, to the last picture, and are repeated as often."""

from __future__ import annotations

import io
import time
from contextlib import closing
from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

import snellen
from snellen.errors import InputError
from snellen.video.animations import gif_blocks, loop, lost_plays, plays
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.source.decode import Source
from support.video.converting import convert
from support.video.steps import Nearest

DURATIONS = [40, 100, 1000, 30]
INPUTS = [".gif", ".png"] + [".webp"] * ("webp_anim" in av.formats_available)


def animation(path, total, durations=DURATIONS):
    """Save pictures of these durations in milliseconds; played so often, 0: for ever."""
    ramp = np.add.outer(np.arange(48) * 4, np.arange(64) * 3) % 256
    one = np.stack([ramp, ramp[::-1], ramp[:, ::-1]], -1).astype(np.uint8)
    pictures = [Image.fromarray(np.roll(one, 5 * n, 1)) for n in range(len(durations))]
    stated = total - 1 if path.suffix == ".gif" and total else total
    how = {} if path.suffix == ".gif" and total == 1 else {"loop": stated}
    if path.suffix == ".webp":
        how["lossless"] = True
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=durations, **how)
    return path


def film(path, times, pictures=(0, 1, 2, 3)):
    """Write a film of pictures at these times in milliseconds."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 16, 12, "yuv444p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for time, number in zip(times, pictures, strict=False):
            picture = Image.new("RGB", (16, 12), (60 * number, 90, 30))
            frame = av.VideoFrame.from_image(picture).reformat(format="yuv444p")
            frame.pts, frame.time_base = time, Fraction(1, 1000)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def facts(path):
    """Return the durations in milliseconds, and how often the pictures are played."""
    durations = []
    with Image.open(path) as file:
        for number in range(file.n_frames):
            file.seek(number)
            file.load()
            durations.append(file.info["duration"])
        total = file.info.get("loop")
    if path.suffix == ".gif":
        total = 1 if total is None else total + 1 if total else 0
    return durations, total


def repeated(path):
    """Return how often an AVIF is played, by its edit list and its track's header."""
    data = path.read_bytes()

    def box(name, wide, narrow):
        body = data[data.index(name) + 4 :]
        place, size = (wide, 8) if body[0] else (narrow, 4)
        return body[3], int.from_bytes(body[place : place + size], "big")

    edits, length = box(b"elst", 8, 8)
    _, whole = box(b"tkhd", 28, 20)
    if not edits & 1:
        return 1
    return 0 if whole == 2**63 - 1 else round(whole / (length >> 32 if length >> 32 else length))


@pytest.mark.parametrize("total", [0, 1, 3])
@pytest.mark.parametrize("suffix", INPUTS)
def test_of_each_format_to_each(tmp_path, suffix, total):
    source = animation(tmp_path / f"in{suffix}", total)
    for out in (".gif", ".webp"):
        target = tmp_path / f"out{out}"
        found = convert(source, target, Nearest(1), quality=100 if out == ".webp" else None)
        assert facts(target) == (DURATIONS, total)
        assert not any("played" in one for one in found.warnings)


def test_of_the_commands_and_behind_filters(tmp_path):
    source = animation(tmp_path / "in.gif", 3)
    snellen.upscale_file(source, tmp_path / "a.gif", method="cnn-fast", device="cpu", vf="negate")
    assert facts(tmp_path / "a.gif") == (DURATIONS, 3)
    snellen.deblur_file(
        source, tmp_path / "b.gif", psf=np.ones((3, 3)), iterations=1, device="cpu"
    )  # fmt: skip
    assert facts(tmp_path / "b.gif") == (DURATIONS, 3)


@pytest.mark.parametrize("total", [0, 1, 3])
def test_to_avif(tmp_path, total):
    source = animation(tmp_path / "in.gif", total)
    convert(source, tmp_path / "out.avif", Nearest(1), encoding=Encoding(preset="12"))
    assert facts(tmp_path / "out.avif")[0] == DURATIONS
    assert repeated(tmp_path / "out.avif") == total


def test_what_other_outputs_do_not_hold_is_said(tmp_path):
    quick = Encoding(codec="libx264", preset="ultrafast")
    for total, often in ((0, "for ever"), (3, "3 times")):
        source = animation(tmp_path / "in.gif", total)
        for target, how in (("a.mp4", quick), ("a.y4m", None), ("f%d.png", None)):
            said = f"it is played {often}: .{target[-3:]} holds no repetitions"
            with pytest.raises(InputError, match=said):
                convert(source, tmp_path / target, Nearest(1), encoding=how, strict=True)
    source = animation(tmp_path / "once.gif", 1)
    found = convert(source, tmp_path / "a.mkv", Nearest(1), encoding=Encoding(codec="ffv1"))
    assert found.dropped == ()


def test_a_film_is_repeated_for_ever(tmp_path):
    for out in (".gif", ".webp"):
        convert(film(tmp_path / "in.mkv", [0, 40, 140]), tmp_path / f"out{out}", Nearest(1))
        durations, total = facts(tmp_path / f"out{out}")
        assert (durations[:-1], total) == ([40, 100], 0)


def test_a_picture_that_no_delay_of_gif_is_long_enough_for(tmp_path):
    """Two bytes hold 655.35 s: it is written again."""
    convert(film(tmp_path / "in.mkv", [0, 700_000, 700_040]), tmp_path / "out.gif", Nearest(1))
    assert facts(tmp_path / "out.gif")[0][:-1] == [655_350, 44_650, 40]


def test_equal_pictures_of_webp(tmp_path):
    """Its encoder makes one of them, which lasts as long as all."""
    source = film(tmp_path / "in.mkv", [0, 40, 140, 1140], (0, 1, 1, 1))
    with closing(Source(source, Clip())) as opened:
        last = [item.frame.duration for item in opened.items() if item.frame][-1]
    convert(source, tmp_path / "out.webp", Nearest(1), quality=100)
    assert facts(tmp_path / "out.webp")[0] == [40, 1100 + last]


def test_plays_are_read(tmp_path):
    for suffix in INPUTS:
        for total in (0, 1, 2, 70_000 if suffix == ".png" else 65_535):
            path = animation(tmp_path / f"in{suffix}", total, [40, 40])
            with closing(Source(path, Clip())) as source:
                assert source.info.plays == total
    with closing(Source(animation(tmp_path / "still.gif", 1, [40]), Clip())) as source:
        assert source.info.plays == 1


def test_plays_of_what_ends_early(tmp_path):
    """A file that is cut off anywhere gives an answer, and no error."""
    for suffix, container in ((".gif", "gif"), (".png", "apng"), (".webp", "webp_anim")):
        data = animation(tmp_path / f"in{suffix}", 5, [40, 40]).read_bytes()
        assert plays(io.BytesIO(data), container) == 5
        for size in range(100):
            assert plays(io.BytesIO(data[:size]), container) in (None, 1, 5)
    assert plays(io.BytesIO(data), "matroska") is None


def test_zeros_between_blocks_are_skipped_at_once(tmp_path):
    Image.new("L", (2, 2)).save(path := tmp_path / "a.gif")
    data = path.read_bytes()
    blocks = [one.kind for one in gif_blocks(io.BytesIO(data))]
    begin = time.process_time()
    late = list(gif_blocks(io.BytesIO(data[:-1] + bytes(20_000_000) + data[-1:])))
    assert time.process_time() - begin < 0.5
    assert [one.kind for one in late] == blocks and late[-1].at == len(data) - 1 + 20_000_000


def test_another_program_states_repetitions_too(tmp_path):
    """And other extensions, as of XMP, may come before."""
    data = animation(tmp_path / "in.gif", 5, [40, 40]).read_bytes()
    assert plays(io.BytesIO(data.replace(b"NETSCAPE2.0", b"ANIMEXTS1.0")), "gif") == 5
    assert plays(io.BytesIO(data.replace(b"NETSCAPE2.0", b"SOMEBODY1.0")), "gif") == 1
    first = next(gif_blocks(io.BytesIO(data))).at
    before = b"\x21\xfe\x05hello\0" + b"\x21\xff\x0bXMP DataXMP\x03abc\0"
    assert plays(io.BytesIO(data[:first] + before + data[first:]), "gif") == 5


def test_numbers_that_a_format_does_not_state(tmp_path):
    """PNG has 32 bits for them, GIF and WebP 16."""
    source = animation(tmp_path / "in.png", 70_000)
    with closing(Source(source, Clip())) as opened:
        said = lost_plays(opened.info, "gif", ".gif")
        assert said == ("it is played 70,000 times, of which .gif states 65,536",)
        assert lost_plays(opened.info, "avif", ".avif") == ()
    assert (loop(70_000, "gif"), loop(70_000, "webp")) == ("65535", "65535")
    assert (loop(1, "gif"), loop(1, "webp"), loop(0, "gif"), loop(None, "webp")) == (
        "-1", "1", "0", "0",
    )  # fmt: skip
