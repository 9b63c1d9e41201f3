"""Two films side by side: which frames meet, on which samples, and how it ends."""

from __future__ import annotations

import threading
import time
from fractions import Fraction
from io import BytesIO

import av
import numpy as np
import pytest

from snellen.cpu import threads
from snellen.errors import InputError
from snellen.video.clip import Clip
from snellen.video.comparing.compare import compare
from snellen.video.comparing.luma_reader import LumaReader
from snellen.video.source.decode import Source
from support.video.clips import HEIGHT, WIDTH, luma, make, picture
from support.video.comparisons import Difference, compared


@pytest.fixture
def step():
    return Difference()


def film(path, numbers, format="yuv420p", size=(WIDTH, HEIGHT), rate=25):
    """Write the pictures of these numbers as y4m; return the path."""
    tag = {"yuv420p": "420jpeg", "yuv420p10le": "420p10 XYSCSS=420P10", "gray": "mono"}[format]
    frames = []
    for number in numbers:
        planes = picture(number, format, *size).to_ndarray()
        frames.append(b"FRAME\n" + planes.tobytes())
    head = f"YUV4MPEG2 W{size[0]} H{size[1]} F{rate}:1 Ip A1:1 C{tag}\n".encode()
    path.write_bytes(head + b"".join(frames))
    return path


def test_a_film_and_itself(lossless, step):
    numbers, times, results, summary = compared(lossless, lossless, step)
    assert numbers == list(range(8)) and results == [0] * 8
    assert times == [Fraction(n, 25) for n in range(8)]
    assert step.prepared == (WIDTH, HEIGHT, 8, None)
    for number, (plane, _) in enumerate(step.planes):
        assert (plane == luma(picture(number))).all()  # as coded: nothing is stretched
    assert (summary.reference_frames, summary.distorted_frames) == (8, 8)
    assert (summary.width, summary.height, summary.resized) == (WIDTH, HEIGHT, None)
    assert summary.reference_pictures == "64×48 4:2:0 8 bit"
    assert not summary.warnings and not summary.lost


def test_a_film_without_marks_is_said_to_be_left_as_it_is(tmp_path, step):
    """Of a pipe at the end, since it is read once."""
    source = film(tmp_path / "a.y4m", range(4))
    piped = BytesIO(source.read_bytes())
    *_, summary = compared(source, piped, step, clip=Clip(deinterlace=True))
    early, late = summary.warnings
    assert "is not marked as interlaced, and its content does not say, as 4 of 4 frames" in early
    assert "no picture is marked as interlaced: `deinterlace` left it as it is" in late


@pytest.mark.parametrize("offset", [3, -3])
def test_an_offset_finds_the_delayed_copy(tmp_path, step, offset):
    early, late = (film(tmp_path / f"{n}.y4m", range(n, n + 8)) for n in (3, 0))
    films = (early, late) if offset > 0 else (late, early)
    numbers, _, results, summary = compared(*films, step, offset=offset)
    assert numbers == list(range(max(0, -offset), max(0, -offset) + 5)) and results == [0] * 5
    assert (summary.reference_frames, summary.distorted_frames) == (8, 8)
    assert not summary.warnings


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"every": 3}, [0, 3, 6]),
        ({"every": 3, "offset": -1}, [1, 4, 7]),
        ({"every": 100}, [0]),
        ({"clip": Clip(frames=3)}, [0, 1, 2]),
        ({"clip": Clip(frames=2), "every": 4}, [0, 4]),
        ({"clip": Clip(start=Fraction(2, 25))}, [2, 3, 4, 5, 6, 7]),
        ({"clip": Clip(start=Fraction(1, 30), duration=Fraction(3, 25))}, [1, 2, 3]),
        ({"clip": Clip(start=Fraction(1, 30), frames=2), "every": 2}, [2, 4]),
    ],
)
def test_which_frames(lossless, step, settings, wanted):
    numbers, times, results, _ = compared(lossless, lossless, step, **settings)
    assert numbers == wanted and times == [Fraction(n, 25) for n in wanted]
    assert results[0] == 0 or settings.get("offset")
    for number, (plane, _) in zip(numbers, step.planes, strict=True):
        assert (plane == luma(picture(number))).all()


def test_counts_are_known_where_a_film_ended(lossless, step):
    summary = compared(lossless, lossless, step, clip=Clip(frames=3))[3]
    assert (summary.reference_frames, summary.distorted_frames) == (None, None)


@pytest.mark.parametrize("turned", [False, True])
def test_different_lengths_are_reported(lossless, tmp_path, step, turned):
    films = [lossless, film(tmp_path / "short.y4m", range(5))]
    films = films[::-1] if turned else films
    message = []
    report = lambda *words: message.append(words)  # noqa: E731
    numbers, _, results, summary = compared(*films, step, on_warning=report)
    assert numbers == list(range(5)) and results == [0] * 5
    counts = (5, 8) if turned else (8, 5)
    assert (summary.reference_frames, summary.distorted_frames) == counts
    assert tuple(f"{name}: {text}" if name else text for name, text in message) == summary.warnings
    (length,) = (text for name, text in message if "pairs" in text and not name)
    assert f"{counts[0]} frames" in length and "has 5" in length
    assert length.endswith("5 pairs were compared; frames without a partner were not")


