"""ST-MAD against the float64 reference and the authors' scores, and what it refuses."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.mad import temporal
from snellen.mad.motion import Motion
from snellen.mad.temporal import st_mad
from support.mad import pairs
from support.mad import reference_video as video

SHAPES = [(34, 40, 36), (35, 37, 50), (41, 34, 47)]
# Relative. float64: roundings of FFTs, which differ by 4e-15. float32: as for MAD of small pictures
# on a GPU, whose means STMAD is made of; on the CPU it differs by 4e-8.
TOLERANCE = {"float64": 1e-9, "float32": 3e-5}


@pytest.fixture
def clips(random):
    """A maker of a clip that pans over noise, and of a distorted one; integers of 8 bits."""

    def make(shape):
        t, m, n = shape
        world = random.uniform(0, 256, size=(3, m + t, n + 2 * t)).mean(0)
        reference = np.stack([world[i : i + m, 2 * i : 2 * i + n] for i in range(t)])
        noisy = reference + random.normal(0, 12, size=shape)
        return [np.clip(clip, 0, 255).astype(np.uint8) for clip in (reference, noisy)]

    return make


def same(score, wanted, dtype):
    """Compare with the reference's score, whose fields have the same order."""
    assert astuple(score) == pytest.approx(tuple(wanted), rel=TOLERANCE[dtype])


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [SHAPES[0], *(pytest.param(one, marks=pytest.mark.slow) for one in SHAPES[1:])]
)
def test_the_scores_of_small_clips(clips, backend, shape):
    reference, distorted = clips(shape)
    wanted = video.st_mad(reference, distorted)
    for dtype in TOLERANCE:
        same(st_mad(reference, distorted, device=backend, dtype=dtype), wanted, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_authors_scores(shared_data, backend, dtype):
    clip = pairs.clips(shared_data)
    wanted = [clip.scores[name] for name in ("STMAD", "SMAD", "TMAD")]
    score = st_mad(clip.reference, clip.distorted, device=backend, dtype=dtype)
    assert astuple(score) == pytest.approx(
        wanted, rel=1e-6
    )  # what we promise; all backends keep it
    if dtype == "float64":
        same(score, wanted, dtype)


@pytest.mark.slow
def test_the_authors_score_of_identical_clips(shared_data, backend):
    clip = pairs.clips(shared_data)
    score = st_mad(clip.reference, clip.reference.copy(), device=backend)
    assert (score.smad, score.tmad) == (1, 0)
    assert score.stmad == pytest.approx(clip.of_itself["STMAD"], rel=1e-9)  # motion is float64
    assert score.stmad == pytest.approx(-1.92189, abs=5e-6)


@pytest.mark.slow
def test_identical_clips_score_by_their_motion_alone(clips, backend):
    reference, _ = clips(SHAPES[1])
    score = st_mad(reference, reference.copy(), device=backend)
    assert (score.smad, score.tmad) == (1, 0)
    weights = video.motion(reference.astype(np.float64))
    assert score.stmad == pytest.approx(video.joined(1.0, 0.0, weights), rel=1e-9)


@pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(np.uint16, marks=pytest.mark.slow),
        pytest.param(">u2", marks=pytest.mark.slow),
        np.float32,
        pytest.param(np.float64, marks=pytest.mark.slow),
    ],
)
def test_samples_of_other_types(clips, backend, dtype):
    """10 bits, or floats of 0 … 1: as 8-bit ones of 0 … 255, which need not be whole numbers."""
    peak = 1023 if np.dtype(dtype).kind == "u" else 1
    given = [(clip / 255 * peak).astype(dtype) for clip in clips(SHAPES[0])]
    score = st_mad(*given, data_range=peak, device=backend)
    grey = [clip.astype(np.float64) * 255 / peak for clip in given]
    same(score, video.st_mad(*grey), "float64")  # of small clips, on a GPU too


@pytest.mark.slow
def test_half_precision(clips):
    given = [(clip / 255).astype(np.float16) for clip in clips(SHAPES[0])]
    score = st_mad(*given, data_range=1, device="cpu")
    same(score, video.st_mad(*(clip.astype(np.float64) * 255 for clip in given)), "float64")


@pytest.mark.slow
def test_clips_may_lie_in_memory_as_they_like(clips, backend):
    plain = clips((36, 40, 70))
    wanted = st_mad(*plain, device=backend)
    turned = [np.asfortranarray(clip) for clip in plain]
    padded = [np.pad(clip, ((0, 0), (0, 3), (5, 5)))[:, :-3, 5:-5] for clip in plain]
    for given in (turned, padded, [list(clip) for clip in plain]):
        assert st_mad(*given, device=backend) == wanted


