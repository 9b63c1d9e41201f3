"""Restorer: in which order it queues work on a GPU and waits for it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from snellen import Deblurrer
from snellen.frames.frame import Format
from snellen.mia import deblurrer
from snellen.mia.pictures import Pictures
from snellen.mia.restorer import Restorer, Run


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_checks_are_read_while_the_gpu_works(dtype):
    """After everything is queued, before anybody waits for the results; integers are finished."""
    calls, asked, zeros = [], [], np.zeros((1, 1, 3, 3))

    def later(name, value):
        def result():
            calls.append(f"wait for {name}")
            return value

        calls.append(f"queue {name}")
        return result

    def finish(f, h, recentre, *, whole, peak):
        asked.append((whole, peak))
        return pictures

    pictures = np.full((1, 4, 5), 7, dtype), zeros
    restorer = Restorer.__new__(Restorer)
    restorer.device = "cuda:0"
    restorer.pictures = Pictures(Format(5, 4, 0), None, (1, 1), 3, "cpu")
    restorer.frames = SimpleNamespace(
        place=lambda frames, peak: (frames, frames[:, 0]),
        finish=finish,
        fetched=lambda: later("the pictures", pictures),
        refuse=lambda peak: None,
    )
    check = lambda fit: (later("a fit", np.ones(1)), later("a change", 0.5))  # noqa: E731
    restorer.backend = SimpleNamespace(
        start=lambda *what: None,
        iterate=lambda count: calls.append(count),
        checks=lambda: check,
        measure=lambda: later("the fit", np.ones(1)),
        estimate=zeros,
        psf=zeros,
    )
    image = np.arange(20).reshape(4, 5).astype(dtype)
    found = restorer.run(image, zeros, Run(10, 10, history=True))[0]
    assert calls == [
        10, "queue a fit", "queue a change", "queue the fit", "queue the pictures",
        "wait for a fit", "wait for a change", "wait for the pictures", "wait for the fit",
    ]  # fmt: skip
    assert asked == [(np.dtype(np.uint8), 255.0) if dtype == "uint8" else (None, 1.0)]
    assert found.image.dtype == dtype and (found.image == 7).all() and len(found.history) == 1


@pytest.mark.parametrize(("bits", "kind"), [(8, "uint8"), (10, "uint16"), (0, None)])
def test_a_deblurrer_prepares_for_the_samples_of_its_format(monkeypatch, bits, kind):
    """Their kernels compile in `prepare`, not in the first `run`."""
    asked = []
    monkeypatch.setattr(deblurrer, "Restorer", lambda *how: asked.append(how[1]) or Restorer(*how))
    with Deblurrer(psf_size=3, device="cpu") as made:
        made.prepare(Format(9, 8, bits))
    assert asked == [kind]


@pytest.mark.parametrize(
    ("bits", "white"), [(8, None), (10, None), (8, 1000.0), (10, 7e4), (0, 9e9)]
)
def test_a_blank_picture_has_a_sample_of_white(bits, white):
    format = Format(9, 8, bits, white=white)
    blank = Pictures(format, None, (2, 1), 3, "cpu").blank(format.dtype.name)
    most = np.iinfo(format.dtype).max if bits else np.inf
    assert blank.shape == (2, 8, 9) and blank.dtype == format.dtype
    assert blank.max() == min(white or 2**bits - 1, most) and np.count_nonzero(blank) == 2
