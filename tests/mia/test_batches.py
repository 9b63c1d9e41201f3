"""Batches: as many pictures at once as memory allows, all of them, none twice."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.mia import batches
from snellen.mia.batches import HOST, _parts, available
from snellen.mia.pictures import Pictures
from snellen.mia.progress import Watch
from snellen.mia.samples import flat
from support.mia.plain import deblur


@pytest.mark.parametrize("available", [100, 250, 999, 1000, 10**9])
@pytest.mark.parametrize("count", [1, 2, 5, 7, 100])
def test_no_batch_is_larger_than_the_memory(count, available):
    parts = _parts(count, 100, available)
    assert [i for part in parts for i in range(count)[part]] == list(range(count))
    sizes = [part.stop - part.start for part in parts]
    assert 100 * max(sizes) <= available and max(sizes) - min(sizes) <= 1
    assert len(parts) == -(-count // (available // 100))


@pytest.mark.parametrize("available", [99, 1, 0, -(10**9)])
def test_pictures_that_do_not_fit_go_one_by_one(available):
    """Whether the memory suffices in fact, the GPU reports."""
    assert _parts(3, 100, available) == [slice(0, 1), slice(1, 2), slice(2, 3)]


def test_the_limit_of_main_memory():
    assert available("cpu", 10**12) == HOST


def test_progress_counts_all_batches(monkeypatch, random):
    """Three channels one by one: 1 … 3 of 9 iterations, then 4 … 6, then 7 … 9."""
    monkeypatch.setattr(batches, "HOST", 1)
    told = []
    watch = Watch(lambda *step: told.append(step), 3)
    monkeypatch.setattr(Pictures, "cutting", None)  # no picture is copied for it
    psf = np.ones((3, 3))
    deblur(random.random((20, 24, 3)), psf, iterations=3, every=1, callback=watch, device="cpu")
    assert told == [("picture", done, 9) for done in range(1, 10)]


def test_what_a_restorer_begins_with_is_no_picture_of_one_value():
    """On a GPU these take another way, for which CuPy would compile kernels."""
    for counts in ((1, 1), (3, 1), (1, 2), (2, 2)):
        for white in (None, 1e-30, 3e35):
            pictures = Pictures(Format(5, 4, 0, white=white), None, counts, 3, "cpu")
            blank = pictures.blank().reshape(pictures.whole)
            assert not flat(blank).any()
            assert blank.max() == np.float32(white or 1) and blank.min() == 0
