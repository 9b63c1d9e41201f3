"""The reference gives the authors' scores and maps, and has their quirks."""

from __future__ import annotations

import numpy as np
import pytest

from support.mad import pairs, reference
from support.mad import reference_video as video

ODD = [(35, 37), (34, 51), (47, 40)]


@pytest.fixture
def picture(random):
    """A maker of pictures of 8 bits: noise that is smooth enough to have something to mask."""

    def make(shape, low=0, high=255):
        rough = random.uniform(size=(3, *shape)).mean(0)
        return np.round(low + (high - low) * rough).astype(np.uint8)

    return make


def columns(pair):
    """Every column of the authors' table."""
    score = reference.mad(pair.reference, pair.distorted)

    def other(**how):
        return reference.HI_SCALE * reference.pooled(
            reference.detection(pair.reference, pair.distorted, **how)
        )

    eight_bit, paper = other(eight_bit_lut=True), other(variant="paper")
    april = score.hi / reference.HI_SCALE
    return score, {
        "MAD": score.mad,
        "HI": score.hi,
        "LO": score.lo,
        "sig": reference.blend(score.hi),
        "MAD_uint8_path": reference.combine(eight_bit, score.lo),
        "HI_uint8_path": eight_bit,
        "HI_apr2010": april,
        "MAD_apr2010": reference.combine(april, score.lo),
        "MAD_kinside": reference.combine(paper, score.lo),
        "HI_kinside": paper,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", pairs.CLONE)
def test_the_authors_scores_of_the_pairs_in_the_clone(name):
    (pair,) = pairs.authors([name])
    # Both are float64; they differ by the rounding of two FFTs, at most 1.3e-13. Zeros are exact.
    assert columns(pair)[1] == pytest.approx(pair.scores, rel=1e-9, abs=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in pairs.QUICK else pytest.mark.slow)
        for name in pairs.NAMES
    ],
)
def test_the_authors_scores_and_maps(shared_data, name):
    (pair,) = pairs.shared(shared_data, [name])
    score, ours = columns(pair)
    assert ours == pytest.approx(pair.scores, rel=1e-9, abs=0)  # as above
    assert (pair.maps is not None) == (name in pairs.MAPPED)
    for kind, plane in zip(("hi", "lo"), (score.detection, score.appearance), strict=True):
        if pair.maps:
            # The maps are kept as float32, which is within 6e-8 of each value.
            np.testing.assert_allclose(
                plane, pair.maps[kind], rtol=0, atol=1e-6 * pair.maps[kind].max()
            )


def test_the_clone_has_the_pairs_as_they_are_in_the_research_data(shared_data):
    for ours, theirs in zip(pairs.authors(), pairs.shared(shared_data, pairs.CLONE), strict=True):
        np.testing.assert_array_equal(ours.reference, theirs.reference)
        np.testing.assert_array_equal(ours.distorted, theirs.distorted)
        assert ours.scores == theirs.scores


@pytest.mark.parametrize("how", [{}, {"variant": "paper"}, {"eight_bit_lut": True}])
def test_identical_pictures_score_zero(picture, how):
    one = picture((37, 50))
    score = reference.mad(one, one.copy(), **how)
    assert score[:3] == (0, 0, 0)
    assert not score.detection.any() and not score.appearance.any()


def test_in_the_dark_nothing_is_detected(picture):
    one, other = picture((40, 41), 20, 40), picture((40, 41), 20, 40)
    score = reference.mad(one, other)
    assert score.hi == 0 and score.mad == 0 and score.lo > 0
    assert reference.mad(one, other, "paper").mad > 0  # brighter there: the gate lies lower


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*ODD, (36, 40)])
@pytest.mark.parametrize("value", [0, 77, 255])
def test_a_constant_picture_has_no_statistics(picture, shape, value):
    flat = np.full(shape, value, np.uint8)
    bands = reference.responses(reference.luma(flat)).reshape(-1, *shape)
    assert not any(reference.moments(band).any() for band in bands)
    assert reference.mad(flat, np.full(shape, 128, np.uint8)).mad == 0
    noisy = picture(shape, 100, 200)
    for pair in ((flat, noisy), (noisy, flat)):
        score = reference.mad(*pair)
        assert np.isfinite(score.detection).all() and np.isfinite(score.appearance).all()
        assert score.lo > 0 and np.isfinite(score.mad)


