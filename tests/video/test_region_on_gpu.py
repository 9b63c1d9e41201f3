"""Regions of frames that come from a GPU or stay there: the code values are those of the CPU."""

from __future__ import annotations

import gc
import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames import arrays
from snellen.frames.frame import Format, Frame
from snellen.frames.step import Traits
from snellen.jobs.steps.deblur_step import DeblurStep, FrameFits
from snellen.video.steps import region
from snellen.video.steps.chain import Chain
from snellen.video.steps.region import LumaOperation, RegionStep
from snellen.video.steps.track import Track
from support.fake_arrays import Numbers, install
from support.gpu import busy

FORMAT = Format(45, 38, 8, (1, 1))
INSIDE = Track(17, 12, ((5, 3), (8, 6), (0, 9), (28, 26)), "at.txt", (1, 2, 3, 4))
"""Odd and even, up to the lower right corner."""
PLACES = [(None, False), (INSIDE, False), (INSIDE, True)]
DEPTHS = [(8, None, False), (10, None, False), (10, 8, False), (8, 10, True)]
"""Of the frames, of results, and whether full range."""

each = pytest.mark.parametrize(("track", "paste_back"), PLACES, ids=["whole", "cut", "pasted"])
depths = pytest.mark.parametrize(("bits", "to", "full_range"), DEPTHS)


