"""Several steps as one: sizes, depths and numbers of frames that change, and planes on a GPU."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame
from snellen.frames.step import Traits
from snellen.video.clip import Clip
from snellen.video.convert import Encoding
from snellen.video.steps.chain import Chain
from snellen.video.steps.region import LumaOperation, RegionStep
from snellen.video.steps.track import Track
from support.video.clips import HEIGHT, WIDTH, luma, make, picture, read
from support.video.converting import convert, drain
from support.video.steps import Device, Double, Half, Nearest, OnDevice, Wide

LOSSLESS = Encoding(codec="ffv1")


@pytest.fixture
def film(tmp_path):
    """Nine frames, exactly `picture(0)` … `picture(8)`, with audio."""
    return make(tmp_path / "in.mkv", codec="ffv1", frames=9, audio="aac")


def converted(source, target, step, **settings):
    summary = convert(source, target, step, encoding=LOSSLESS, **settings)
    return summary, read(target)


def frame(number=0, bits=8):
    format = Format(8, 6, bits)
    return Frame((np.full(format.shapes[0], 16 + number, format.dtype),), pts=number, duration=1)


@pytest.mark.slow
@pytest.mark.parametrize("slots", [(1, 1), (3, 1), (1, 3), (3, 2)])
def test_frames_in_flight_change_nothing(plain, tmp_path, slots):
    """The same frames, times and packets as one step after the other, whatever overlaps."""
    one, other = (Wide(n) if n > 1 else Nearest() for n in slots)
    _, both = converted(plain, tmp_path / "both.mkv", Chain(one, other))
    converted(plain, tmp_path / "first.mkv", Nearest())
    _, apart = converted(tmp_path / "first.mkv", tmp_path / "second.mkv", Nearest())
    assert both.frames[0].width == 4 * WIDTH
    assert both.times == apart.times and both.packets == apart.packets
    assert len(both.frames) == 25
    for a, b in zip(both.frames, apart.frames, strict=True):
        assert (luma(a) == luma(b)).all()
    for step, count in zip((one, other), slots, strict=True):
        assert (step.ran, step.closed) == (25, 1)
        assert count == 1 or (2 <= step.most <= count and step.at_close == 0)


def test_two_steps_work_at_once(plain):
    """Frame n + 1 is in the first step while frame n is in the second."""
    meet = threading.Barrier(2, timeout=20)

    class Meeting(Wide):
        def work(self, frame):
            if frame.pts == self.when:
                meet.wait()
            return super().work(frame)

    one, other = Meeting(2, linger=0), Meeting(2, linger=0)
    one.when, other.when = 512, 0  # in ticks of 1/12800 s
    assert drain(plain, Chain(one, other), clip=Clip(frames=4)) == 4


class Submitting(Nearest):
    """A step with frames in flight, but no threads: each is enlarged when its result is due."""

    def __init__(self, slots=3):
        super().__init__()
        self.traits = Traits(slots=slots, call="submit")
        self.waiting, self.most, self.at_close = [], 0, None

    def submit(self, frame):
        self.waiting.append(frame.pts)
        self.most = max(self.most, len(self.waiting))

        def wait():
            assert self.waiting.pop(0) == frame.pts
            return self.run(frame)

        return wait


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [(Submitting, Wide), (Wide, Submitting), (Submitting,) * 2])
def test_steps_with_submit(plain, tmp_path, kinds):
    """Their frames stay in order, in whatever threads the steps around them run."""
    steps = [kind() for kind in kinds]
    _, both = converted(plain, tmp_path / "both.mkv", Chain(*steps))
    _, apart = converted(plain, tmp_path / "apart.mkv", Nearest(4))
    assert both.times == apart.times and both.packets == apart.packets
    for a, b in zip(both.frames, apart.frames, strict=True):
        assert (luma(a) == luma(b)).all()
    assert all(step.most == 3 for step in steps if isinstance(step, Submitting))


class Inverse(LumaOperation):
    """1 − luma."""

    def prepare(self, height, width):
        pass

    def run(self, plane):
        return 1 - plane


@pytest.mark.slow
def test_a_step_with_one_slot_gets_frames_in_order(film, tmp_path):
    """A region that moves counts its frames, and follows a step that finishes them in disorder."""

    track = Track(16, 12, tuple((n, 0) for n in range(9)), "at.txt", tuple(range(1, 10)))
    chain = Chain(Wide(4), RegionStep(Inverse(), track))
    _, found = converted(film, tmp_path / "out.mkv", chain)
    for number, one in enumerate(found.frames):
        large = luma(picture(number)).repeat(2, 0).repeat(2, 1).astype(int)
        expected = (251 - large[:12, number : number + 16].clip(16)).clip(0)
        assert (luma(one) == expected).all()


@pytest.mark.slow
def test_steps_make_the_depth(film, tmp_path):
    """All of them a greater one, since what an earlier one rounds is lost; the last a smaller."""
    one, other = Nearest(1), Nearest(1)
    encoding = Encoding(codec="ffv1", pix_fmt="yuv420p10le")
    convert(film, tmp_path / "out.mkv", Chain(one, other), encoding=encoding)
    assert (one.prepared[1], other.prepared[1]) == (10, 10)
    chain = Chain(Nearest(1), Nearest(1))
    chain.prepare(Format(8, 6, 12), 8)
    assert [step.prepared[1] for step in chain.steps] == [None, 8]
    assert (luma(read(tmp_path / "out.mkv").frames[3]) == luma(picture(3)) * np.uint16(4)).all()


class TestRates:
    @pytest.mark.slow
    def test_dropped_frames(self, film, tmp_path):
        step, progress = Half(), []
        summary, found = converted(film, tmp_path / "out.mkv", step, on_progress=progress.append)
        assert summary.frames == len(found.frames) == 5
        assert found.times == [Fraction(2 * n, 25) for n in range(5)]
        assert [p.frames for p in progress] == [1, 2, 3, 4, 5] and progress[0].total == 5
        assert (step.taken, step.ended, step.closed) == (9, 1, 1)
        for number, one in enumerate(found.frames):
            assert (luma(one) == luma(picture(2 * number))).all()
        assert found.packets == read(film).packets | {
            0: []
        }  # audio of the frames that are gone too

    @pytest.mark.slow
    @pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
    def test_frames_between(self, film, tmp_path, suffix):
        """Half a tick of the input's clock is exact in the output's, as far as its container's."""
        source = make(tmp_path / "in.mp4", frames=9)
        encoding = Encoding(preset="ultrafast", crf=0)
        out = tmp_path / f"out{suffix}"
        summary = convert(source, out, Double(), encoding=encoding)
        found = read(out)
        assert summary.frames == len(found.frames) == 18
        exact = 1000 if suffix == ".mkv" else None
        for number, time in enumerate(found.times):
            assert abs(time - Fraction(number, 50)) <= (Fraction(1, 2 * exact) if exact else 0)
        originals = read(source).frames
        assert (luma(found.frames[6]) == luma(originals[3])).all()
        mean = (luma(originals[3]).astype(int) + luma(originals[4])) // 2
        assert (luma(found.frames[7]) == mean).all()

    def test_y4m_states_the_rate(self, film, tmp_path):
        convert(film, tmp_path / "out.y4m", Double())
        assert b" F50:1 " in (tmp_path / "out.y4m").read_bytes()[:100]

    @pytest.mark.slow
    def test_steps_of_both_kinds(self, film, tmp_path):
        """Drop, enlarge with frames in flight, double: the last one gets the first one's rest."""
        chain = Chain(Half(), Wide(3), Double())
        assert (chain.traits.rate, chain.traits.ticks) == (1, 2)
        summary, found = converted(film, tmp_path / "out.mkv", chain)
        assert (summary.frames, summary.width) == (10, 2 * WIDTH)
        assert found.times == [Fraction(n, 25) for n in range(10)]

    def test_a_clip(self, film, tmp_path):
        summary, found = converted(film, tmp_path / "out.mkv", Half(), clip=Clip(frames=6))
        assert summary.frames == 3
        assert len(found.packets[1]) < len(read(film).packets[1])

    def test_drain(self, film):
        assert drain(film, Chain(Double(), Nearest())) == 18

    def test_push(self):
        """As a step of its own, one frame at a time."""
        chain = Chain(Half(), Double())
        assert chain.traits.call == "push"
        chain.prepare(Format(8, 6))
        out = [one for n in range(4) for one in chain.push(frame(n))]
        assert [one.pts for one in out] == [0, 2]
        assert [one.pts for one in chain.push(None)] == [4, 6]

    def test_frames_that_will_come(self):
        """A later step is asked about the frames that are left."""
        asked = []

        class Asked(Nearest):
            def outcome(self, format, frames):
                asked.append((format.width, frames))
                return super().outcome(format, frames)

        Chain(Asked(), Half(), Asked(), Double(), Asked()).outcome(Format(8, 6), 9)
        assert asked == [(8, 9), (16, 4), (32, 8)]

    @pytest.mark.slow
    @pytest.mark.parametrize("when", [0, 3, None])
    def test_an_error(self, film, tmp_path, when):
        class Failing(Half):
            def push(self, frame):
                if frame is None if when is None else self.taken == when:
                    raise RuntimeError("broken")
                return super().push(frame)

        chain = Chain(Wide(3), Failing(), Wide(2))
        with pytest.raises(RuntimeError, match="broken"):
            convert(film, tmp_path / "out.mkv", chain, encoding=LOSSLESS)
        assert [step.closed for step in chain.steps] == [1, 1, 1]
        assert [path.name for path in tmp_path.iterdir()] == ["in.mkv"]