def test_one_pair_is_reported_as_one(lossless, tmp_path, step):
    summary = compared(lossless, film(tmp_path / "one.y4m", [0]), step)[3]
    (length,) = (text for text in summary.warnings if "partner" in text)
    assert "one.y4m has 1 frame: 1 pair was compared; " in length


@pytest.mark.parametrize("offset", [-3, 3])
def test_lengths_that_the_offset_explains_are_no_news(lossless, tmp_path, step, offset):
    """Each frame behind the offset has a partner."""
    short = film(tmp_path / "short.y4m", range(3, 8) if offset < 0 else range(8))
    long = lossless if offset < 0 else film(tmp_path / "long.y4m", [0, 0, 0, *range(8)])
    films = (long, short) if offset < 0 else (short, long)
    _, _, results, summary = compared(*films, step, offset=offset)
    assert not any(results) and not any("partner" in text for text in summary.warnings)


def test_a_warning_names_its_film(lossless, tmp_path, step):
    large, message = film(tmp_path / "large.y4m", range(8), size=(128, 96)), {}
    compared(lossless, large, step, resized=True, on_warning=message.setdefault)
    assert "scaled from 128×96" in message[str(large)]
    assert not any(str(large) in text for text in message.values())


def test_different_depths(tmp_path, step):
    films = (film(tmp_path / f"{f}.y4m", range(3), f) for f in ("yuv420p", "yuv420p10le"))
    compared(*films, step)
    assert step.prepared == (WIDTH, HEIGHT, 0, 255.0)
    for number, (eight, ten) in enumerate(step.planes):
        assert (eight == luma(picture(number))).all()
        np.testing.assert_allclose(ten, luma(picture(number)) * (4 * 255 / 1023), rtol=1e-15)


def test_ten_bits_stay_integers(tmp_path, step):
    ten = film(tmp_path / "ten.y4m", range(2), "yuv420p10le")
    compared(ten, ten, step)
    assert step.prepared == (WIDTH, HEIGHT, 10, None)
    assert (step.planes[1][0] == luma(picture(1)) * np.uint16(4)).all()


def test_grey_meets_colour(lossless, tmp_path, step):
    results = compared(film(tmp_path / "grey.y4m", range(8), "gray"), lossless, step)[2]
    assert results == [0] * 8


def test_rgb_by_bt709_luma(tmp_path, step):
    red = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    red[..., 0] = 255
    path = tmp_path / "rgb.mkv"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "bgr0"
        frame = av.VideoFrame.from_ndarray(red, format="rgb24").reformat(format="bgr0")
        out.mux([*stream.encode(frame), *stream.encode(None)])
    summary = compared(path, path, step)[3]
    assert step.prepared == (WIDTH, HEIGHT, 8, None)
    assert (abs(step.planes[0][0] - (16 + 219 * 0.2126)) <= 1).all()
    assert any("BT.709 luma in limited range" in text for text in summary.warnings)


def test_different_sizes_are_refused(lossless, tmp_path, step):
    small = film(tmp_path / "small.y4m", range(8), size=(32, 24))
    with pytest.raises(InputError, match=r"film.mkv is 64×48, but .*small.y4m is 32×24.*resize"):
        compare(lossless, small, step, print)
    assert step.prepared is None and step.closed == 1


@pytest.mark.parametrize("deep", [False, True])
def test_resizing_the_distorted_one(lossless, tmp_path, step, deep):
    format = "yuv420p10le" if deep else "yuv420p"
    large = film(tmp_path / "large.y4m", range(8), format, (128, 96))
    summary = compared(lossless, large, step, resized=True)[3]
    assert (summary.width, summary.height) == (WIDTH, HEIGHT)
    assert "Lanczos" in summary.resized
    assert any("from 128×96 to 64×48" in text for text in summary.warnings)
    assert summary.distorted_pictures.startswith("128×96")
    assert step.prepared[2] == (0 if deep else 8)


def test_a_stream_of_y4m(lossless, tmp_path, step):
    stream = BytesIO(film(tmp_path / "film.y4m", range(8)).read_bytes())
    assert compared(lossless, stream, step)[2] == [0] * 8


def test_progress(lossless, step):
    reported = []
    compared(lossless, lossless, step, every=2, on_progress=reported.append)
    assert [one.frames for one in reported] == [1, 2, 3, 4]
    assert all(one.total == 4 for one in reported)


def test_what_differs_is_reported(tmp_path, step):
    wide = make(tmp_path / "wide.mkv", frames=3, colour=(2, 1, 1, 1), rotation=90)
    fast = make(tmp_path / "fast.mkv", frames=3, colour=(1, 1, 1, 16), rate=Fraction(50))
    message = " ".join(compared(wide, fast, step)[3].warnings)
    for words in ("25 frames a second", "full range", "transfer functions"):
        assert words in message