def frames(format, random, count=4):
    """Frames with blocks of light, from black to white."""
    found = []
    for number in range(count):
        planes = []
        for height, width in format.shapes:
            blocks = random.integers(0, 1 << format.bits, (-(-height // 5), -(-width // 5)))
            plane = blocks.repeat(5, 0).repeat(5, 1)[:height, :width]
            planes.append(np.ascontiguousarray(plane.astype(format.dtype)))
        found.append(Frame(tuple(planes), pts=number, duration=1))
    return found


def same(found, wanted):
    """Check for planes in host memory that are equal, bit for bit, and frames of the same time."""
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert (one.pts, one.duration, one.ready) == (other.pts, other.duration, None)
        for plane, right in zip(one.planes, other.planes, strict=True):
            assert isinstance(plane, np.ndarray) and plane.dtype == right.dtype
            assert (plane == right).all()


class Inverted(LumaOperation):
    """1 − luma, here or there."""

    traits = Traits(3, "cuda:0", "a GPU")

    def __init__(self):
        self.given, self.closed = [], 0

    def prepare(self, height, width):
        self.shape = height, width

    def run(self, plane):
        assert plane.shape == self.shape and plane.dtype == np.float32
        self.given.append(type(plane))
        return 1 - plane

    def close(self):
        self.closed += 1


@pytest.fixture(params=range(3))
def fake(request, monkeypatch):
    """A fake GPU; nothing may go wrong there."""
    region._stream.cache_clear()
    fake = install(monkeypatch, request.param)
    yield fake
    region._stream.cache_clear()
    assert fake.faults == []


def uploaded(frame):
    """Return a frame on the fake GPU that another stream still writes."""
    cupy = sys.modules["cupy"]
    with cupy.cuda.Stream() as stream:
        planes = tuple(map(arrays.upload, frame.planes))
        ready = cupy.cuda.Event()
        ready.record(stream)
    return replace(frame, planes=planes, ready=ready)


def fetched(frame):
    """Return a frame of the fake GPU in host memory."""
    assert all(type(plane) is Numbers for plane in frame.planes)
    frame.ready.synchronize()
    return replace(frame, planes=tuple(plane.get() for plane in frame.planes), ready=None)


@pytest.mark.parametrize(("there", "stay"), [(True, True), (True, False), (False, True)])
@each
@depths
def test_as_on_the_cpu(fake, random, track, paste_back, bits, to, full_range, there, stay):
    """Nobody but the step holds the frames, and only events tell who may read what."""
    format = replace(FORMAT, bits=bits, full_range=full_range)
    given = frames(format, random)
    host, step = (RegionStep(Inverted(), track, paste_back) for _ in range(2))
    assert host.prepare(format, to) == step.prepare(format, to, on_device=stay)
    assert (step.traits.device, step.traits.slots) == ("cuda:0", 1 if stay else 3)
    wanted = [host.run(one) for one in given]
    pending = [step.submit(uploaded(one) if there else one) for one in given]
    found = [result() for result in pending]
    step.close()
    same([fetched(one) for one in found] if stay else found, wanted)
    assert set(step._operation.given) == {Numbers} and set(host._operation.given) == {np.ndarray}
    assert step._operation.closed == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_frame_is_held_until_it_is_read(fake, random, fails):
    class Failing(Inverted):
        def run(self, plane):
            if fails:
                raise RuntimeError("broken")
            return super().run(plane)

    step = RegionStep(Failing())
    step.prepare(FORMAT, on_device=True)
    given = uploaded(*frames(FORMAT, random, 1))
    held = weakref.ref(given.planes[0])
    try:
        step.run(given)
    except RuntimeError:
        assert fails
    del given
    gc.collect()
    assert held() is not None
    step.close()
    gc.collect()
    assert held() is None


def test_a_chain(fake, random):
    """Two steps of one GPU hand over planes there; the last one's come to host memory."""
    given = frames(FORMAT, random)
    steps = [RegionStep(Inverted()), RegionStep(Inverted(), INSIDE)]
    chain = Chain(*steps)
    assert chain.traits.device == "cuda:0"
    chain.prepare(FORMAT)
    found = [chain.run(one) for one in given]
    chain.close()
    one, other = RegionStep(Inverted()), RegionStep(Inverted(), INSIDE)
    other.prepare(one.prepare(FORMAT))
    same(found, [other.run(one.run(frame)) for frame in given])
    assert all(set(step._operation.given) == {Numbers} for step in steps)


def test_planes_elsewhere(fake, random):
    (one,) = frames(FORMAT, random, 1)
    step = RegionStep(Inverted())
    step.prepare(FORMAT)
    mixed = replace(one, planes=(*uploaded(one).planes[:1], *one.planes[1:]))
    with pytest.raises(InputError, match=r"got planes on cpu, cuda:0; .* or all on cuda:0"):
        step.run(mixed)
    step.traits = replace(step.traits, device="cpu")
    with pytest.raises(InputError, match=r"got planes on cuda:0; expected all in host memory$"):
        step.run(uploaded(one))
    with pytest.raises(InputError, match="not on a GPU"):
        step.prepare(FORMAT, on_device=True)


def deblurring(device, **how):
    """Return an operation that deblurs, and the fits that it reports."""
    settings = {"psf_size": 5, "iterations": 4, "edges": "extend", **how.pop("settings", {})}
    fits = FrameFits(lambda row: None, keep=True)
    kinds = {"tile": None, "window": 1, "warm": False, **how}
    return DeblurStep(settings, device, fits=fits, **kinds), fits


@pytest.mark.parametrize(
    "how", [{}, {"tile": 32}, {"window": 2}, {"warm": True}, {"settings": {"prior": "l0"}}]
)
def test_deblurring_on_the_cpu_takes_its_planes(how):
    step, _ = deblurring("cpu", **how)
    assert (step.traits.device, step.traits.device_name) == ("cpu", "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("how", "device"),
    [
        ({}, "cuda:0"),
        ({"warm": True}, "cuda:0"),
        ({"tile": 32}, "cpu"),
        ({"window": 2}, "cpu"),
        ({"settings": {"prior": "l0"}}, "cpu"),
    ],
)
def test_which_deblurring_takes_planes_on_the_gpu(how, device):
    step, _ = deblurring("cuda:0", **how)
    assert step.traits.device == device
    assert RegionStep(step).traits.device == device
    step.close()


@pytest.mark.gpu
class TestDeblurring:
    """By MIA on a GPU, bit for bit what it makes of planes in host memory."""

    @each
    @depths
    def test_then_upscaling(
        self, cuda, random, random_model, track, paste_back, bits, to, full_range
    ):
        from snellen.upscaling.upscaler import Upscaler

        model = random_model(2)
        format = replace(FORMAT, bits=bits, full_range=full_range)
        given = frames(format, random)

        def steps():
            work, fits = deblurring("cuda:0")
            return RegionStep(work, track, paste_back), Upscaler(2, model, "cuda", "gpu"), fits

        one, other, fits = steps()
        deeper = to if to and to > bits else None  # as a chain prepares a step before the last one
        target = other.prepare(one.prepare(format, deeper), to)
        wanted = [other.run(one.run(frame)) for frame in given]
        one.close()
        other.close()
        *chained, found_fits = steps()
        chain = Chain(*chained)
        assert chain.traits.device == "cuda:0"
        assert chain.prepare(format, to) == target
        try:
            found = [chain.run(frame) for frame in given]
        finally:
            chain.close()
        same(found, wanted)
        assert [row.fit for row in found_fits.rows] == [row.fit for row in fits.rows]
        for psf, right in zip(found_fits.psfs, fits.psfs, strict=True):
            assert isinstance(psf, np.ndarray) and (psf == right).all()

    @each
    @depths
    @pytest.mark.parametrize(
        ("size", "warm", "stay"),  # small frames are one launch, large ones go through cuFFT
        [((45, 38), False, True), ((301, 270), False, True), ((45, 38), True, False)],
    )
    def test_planes_on_the_gpu(
        self, cuda, random, track, paste_back, bits, to, full_range, warm, size, stay
    ):
        """Another stream still writes them when they are given, and nobody else holds them."""
        format = Format(*size, bits, (1, 1), full_range=full_range)
        given = frames(format, random)
        host, step = (
            RegionStep(deblurring("cuda:0", warm=warm)[0], track, paste_back) for _ in range(2)
        )
        assert host.prepare(format, to) == step.prepare(format, to, on_device=stay)
        wanted = [host.run(one) for one in given]
        host.close()
        stream = cuda.cuda.Stream(non_blocking=True)
        found = []
        for one in given:
            there = [cuda.asarray(plane) for plane in one.planes]
            cuda.cuda.get_current_stream().synchronize()
            with stream:
                busy(cuda)
                planes = tuple(plane.copy() for plane in there)
                frame = replace(one, planes=planes, ready=stream.record())
            found.append(step.run(frame))
            del frame, planes
        if stay:
            assert all(type(plane) is cuda.ndarray for one in found for plane in one.planes)
            for one in found:
                one.ready.synchronize()
            found = [
                replace(one, planes=tuple(plane.get() for plane in one.planes), ready=None)
                for one in found
            ]
        step.close()
        same(found, wanted)

    def test_results_are_new_planes(self, cuda, random):
        """Of chroma, too, which stays as it is: the given planes may change afterwards."""
        (one,) = frames(FORMAT, random, 1)
        step = RegionStep(deblurring("cuda:0")[0])
        step.prepare(FORMAT, on_device=True)
        given = replace(one, planes=tuple(cuda.asarray(plane) for plane in one.planes))
        cuda.cuda.get_current_stream().synchronize()
        found = step.run(given)
        found.ready.synchronize()
        for plane in given.planes:
            plane[...] = 0
        for plane, right in zip(found.planes[1:], one.planes[1:], strict=True):
            assert plane.flags.c_contiguous and (plane.get() == right).all()
        step.close()

    def test_upscaling_comes_first(self, cuda, random, random_model):
        """A region at an odd place of the enlarged frames, at another depth."""
        from snellen.upscaling.upscaler import Upscaler

        model = random_model(2)
        format = replace(FORMAT, bits=10)
        given = frames(format, random)
        track = Track(40, 30, ((7, 5),))

        def steps():
            return Upscaler(2, model, "cuda", "gpu"), RegionStep(deblurring("cuda:0")[0], track)

        one, other = steps()
        other.prepare(one.prepare(format), 8)
        wanted = [other.run(one.run(frame)) for frame in given]
        one.close()
        other.close()
        chain = Chain(*steps())
        chain.prepare(format, 8)
        try:
            same([chain.run(frame) for frame in given], wanted)
        finally:
            chain.close()

    def test_a_film(self, plain, tmp_path, random_model):
        """Frames in flight in both steps."""
        from snellen.upscaling.upscaler import Upscaler
        from snellen.video.convert import Encoding
        from support.video.clips import read
        from support.video.converting import convert

        model, lossless = random_model(2), Encoding(codec="ffv1")

        def steps():
            return RegionStep(deblurring("cuda:0")[0]), Upscaler(2, model, "cuda", "gpu")

        one, other = steps()
        convert(plain, tmp_path / "first.mkv", one, encoding=lossless)
        convert(tmp_path / "first.mkv", tmp_path / "second.mkv", other, encoding=lossless)
        convert(plain, tmp_path / "both.mkv", Chain(*steps()), encoding=lossless)
        both, apart = read(tmp_path / "both.mkv"), read(tmp_path / "second.mkv")
        assert both.times == apart.times and len(both.frames) == 25
        for a, b in zip(both.frames, apart.frames, strict=True):
            assert all((np.from_dlpack(p) == np.from_dlpack(q)).all()
                       for p, q in zip(a.planes, b.planes, strict=True))  # fmt: skip

    def test_samples_and_cuts(self, cuda, random):
        """All code values, and chroma between samples at each quarter."""
        for bits in (8, 10, 16):
            for full_range in (False, True):
                format = Format(256, max(1, 1 << bits - 8), bits, full_range=full_range)
                luma = np.arange(1 << bits).astype(format.dtype).reshape(format.shapes[0])
                wanted = region.samples(luma, format)
                assert (region.samples(cuda.asarray(luma), format).get() == wanted).all()
        plane = random.integers(0, 1024, (30, 40)).astype(np.uint16)
        for at in ((0.5, 1.25), (3, 2.75), (22.5, 31.5), (4, 6)):
            wanted = region.cut(plane, at, (8, 9))
            assert (region.cut(cuda.asarray(plane), at, (8, 9)).get() == wanted).all()
