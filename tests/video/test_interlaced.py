"""Interlaced, telecined and progressive pictures, by marks and by content."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from snellen.errors import InputError
from snellen.video.convert import Clip, Encoding
from snellen.video.media import Content
from snellen.video.source.content import (
    INTERLACED,
    PROGRESSIVE,
    TELECINED,
    UNCERTAIN,
    Label,
    content_of,
    judged,
)
from support.video.checks import FAST
from support.video.clips import luma, make, picture, read
from support.video.converting import convert
from support.video.steps import Nearest

LOSSLESS = Encoding(preset="ultrafast", crf=0)
NTSC = Fraction(30000, 1001)


def marked(path, **settings):
    """H.264 with interlaced frames, MBAFF as x264 likes, its samples exact; top field first."""
    options = {"preset": "medium", "crf": "0"}
    return make(path, interlaced=True, options=options, **settings)


@pytest.fixture(params=["in.mkv", pytest.param("in.mp4", marks=pytest.mark.slow)])
def source(request, tmp_path):
    return marked(tmp_path / request.param, fields="woven", audio="aac")


def converted(source, target, **clip):
    return convert(source, target, Nearest(1), clip=Clip(**clip), encoding=LOSSLESS)


class TestMarkedAndInterlaced:
    def test_is_refused_with_advice(self, source, tmp_path, step):
        assert read(source).frames[0].interlaced_frame
        with pytest.raises(InputError, match="deinterlace makes"):
            convert(source, tmp_path / "out.mkv", step, encoding=FAST)
        assert not (tmp_path / "out.mkv").exists()

    @pytest.mark.slow
    def test_frames_keep_number_and_times(self, source, tmp_path, step):
        clip = Clip(deinterlace="frame")
        assert clip == Clip(deinterlace=True)
        summary = convert(source, tmp_path / "out.mp4", step, clip=clip, encoding=FAST)
        assert summary.warnings == ()
        before, after = read(source), read(tmp_path / "out.mp4")
        assert len(after.frames) == 25
        shift = after.times[0] - before.times[0]
        assert [t - shift for t in after.times] == before.times
        assert not after.frames[3].interlaced_frame

    @pytest.mark.slow
    def test_the_second_field_is_interpolated(self, source, tmp_path):
        """bwdif keeps the rows of the first field as they are and makes the others anew."""
        converted(source, tmp_path / "out.mkv", deinterlace=True)
        old, new = luma(read(source).frames[9]), luma(read(tmp_path / "out.mkv").frames[9])
        assert np.array_equal(old[0::2], new[0::2])
        assert not np.array_equal(old[1::2], new[1::2])

    @pytest.mark.slow
    def test_each_field_becomes_a_frame(self, source, tmp_path):
        summary = converted(source, tmp_path / "out.mp4", deinterlace="field")
        before, after = read(source), read(tmp_path / "out.mp4")
        assert summary.frames == len(after.frames) == 50
        assert [t - after.times[0] for t in after.times] == [Fraction(n, 50) for n in range(50)]
        assert set(after.durations) == {Fraction(1, 50)}
        assert float(after.container.streams.video[0].average_rate) == 50
        for number in (8, 9):
            rows = slice(number % 2, None, 2)
            kept = luma(before.frames[number // 2])[rows]
            assert np.array_equal(luma(after.frames[number])[rows], kept)
        sound = [payload for _, payload in before.packets[1]]
        assert [payload for _, payload in after.packets[1]] == sound

    def test_a_part_of_it_at_twice_the_rate(self, source, tmp_path):
        """`frames` counts results, and the start is where it is without deinterlacing."""
        converted(source, tmp_path / "out.mkv", deinterlace="field", start=Fraction(2, 5), frames=6)
        after = read(tmp_path / "out.mkv")
        assert [t - after.times[0] for t in after.times] == [Fraction(n, 50) for n in range(6)]
        kept = luma(read(source).frames[10])[0::2]
        assert np.array_equal(luma(after.frames[0])[0::2], kept)

    @pytest.mark.slow
    def test_the_user_may_say_that_it_is_not(self, source, tmp_path):
        converted(source, tmp_path / "out.mkv", interlaced="ignore")
        before, after = read(source), read(tmp_path / "out.mkv")
        assert all(map(np.array_equal, map(luma, before.frames), map(luma, after.frames)))


class TestMarkedButProgressive:
    def test_is_taken_as_it_is_and_said(self, tmp_path):
        source = marked(tmp_path / "in.mkv")
        assert read(source).frames[0].interlaced_frame
        summary = converted(source, tmp_path / "out.mkv")
        (warning,) = summary.warnings
        assert "marked as interlaced, but its pictures are progressive" in warning
        after = read(tmp_path / "out.mkv")
        for number in (0, 7, 24):
            assert np.array_equal(luma(after.frames[number]), luma(picture(number)))
        assert converted(source, tmp_path / "two.mkv", deinterlace=True).warnings == (warning,)

    @pytest.mark.parametrize(("first", "kept"), [("top", 0), ("bottom", 1)])
    def test_the_user_may_say_that_it_is_interlaced(self, tmp_path, first, kept):
        """Of frames that carry no mark, too."""
        source = make(tmp_path / "in.mkv", codec="ffv1", frames=6)
        with pytest.raises(InputError, match=f"interlaced={first} says .* deinterlace beside it"):
            converted(source, tmp_path / "out.mkv", interlaced=first)
        converted(source, tmp_path / "out.mkv", interlaced=first, deinterlace=True)
        old, new = luma(picture(3)), luma(read(tmp_path / "out.mkv").frames[3])
        assert np.array_equal(old[kept::2], new[kept::2])
        assert not np.array_equal(old[1 - kept :: 2], new[1 - kept :: 2])

    def test_a_film_that_is_too_short_to_tell_is_refused(self, tmp_path, step):
        source = marked(tmp_path / "in.mkv", frames=5)
        with pytest.raises(InputError, match=r"marked as inter.* 5 of 5 frames .*ignore"):
            convert(source, tmp_path / "out.mkv", step, encoding=FAST)


class TestTelecine:
    @pytest.fixture(params=[pytest.param("in.mkv", marks=pytest.mark.slow), "in.mp4"])
    def source(self, request, tmp_path):
        return marked(
            tmp_path / request.param, fields="telecined", rate=NTSC, frames=43, audio="aac"
        )

    def test_is_refused_with_advice(self, source, tmp_path, step):
        with pytest.raises(InputError, match="is telecined") as caught:
            convert(source, tmp_path / "out.mkv", step, encoding=FAST)
        assert caught.value.parameter == "ivtc"

    @pytest.mark.slow
    def test_the_film_comes_back_exactly(self, source, tmp_path):
        summary = converted(source, tmp_path / "out.mp4", ivtc=True)
        after = read(tmp_path / "out.mp4")
        # Of the last cycle, which is not complete, no frame is dropped.
        assert summary.frames == len(after.frames) == 32 + 3
        for number, frame in enumerate(after.frames[:32]):
            assert np.array_equal(luma(frame), luma(picture(number)))
        tick = Fraction(1, 1000)  # Matroska's, of the input
        for number, time in enumerate(after.times):
            assert abs(time - after.times[0] - number / NTSC * 5 / 4) <= tick
        rate = float(after.container.streams.video[0].average_rate)
        assert rate == pytest.approx(24000 / 1001, rel=0.01)

    @pytest.mark.slow
    def test_the_sound_keeps_its_times(self, source, tmp_path):
        converted(source, tmp_path / "out.mkv", ivtc=True)
        before, after = read(source).packets[1], read(tmp_path / "out.mkv").packets[1]
        assert [payload for _, payload in before] == [payload for _, payload in after]
        for (old, _), (new, _) in zip(before, after, strict=True):
            assert abs(old - new) <= Fraction(1, 1000)

    def test_after_a_gap_the_film_is_where_the_sound_is(self, tmp_path):
        times = [n * 1001 + (30000 if n >= 15 else 0) for n in range(40)]
        source = marked(
            tmp_path / "in.mp4", fields="telecined", rate=NTSC, times=times,
            time_base=Fraction(1, 30000),
        )  # fmt: skip
        converted(source, tmp_path / "out.mp4", ivtc=True)
        after = read(tmp_path / "out.mp4").times
        assert after[12] - after[0] == Fraction(times[15], 30000)

    def test_the_offer_where_it_is_deinterlaced(self, source, tmp_path):
        summary = converted(source, tmp_path / "out.mkv", deinterlace=True)
        assert "`ivtc` would restore" in summary.warnings[0]

    def test_video_is_not_telecined(self, tmp_path):
        source = marked(tmp_path / "in.mkv", fields="woven")
        with pytest.raises(InputError, match="is not telecined"):
            converted(source, tmp_path / "out.mkv", ivtc=True)
        converted(source, tmp_path / "out.mkv", ivtc=True, interlaced="top")
        assert len(read(tmp_path / "out.mkv").frames) == 20

    def test_film_without_marks(self, tmp_path):
        """As in copies of a DVD; the content says which field is first."""
        source = make(tmp_path / "in.mkv", codec="mpeg4", rate=NTSC, frames=40, unmarked=True,
                      fields="telecined", options={"qmin": "1", "qmax": "1"})  # fmt: skip
        assert not read(source).frames[2].interlaced_frame
        assert converted(source, tmp_path / "out.mkv", ivtc=True).frames == 32
        found = [luma(frame).astype(int) for frame in read(tmp_path / "out.mkv").frames]
        for number, plane in enumerate(found):  # a picture of another number differs by 10
            assert np.abs(plane - luma(picture(number))).mean() < 3

    def test_deep_samples_are_refused(self, tmp_path):
        source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt="yuv420p10le", frames=6)
        with pytest.raises(InputError, match="more than 8 bits"):
            converted(source, tmp_path / "out.mkv", ivtc=True, interlaced="top")


@pytest.mark.slow
def test_progressive_pictures_pass_the_deinterlacer_option_untouched(plain, tmp_path, step):
    clip = Clip(deinterlace=True)
    summary = convert(plain, tmp_path / "out.mkv", step, clip=clip, encoding=LOSSLESS)
    (warning,) = summary.warnings
    assert "is not marked as interlaced, and does not look so" in warning
    assert "`interlaced`=top" in warning
    after = read(tmp_path / "out.mkv")
    for old, new in zip(read(plain).frames, after.frames, strict=True):
        assert np.array_equal(luma(old).repeat(2, 0).repeat(2, 1), luma(new))


def without_marks(path, **settings):
    """A combed film whose marks are lost, as of a careless capture; top field first."""
    return make(path, codec="mpeg4", unmarked=True, options={"qmin": "1", "qmax": "1"}, **settings)


class TestCombsWithoutMarks:
    @pytest.mark.slow
    def test_are_deinterlaced_if_that_is_asked_for(self, tmp_path):
        source = without_marks(tmp_path / "in.mkv", fields="woven")
        assert not read(source).frames[2].interlaced_frame
        assert converted(source, tmp_path / "out.mkv", deinterlace=True).warnings == ()
        old, new = luma(read(source).frames[9]), luma(read(tmp_path / "out.mkv").frames[9])
        assert np.array_equal(old[0::2], new[0::2]) and not np.array_equal(old[1::2], new[1::2])

    @pytest.mark.parametrize(("fields", "advice"), [("woven", "`deinterlace`"),
                                                    ("telecined", "`ivtc`")])  # fmt: skip
    def test_are_warned_of_in_sizes_of_television(self, tmp_path, fields, advice):
        source = without_marks(
            tmp_path / "in.mkv", fields=fields, size=(64, 576), frames=40, rate=NTSC
        )
        (warning,) = converted(source, tmp_path / "out.mkv").warnings
        assert f"looks {'interlaced' if fields == 'woven' else fields}" in warning
        assert f"{advice} makes" in warning
        assert converted(source, tmp_path / "2.mkv", interlaced="ignore").warnings == ()

    @pytest.mark.slow
    def test_progressive_film_of_such_a_size_is_not(self, tmp_path):
        source = make(tmp_path / "in.mkv", size=(64, 576))
        assert converted(source, tmp_path / "out.mkv").warnings == ()


def test_fields_known_to_the_container_alone(tmp_path, step):
    """FFV1 flags no picture; the header of Matroska says top field first."""
    source = make(tmp_path / "in.mkv", codec="ffv1", fields="woven", frames=6)
    with av.open(str(source)) as opened:
        assert int(opened.streams.video[0].codec_context.field_order) in (2, 4)
    with pytest.raises(InputError, match="deinterlace makes"):
        convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    clip = Clip(deinterlace=True)
    convert(source, tmp_path / "out.mkv", Nearest(1), clip=clip, encoding=Encoding(codec="ffv1"))
    old, new = read(source), read(tmp_path / "out.mkv")
    assert len(new.frames) == 6
    assert np.array_equal(luma(old.frames[3])[0::2], luma(new.frames[3])[0::2])


def labels(text):
    """One letter for each frame: t, b, p, u; T, B: with a repeated field, too."""
    kinds = {"t": "tff", "b": "bff", "p": "progressive", "u": "undetermined"}
    return [Label(kinds[letter.lower()], letter.isupper()) for letter in text]


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("places", "kind"),
    [
        (["p" * 40, "p" * 40], PROGRESSIVE),
        (["p" * 40, "u" * 40, "p" * 39 + "t"], PROGRESSIVE),
        (["t" * 40, "u" * 40], INTERLACED),
        (["p" * 40] * 5 + ["u" * 38 + "tt"], INTERLACED),  # a short title that moves
        (["p" * 40] * 2 + ["pppptp" * 6], INTERLACED),
        (["u" * 40] * 6, UNCERTAIN),
        ([], UNCERTAIN),
        (["pTtBp" * 8], TELECINED),
        (["pTtBp" * 8, "Bt" + "ppTtB" * 7, "u" * 40], TELECINED),
        (["pTtBp" * 8, "t" * 40, "t" * 40, "t" * 40], INTERLACED),
        (["tTtBt" * 3 + "TtttT" * 3 + "ttTBT" * 2], INTERLACED),  # repeats without a cycle
    ],
)
def test_what_labels_mean_together(places, kind):
    assert judged([labels(place) for place in places]).kind == kind


def test_places_of_a_film(tmp_path):
    source = make(tmp_path / "in.mkv", frames=120, key=tuple(range(0, 120, 20)))
    content = content_of(source, "it")
    assert content.kind == PROGRESSIVE
    assert 100 < content.frames <= 240


@pytest.mark.cases
@pytest.mark.parametrize(
    "settings",
    [
        {"deinterlace": "twice"},
        {"interlaced": "yes"},
        {"ivtc": 1},
        {"ivtc": True, "deinterlace": True},
        {"interlaced": "ignore", "deinterlace": True},
    ],
)
def test_settings_that_do_not_exist(settings):
    with pytest.raises(InputError) as caught:
        Clip(**settings)
    assert caught.value.parameter in settings


def test_a_film_that_is_marked_and_does_not_move(tmp_path, step):
    """Counts of nothing are no reason."""
    source = tmp_path / "in.mkv"
    with av.open(str(source), "w") as out:
        stream = out.add_stream("libx264", rate=25, options={"x264-params": "tff=1"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(10):
            out.mux(stream.encode(picture(0)))
        out.mux(stream.encode(None))
    with pytest.raises(InputError, match="as none of 10 frames moves enough; if it is") as caught:
        convert(source, tmp_path / "out.mkv", step, encoding=FAST)
    assert "0 interlaced" not in str(caught.value) and "deinterlace makes" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (Content(UNCERTAIN, 0, 0, 10, None), "as none of 10 frames moves enough"),
        (Content(UNCERTAIN, 1, 2, 3, None), "as 3 of 3 frames that tell are too few"),
        (Content(INTERLACED, 9, 1, 20, "top"), "idet finds 9 interlaced and 1 progressive"),
    ],
)
def test_what_is_said_of_content(content, said):
    assert said in str(content)