def test_damage_is_reported_and_the_rest_compared(lossless, tmp_path, step):
    torn = tmp_path / "torn.y4m"
    torn.write_bytes(film(torn, range(8)).read_bytes()[:-100])
    numbers, _, results, summary = compared(lossless, torn, step)
    assert numbers == list(range(7)) and not any(results)
    (lost,) = summary.lost
    assert "torn.y4m" in lost and "ends early" in lost
    assert (summary.reference_frames, summary.distorted_frames) == (8, 7)


@pytest.mark.cases
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offset": 8}, "offset of 8.*8 of .*film.mkv"),
        ({"offset": -9}, "offset of -9"),
        ({"clip": Clip(start=Fraction(9))}, "at or after 9 s: 8 of .* and 8 of .* were read"),
        ({"clip": Clip(start=Fraction(1, 100), duration=Fraction(1, 100))}, "0.01 s to 0.02 s$"),
        ({"clip": Clip(duration=Fraction(1, 100)), "offset": -1}, "-1 within the first 0.01 s$"),
        ({"every": 0}, "`every`=0|every=0"),
    ],
)
def test_nothing_to_compare(lossless, step, settings, message):
    with pytest.raises(InputError, match=message):
        compare(lossless, lossless, step, print, **settings)
    assert step.closed == 1


def test_unusable_films(lossless, tmp_path, step):
    (tmp_path / "text.mkv").write_text("no film\n" * 100)
    for films in ((lossless, tmp_path / "text.mkv"), (tmp_path / "none.mkv", lossless)):
        with pytest.raises(InputError, match=r"text.mkv|none.mkv"):
            compare(*films, Difference(), print)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("full")])
def test_an_error_ends_both_threads(lossless, error):
    class Failing(Difference):
        def run(self, reference, distorted):
            raise error

    step = Failing()
    with pytest.raises(type(error)):
        compare(lossless, lossless, step, print)
    assert step.closed == 1


def test_frames_are_decoded_while_the_step_is_prepared(lossless, monkeypatch):
    readers = []

    class Watched(LumaReader):
        def __init__(self, *settings):
            super().__init__(*settings)
            readers.append(self)

    class Slow(Difference):
        def prepare(self, format):
            until = time.monotonic() + 20
            while min(reader.frames for reader in readers) < 4 and time.monotonic() < until:
                time.sleep(0.01)
            self.ahead = [reader.frames for reader in readers]
            return super().prepare(format)

    class Failing(Difference):
        def prepare(self, format):
            raise InputError("too small")

    monkeypatch.setattr("snellen.video.comparing.pairing.LumaReader", Watched)
    step = Slow()
    assert compared(lossless, lossless, step)[0] == list(range(8))
    assert min(step.ahead) >= 4
    with pytest.raises(InputError, match="too small"):
        compare(lossless, lossless, Failing(), print)
    assert not [one for one in threading.enumerate() if one.name == "decode" and one.is_alive()]


@pytest.mark.parametrize("failing", [(), (0,), (1,), (0, 1)])
def test_both_films_are_opened_at_once(lossless, monkeypatch, failing):
    """By the settings of the caller's thread; whichever fails, the other one is closed."""
    meet, seen, closed = threading.Barrier(2, timeout=20), [], []
    thread = threading.current_thread()

    class Watched(Source):
        def __init__(self, *settings):
            number = int(threading.current_thread() is not thread)
            meet.wait()
            seen.append(threads.available())
            if number in failing:
                raise InputError(f"film {number}")
            super().__init__(*settings)

        def close(self):
            closed.append(self)
            super().close()

    monkeypatch.setattr("snellen.video.comparing.compare.Source", Watched)
    with threads.limited(3):
        if failing:
            with pytest.raises(InputError, match=f"film {failing[0]}"):
                compare(lossless, lossless, Difference(), print)
        else:
            assert compared(lossless, lossless, Difference())[0] == list(range(8))
    assert seen == [3, 3] and len({*map(id, closed)}) == 2 - len(failing)


def test_a_second_interrupt_closes_no_film_under_its_thread(lossless, monkeypatch):
    """Both threads are stopped before either is waited for."""
    opened, seen = [], []

    class Watched(Source):
        def __init__(self, *settings):
            super().__init__(*settings)
            opened.append(self)

        def stop(self):
            seen.append(("stop", self))
            super().stop()

    class Failing(Difference):
        def run(self, reference, distorted):
            raise KeyboardInterrupt

    def impatient(threads, patience=None):
        seen.append(("wait", *threads))
        raise KeyboardInterrupt

    monkeypatch.setattr("snellen.video.comparing.compare.Source", Watched)
    monkeypatch.setattr("snellen.video.source.thread.join", impatient)
    with pytest.raises(KeyboardInterrupt):
        compare(lossless, lossless, Failing(), print)
    assert [what for what, *_ in seen] == ["stop", "stop", "wait"]
    assert all(film.busy for film in opened)  # so close() leaves them be
    for thread in threading.enumerate():
        if thread.name == "decode":
            thread.join(10)
            assert not thread.is_alive()
    for film in opened:
        film.busy = False
        film.close()