class TestDevices:
    def test_pslots_stay_on_one_gpu(self):
        """Between steps of one GPU they do; not to the CPU, another GPU, or out of the chain."""
        names = ["cuda:0", "cuda:0", "cpu", "cuda:0", "cuda:1", "cuda:1"]
        chain = Chain(*map(Device, names))
        chain.prepare(Format(8, 6))
        assert [s.on_device for s in chain.steps] == [True, False, False, False, True, False]
        found = chain.run(frame())
        assert (found.planes[0] == 22).all() and (found.pts, found.duration) == (0, 1)
        taken = [step.taken_on_device for step in chain.steps]
        assert taken == [[False], [True], [False], [False], [False], [True]]
        assert (chain.traits.device, chain.traits.device_name) == ("cpu", "cuda:0, cpu, cuda:1")

    def test_the_chains_results_stay_too(self):
        chain = Chain(Device(), Device())
        assert chain.prepare(Format(8, 6), 10, on_device=True).bits == 10
        (plane,) = chain.run(frame()).planes
        assert isinstance(plane, OnDevice) and chain.traits.device == "cuda:0"

    def test_the_depth_is_that_of_the_cpu(self):
        """Between steps on one GPU, too: all of them work at a greater depth of the results."""
        for bits, expected in ((10, [10, 10, 10]), (8, [12, 12, 8])):
            for devices in (["cuda:0"] * 3, ["cpu"] * 3):
                chain = Chain(*map(Device, devices))
                chain.prepare(Format(8, 6, 8 if bits == 10 else 12), bits)
                assert [format.bits for format in chain.formats] == expected

    @pytest.mark.slow
    def test_a_film(self, film, tmp_path):
        chain = Chain(Device(), Chain(Device(), Device()))
        summary, found = converted(film, tmp_path / "out.mkv", chain)
        assert summary.device == "cuda:0"
        for number, one in enumerate(found.frames):
            assert (luma(one) == luma(picture(number)) + 3).all()

    @pytest.mark.gpu
    def test_two_upscalers(self, plain, random_model):
        """Chained on a GPU they give what they give one after the other, bit for bit.

        Chroma is on the GPU in both, as in a chain: the CPU rounds some samples otherwise.
        """
        from snellen.upscaling.upscaler import Upscaler

        model = random_model(2)
        format = Format(WIDTH, HEIGHT, 8, (1, 1))
        generator = np.random.default_rng(3)
        planes = [
            tuple(generator.integers(0, 256, s).astype(np.uint8) for s in format.shapes)
            for _ in range(12)
        ]
        with Upscaler(2, model, "cuda", "gpu") as one, Upscaler(2, model, "cuda", "gpu") as other:
            other.prepare(one.prepare(format))
            expected = [other.run(one.run(Frame(p, n))) for n, p in enumerate(planes)]
        chain = Chain(Upscaler(2, model, "cuda", "gpu"), Upscaler(2, model, "cuda", "gpu"))
        assert chain.traits.device == "cuda:0"
        assert chain.prepare(format) == format.scaled(4)
        inner = chain.steps[0].run(Frame(planes[0]))
        assert not any(isinstance(plane, np.ndarray) for plane in inner.planes)
        try:
            found = [chain.run(Frame(p, n)) for n, p in enumerate(planes)]
        finally:
            chain.close()
        for a, b in zip(found, expected, strict=True):
            assert a.pts == b.pts
            for p, q in zip(a.planes, b.planes, strict=True):
                assert isinstance(p, np.ndarray) and (p == q).all()

    @pytest.mark.gpu
    def test_two_upscalers_with_frames_in_flight(self, plain, tmp_path, random_model):
        from snellen.upscaling.upscaler import Upscaler

        model = random_model(2)

        def upscalers():
            return Upscaler(2, model, "cuda", "gpu"), Upscaler(2, model, "cuda", "gpu")

        one, other = upscalers()
        converted(plain, tmp_path / "first.mkv", one)
        _, apart = converted(tmp_path / "first.mkv", tmp_path / "second.mkv", other)
        _, both = converted(plain, tmp_path / "both.mkv", Chain(*upscalers()))
        assert both.times == apart.times and len(both.frames) == 25
        for a, b in zip(both.frames, apart.frames, strict=True):
            assert all((np.from_dlpack(p) == np.from_dlpack(q)).all()
                       for p, q in zip(a.planes, b.planes, strict=True))  # fmt: skip


def test_wrong_use():
    with pytest.raises(InputError, match="got no step"):
        Chain()
    with pytest.raises(InputError, match="changes the number of frames"):
        Chain(Nearest(1), Half()).run(frame())


def test_all_are_closed(plain, tmp_path):
    class Broken(Nearest):
        def close(self):
            super().close()
            raise RuntimeError("cannot close")

    steps = [Nearest(1), Broken(1), Nearest(1)]
    with pytest.raises(RuntimeError, match="cannot close"):
        Chain(*steps).close()
    assert [step.closed for step in steps] == [1, 1, 1]