@pytest.mark.gpu
def test_clips_on_the_gpu_stay_there(cuda, clips):
    reference, distorted = clips(SHAPES[1])
    wanted = st_mad(reference, distorted, device="cuda")
    there = cuda.asarray(reference), cuda.asarray(distorted)
    assert st_mad(*there) == wanted
    assert st_mad(reference, there[1]) == wanted
    with pytest.raises(InputError, match="lives on a GPU"):
        st_mad(*there, device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("parts", [slice(0, 5), slice(None)])
def test_black_frames_are_defined(clips, backend, parts):
    """Some in both clips, or all of the distorted one."""
    reference, distorted = clips(SHAPES[0])
    distorted[parts] = 0
    if parts.stop:
        reference[parts] = 0
    score = st_mad(reference, distorted, device=backend)
    same(score, video.st_mad(reference, distorted), "float64" if backend == "cpu" else "float32")


def test_the_parts_of_the_score(random):
    weights = random.uniform(size=6), random.uniform(size=5)
    ours = Motion(*weights)
    theirs = video.Motion(*weights, ours.of_columns, ours.of_rows)
    assert temporal.joined(2.5, 3.0, ours) == pytest.approx(video.joined(2.5, 3.0, theirs))
    assert temporal.temporal(np.zeros(6), np.zeros(5), ours) == 0
    assert temporal.spatial(0.0, 0.0) == temporal.spatial(0.0, 3.0) == 1  # nothing is seen


@pytest.mark.parametrize("shape", [(36, 47, 61), (36, 48, 139)])
def test_slices_lie_in_the_middle_of_whole_blocks(random, shape):
    clip = random.uniform(size=shape)
    columns = [clip[:, :, j].T for j in range(4, shape[2] // 8 * 8, 8)]
    np.testing.assert_array_equal(list(temporal._columns(clip)), columns)
    rows = [clip[:, i] for i in range(4, shape[1] // 8 * 8, 8)]
    np.testing.assert_array_equal(list(temporal._rows(clip)), rows)
    assert (len(columns), len(rows)) == (shape[2] // 8, shape[1] // 8)


@pytest.mark.slow
def test_progress_tells_of_every_frame_and_slice(clips):
    calls = []
    st_mad(*clips((35, 40, 50)), device="cpu", progress=lambda *step: calls.append(step))
    total = 35 + 40 // 8 + 50 // 8
    assert calls == [(done, total) for done in range(1, total + 1)]


@pytest.mark.parametrize("value", [0, 128])
def test_a_reference_that_stands_still_is_refused(clips, value):
    _, distorted = clips(SHAPES[0])
    still = np.full_like(distorted, value)
    for reference in (still, np.broadcast_to(distorted[0], distorted.shape)):
        with pytest.raises(InputError, match=r"nothing moves in the 34 frames.*snellen\.score"):
            st_mad(reference, distorted, device="cpu")


@pytest.mark.parametrize(
    "shape", [(33, 40, 40), (40, 33, 40), (40, 40, 33), (40, 40), (35, 40, 40, 3)]
)
def test_too_small_a_clip_or_another_shape_is_refused(shape):
    clip = np.zeros(shape, np.uint8)
    with pytest.raises(InputError, match="at least 34 of each"):
        st_mad(clip, clip, device="cpu")


def test_what_does_not_go_together_is_refused(clips):
    reference, distorted = clips(SHAPES[0])
    with pytest.raises(InputError, match="expected equal shapes"):
        st_mad(reference, distorted[:, :, :-1], device="cpu")
    with pytest.raises(InputError, match="one dtype"):
        st_mad(reference, distorted.astype(np.uint16), data_range=255, device="cpu")
    with pytest.raises(InputError, match="data_range"):
        st_mad(reference.astype(np.float32), distorted.astype(np.float32), device="cpu")
    with pytest.raises(InputError, match="expected 0 to 100"):
        st_mad(reference, distorted, data_range=100, device="cpu")
    broken = distorted.astype(np.float32)
    broken[-1, 3, 3] = np.nan
    with pytest.raises(InputError, match="NaN"):
        st_mad(reference.astype(np.float32), broken, data_range=255, device="cpu")
    with pytest.raises(InputError, match="float16"):
        st_mad(reference, distorted, device="cpu", dtype="float16")
