"""snellen.score on GPUs: what is kept, in flight and shared; on a fake of CuPy, and on GPUs."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import snellen
from snellen import score
from snellen.errors import DeviceError, InputError
from snellen.mad import image as images
from snellen.mad.cuda import pictures
from snellen.mad.pictures import plain
from snellen.mad.result import Score
from support.fake_cupy import two_gpus

SIZE = (34, 36)


class Sum:
    """Instead of a Scorer: the sum of differences, computed on the stream that is current."""

    made = None

    def __init__(self, variant, hi_scale, eight_bit_lut, devices, dtype):
        self.devices, self.reference, self.busy = devices, None, False
        Sum.made.append((threading.current_thread().name, devices))

    def prepare(self, format):
        self.format = format

    def close(self):
        pass

    def _runs(self, pairs, maps, to_host, eager=False):
        """The last pair is read as late as can be."""
        assert to_host
        pending = [self._begun(*pair) for pair in pairs]
        return [Score(float(one.get()[0]), 0.0, 0.0) for one in self._ended(pending)]

    def _begun(self, reference, distorted):
        if reference is not None:
            self.reference = self._there(reference)
        plane, out = self._there(distorted), Sum.cupy.array((1,), np.float64)
        Sum.cupy.kernel(
            lambda a, b: [np.abs(a.astype(float) - b).sum()], [self.reference, plane], out
        )
        out.held = self.reference, plane, distorted, reference
        return out

    def _there(self, plane):
        if not isinstance(plane, np.ndarray):
            return plane
        assert plane.dtype == self.format.dtype or self.format.bits == 0
        there = Sum.cupy.array(plane.shape, plane.dtype)
        copy = plane.copy()
        Sum.cupy.kernel(lambda: copy, [], there)
        return there

    def _ended(self, pending):
        Sum.cupy.current().synchronize()
        return pending


class Luma:
    """Instead of the kernel."""

    def __init__(self, dtype, channels, peak):
        self.peak, self.plane = peak, pictures._plane(dtype, channels)
        self.slack = 1e-6 * peak if dtype.kind == "f" else 0

    def __call__(self, picture, plane, odd):
        peak, slack = self.peak, self.slack

        def found(samples, before):
            inside = (samples >= -slack) & (samples <= peak + slack)
            return [before[0] or not inside.all()]

        Sum.cupy.kernel(lambda samples: plain(samples, peak, "cpu"), [picture], plane)
        Sum.cupy.kernel(found, [picture, odd], odd)


@pytest.fixture(params=range(3))
def fake(request, monkeypatch):
    """Two GPUs that sum differences."""
    gpus = two_gpus(request.param, monkeypatch)
    cupy = Sum.cupy = next(gpus)
    import cupy as module

    cupy.array, Sum.made = module.empty, []
    fill = lambda self, value: cupy.kernel(lambda: np.full(self.shape, value), [], self)  # noqa: E731
    monkeypatch.setattr("support.fake_cupy.Array.fill", fill, raising=False)
    monkeypatch.setattr(images, "Scorer", Sum)
    monkeypatch.setattr(pictures, "Luma", Luma)
    monkeypatch.setattr(images, "WORTH", 1)
    yield cupy
    next(gpus, None)


def drawn(random, dtype, shape, peak):
    if np.dtype(dtype).kind == "u":
        return random.integers(0, int(peak) + 1, shape).astype(dtype)
    return (random.random(shape) * peak).astype(dtype)


def expected(one, other, peak, axes):
    one, other = np.broadcast_arrays(one, other)
    both = [np.array([plain(p, peak, "cpu") for p in a.reshape(-1, *a.shape[-axes:])])
            for a in (one, other)]  # fmt: skip
    return np.abs(both[0].astype(float) - both[1]).sum((1, 2))


@pytest.mark.parametrize("devices", ["cuda", "cuda:1,cuda:0"])
@pytest.mark.parametrize(("dtype", "peak"), [
    ("uint8", 255), ("uint8", 200), (">u2", 65535), ("uint16", 1023), ("float16", 1.0),
    (">f8", 255),
])  # fmt: skip
def test_every_pair_once(fake, random, devices, dtype, peak):
    for shape, other, axes in [
        (SIZE, (7, *SIZE), 2), ((5, *SIZE), (5, *SIZE), 2), ((2, 1, *SIZE, 3), (3, *SIZE, 3), 3),
        (SIZE, SIZE, 2), ((*SIZE, 3), (*SIZE, 3), 3),
    ]:  # fmt: skip
        references, distorted = (drawn(random, dtype, one, peak) for one in (shape, other))
        found = score(references, distorted, data_range=peak, device=devices)
        wanted = expected(references, distorted, peak, axes)
        np.testing.assert_allclose(np.ravel(found.mad), wanted, rtol=1e-12)


def test_the_second_call_makes_nothing(fake, random):
    batch = drawn(random, "uint8", (6, *SIZE), 255)
    for _ in range(3):
        score(batch[0], batch[1], device="cuda")
        score(batch[0], batch, device="cuda:0,cuda:1")
        score(batch[0], batch[1], device="cuda:0,cuda:1")  # they share one pair
    threads = [("MainThread", ("cuda:0",)), ("snellen cuda:0", ("cuda:0",)),
               ("snellen cuda:1", ("cuda:1",)), ("MainThread", ("cuda:0", "cuda:1"))]  # fmt: skip
    # The first call's serves one of the threads later.
    assert set(Sum.made) <= set(threads) and len(Sum.made) == 3
    score(batch[0], batch[1], hi_scale=10, device="cuda")
    score(batch[0, :, 2:], batch[1, :, 2:], device="cuda")
    assert len(Sum.made) == 5


@pytest.mark.parametrize("devices", ["cuda", "cuda:0,cuda:1"])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_samples_that_cannot_be_scored(fake, random, devices, channels):
    batch = drawn(random, "float32", (6, *SIZE, *channels), 1.0)
    for value, words in [(np.nan, "NaN or infinity"), (1.1, "samples from .* to 1.1; expected")]:
        bad = batch.copy()
        bad[4, 3, 2] = value
        with pytest.raises(InputError, match=words):
            score(batch, bad, data_range=1, device=devices)
        with pytest.raises(InputError, match=words):
            score(bad[4], batch, data_range=1, device=devices)
    deep = drawn(random, "uint16", (6, *SIZE, *channels), 1023)
    score(deep, deep, data_range=1023, device=devices)
    deep[5, 8, 9] = 1024
    with pytest.raises(InputError, match=r"samples from .* to 1024; expected 0 to 1023"):
        score(deep[0], deep, data_range=1023, device=devices)
    found = score(batch, batch[::-1], data_range=1, device=devices)
    wanted = expected(batch, batch[::-1], 1.0, 2 + len(channels))
    np.testing.assert_allclose(found.mad, wanted, rtol=1e-12)


def test_a_failure_on_one_of_two(fake, random, monkeypatch):
    batch = drawn(random, "uint8", (6, *SIZE), 255)
    begun = Sum._begun

    def failing(self, *pair):
        if self.devices == ("cuda:1",):
            raise DeviceError("CUDA failed")
        return begun(self, *pair)

    monkeypatch.setattr(Sum, "_begun", failing)
    with pytest.raises(DeviceError, match="CUDA failed"):
        score(batch, batch, device="cuda:0,cuda:1")
    monkeypatch.setattr(Sum, "_begun", begun)
    assert (score(batch, batch, device="cuda:0,cuda:1").mad == 0).all()


def test_few_pairs_go_to_one_gpu(fake, random, monkeypatch):
    monkeypatch.setattr(images, "WORTH", 3 * SIZE[0] * SIZE[1])
    batch = drawn(random, "uint8", (5, *SIZE), 255)
    score(batch, batch, device="cuda:0,cuda:1")
    assert Sum.made == [("MainThread", ("cuda:0",))]


def test_settings_are_checked_before_anything_is_made(fake, random):
    blank = np.zeros(SIZE, np.uint8)
    for how in ({"variant": []}, {"dtype": ["float32"]}, {"hi_scale": "1"}):
        with pytest.raises(InputError, match=next(iter(how))):
            score(blank, blank, device="cuda", **how)
    assert Sum.made == []


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64"])
@pytest.mark.parametrize("size", [(64, 70), (40, 90, 3), (400, 500)])
def test_kept_or_not_the_scores_are_equal(cuda, random, dtype, size):
    """And those of a Scorer on planes that NumPy made."""
    peak = {"uint8": 255, "uint16": 65535}.get(dtype, 1.0)
    one, other = (drawn(random, dtype, size, peak) for _ in range(2))
    found = score(one, other, data_range=peak, device="cuda", maps=True)
    again = score(one, other, data_range=peak, device="cuda", maps=True)
    snellen.clear_cache()
    anew = score(one, other, data_range=peak, device="cuda", maps=True)
    there = score(cuda.asarray(one), cuda.asarray(other), data_range=peak, maps=True)
    mixed = score(one, cuda.asarray(other), data_range=peak, maps=True)
    planes = [plain(picture, peak, "cpu") for picture in (one, other)]
    bits = 8 * planes[0].dtype.itemsize if planes[0].dtype.kind == "u" else 0
    with snellen.Scorer(device="cuda") as scorer:
        scorer.prepare(snellen.Format(size[1], size[0], bits, white=peak))
        wanted = scorer.run(*planes, maps=True)
    for result in (found, again, anew, there, mixed):
        assert (result.mad, result.hi, result.lo) == (wanted.mad, wanted.hi, wanted.lo)
        for name in ("detection", "appearance"):
            plane = getattr(result, name)
            assert isinstance(plane, np.ndarray) == (result is not there and result is not mixed)
            plane = plane if isinstance(plane, np.ndarray) else plane.get()
            assert plane.tobytes() == getattr(wanted, name).tobytes()


@pytest.mark.gpu
def test_nothing_in_the_callers_pools(cuda, random):
    pools = cuda.get_default_memory_pool(), cuda.get_default_pinned_memory_pool()
    one, other = (drawn(random, "uint8", (6, 60, 70, 3), 255) for _ in range(2))
    score(one, other, device="cuda")
    before = pools[0].total_bytes(), pools[1].n_free_blocks()
    snellen.clear_cache()
    for number in range(5):
        score(one[0, number:], other[:, number:], device="cuda", maps=True)
    assert (pools[0].total_bytes(), pools[1].n_free_blocks()) == before


@pytest.mark.gpu
@pytest.mark.parametrize("count", [2, 4])
def test_several_gpus(cuda, random, count):
    if cuda.cuda.runtime.getDeviceCount() < count:
        pytest.skip(f"fewer than {count} GPUs")
    devices = [f"cuda:{number}" for number in range(count)]
    for shape, dtype in [((9, 500, 600), "uint8"), ((8, 400, 500, 3), "float32")]:
        peak = 255 if dtype == "uint8" else 1.0
        one, other = (drawn(random, dtype, shape, peak) for _ in range(2))
        for reference in (one, one[0]):
            wanted = score(reference, other, data_range=peak, device="cuda")
            for names in (devices, devices[::-1]):
                found = score(reference, other, data_range=peak, device=names)
                assert (found.mad == wanted.mad).all() and (found.lo == wanted.lo).all()
    wanted = score(one, other, data_range=peak, device="cuda")
    there = [cuda.asarray(array) for array in (one, other)]
    spaced = [cuda.zeros((*array.shape[:-1], 4), array.dtype)[..., :3] for array in there]
    for array, wide in zip(there, spaced, strict=True):
        wide[...] = array
    for given in (there, spaced):
        assert (score(*given, data_range=peak, device=devices).mad == wanted.mad).all()


def test_samples_as_they_are(random):
    """Integers that may have any value are not looked at."""
    from snellen.mad.pictures import check_samples

    class Blind(np.ndarray):
        def max(self):
            raise AssertionError("nobody needs to know")

    check_samples([np.zeros((3, 4), "u1").view(Blind), np.zeros((3, 4), "u2").view(Blind)], 65535)