def test_both_frequencies_of_the_csf_are_counted_by_the_width():
    square = reference.csf((64, 64))
    np.testing.assert_array_equal(reference.csf((48, 64)), square[8:56])
    assert not np.allclose(reference.csf((64, 48)), square[:, 8:56])


@pytest.mark.parametrize("shape", [*ODD, (36, 40)])
def test_the_bank_does_not_see_the_mean(picture, shape):
    plane = reference.luma(picture(shape))
    assert not reference.bank(shape)[..., 0, 0].any()
    # Rounding of an FFT whose greatest value is 1e5 beside responses of 1e-3 to 1e2.
    np.testing.assert_allclose(
        reference.responses(plane + 40), reference.responses(plane), rtol=0, atol=1e-10
    )


def test_the_table_for_8_bits_reads_255_as_254_where_light_is_meant(picture):
    bright = picture((40, 41), 200, 255), picture((40, 41), 0, 255)
    pair = [np.where(plane > 220, 255, plane).astype(np.uint8) for plane in bright]
    clipped = [np.minimum(plane, 254) for plane in pair]
    as_read = reference.detection(*clipped) * reference.local_mse(*pair)
    ours = reference.detection(*pair, eight_bit_lut=True) * reference.local_mse(*clipped)
    assert not np.array_equal(ours, reference.detection(*pair) * reference.local_mse(*clipped))
    np.testing.assert_allclose(ours, as_read, rtol=1e-12)  # two products in another order


def test_luma_is_rounded_half_up_only_where_the_picture_has_8_bits():
    pixel = np.array([[[10, 20, 30]]])
    assert reference.luma(pixel.astype(np.uint8)) == 18
    assert reference.luma(pixel.astype(np.float64)) == pytest.approx(18.150848829613, abs=1e-9)
    assert reference.luma(pixel[..., 0].astype(np.uint8)) == 10


def test_only_the_inner_area_is_pooled():
    plane = np.ones((34, 40))
    plane[16:17, 16:23] = 0
    assert reference.pooled(plane) == 0


@pytest.mark.parametrize(("size", "reads"), [(24, False), (25, True), (26, True), (27, True)])
def test_a_block_reads_the_next_one_only_where_its_own_corner_plus_5_counts(random, size, reads):
    """Corners are 0, 4, 8; from 4 the probe is at 9, which at a size of 24 is past the last."""
    plane = random.normal(size=(size, size))
    plane[8:16, 8:16] = 0
    least = reference.modified_std(plane)
    assert least.shape == (3, 3) and least[2, 2] == 0
    assert {bool(least[i, j] == 0) for i, j in ((1, 1), (1, 2), (2, 1))} == {reads}
    assert least[0].all() and least[:, 0].all()


@pytest.mark.slow
def test_the_authors_scores_of_clips(shared_data):
    clips = pairs.clips(shared_data)
    score = video.st_mad(clips.reference, clips.distorted)
    ours = {"SMAD": score.smad, "TMAD": score.tmad, "STMAD": score.st_mad}
    assert ours == pytest.approx(clips.scores, rel=1e-9, abs=0)  # float64 on both sides
    itself = video.joined(1.0, 0.0, video.motion(clips.reference.astype(np.float64)))
    assert itself == pytest.approx(clips.of_itself["STMAD"], rel=1e-9)


@pytest.mark.slow
def test_identical_clips_have_the_score_of_their_motion(random):
    clip = random.integers(0, 256, size=(34, 37, 42)).astype(np.uint8)
    score = video.st_mad(clip, clip.copy())
    assert (score.smad, score.tmad) == (1, 0)
    weights = video.motion(clip.astype(np.float64))
    assert (len(weights.rows), len(weights.columns)) == (4, 5)
    assert score.st_mad == video.joined(1.0, 0.0, weights)


def test_a_reference_that_stands_still_has_no_score():
    weights = video.motion(np.full((3, 40, 40), 7.0))
    assert weights.of_rows == weights.of_columns == 0
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(video.strength(weights.columns, weights.of_columns, np.ones(5)))
