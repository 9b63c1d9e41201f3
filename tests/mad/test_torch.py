"""The module of PyTorch: a shell, so little is to be tested. Most of it needs PyTorch."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import snellen
from snellen.errors import InputError

SIZE = (41, 37)


@pytest.fixture
def make(torch):
    """The class under test."""
    return importlib.import_module("snellen.torch").MAD


def pair(random, count, channels, dtype=np.float32):
    """Two arrays (count, *SIZE) or (count, *SIZE, 3) in 0 … 1, or of integers."""
    shape = (count, *SIZE, 3)[: 3 + (channels == 3)]
    reference = random.uniform(0.3, 0.7, size=shape)
    distorted = np.clip(reference + random.normal(scale=0.05, size=shape), 0, 1)
    scale = 255 if dtype == np.uint8 else 1
    return (reference * scale).astype(dtype), (distorted * scale).astype(dtype)


def tensor(torch, array, place):
    """(N, H, W) or (N, H, W, 3) as NCHW."""
    laid = array[:, None] if array.ndim == 3 else np.ascontiguousarray(np.moveaxis(array, -1, 1))
    return torch.from_numpy(laid).to(place)


def test_without_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "snellen.torch", raising=False)
    with pytest.raises(ImportError, match=r"needs PyTorch.*pytorch\.org.*snellen\.score") as caught:
        importlib.import_module("snellen.torch")
    assert caught.value.name == "torch"
    assert "snellen.torch" not in sys.modules


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("channels", [1, 3])
def test_scores_are_those_of_score(torch, make, random, place, channels, dtype):
    reference, distorted = pair(random, 2, channels, dtype)
    white = 255 if dtype == np.uint8 else 1.0
    mad = make(data_range=white)
    found = mad(tensor(torch, distorted, place), tensor(torch, reference, place))
    assert found.shape == (2,) and found.dtype == torch.float64
    assert found.device.type == place and not found.requires_grad
    wanted = snellen.score(reference, distorted, data_range=white, device=place)
    np.testing.assert_array_equal(found.cpu().numpy(), wanted.mad)


def test_the_distorted_picture_comes_first(torch, make, random):
    smooth = np.full((1, *SIZE), 0.5, np.float32)
    rough = np.clip(smooth + random.normal(scale=0.1, size=smooth.shape), 0, 1).astype(np.float32)
    mad = make()
    one, other = (tensor(torch, array, "cpu") for array in (smooth, rough))
    assert mad(one, other).item() == snellen.score(rough, smooth, data_range=1, device="cpu").mad
    assert mad(one, other).item() != mad(other, one).item()


def test_reductions(torch, make, random, place):
    reference, distorted = (tensor(torch, a, place) for a in pair(random, 3, 1))
    each = make()(distorted, reference)
    for name in ("mean", "sum"):
        whole = make(reduction=name)(distorted, reference)
        assert whole.shape == ()
        torch.testing.assert_close(whole, getattr(each, name)())


def test_one_reference_meets_many(torch, make, random):
    reference, distorted = (tensor(torch, a, "cpu") for a in pair(random, 3, 1))
    found = make()(distorted, reference[:1])
    assert found.shape == (3,)
    assert found[0] == make()(distorted[:1], reference[:1])[0]


def test_settings_arrive(torch, make, random):
    reference, distorted = pair(random, 1, 1)
    tensors = (tensor(torch, array, "cpu") for array in (distorted, reference))
    settings = {"variant": "paper", "hi_scale": 10, "eight_bit_lut": True}
    wanted = snellen.score(reference, distorted, data_range=1, device="cpu", **settings)
    assert make(**settings)(*tensors).numpy() == wanted.mad


def test_gradients_stop(torch, make, random):
    reference, distorted = (tensor(torch, a, "cpu") for a in pair(random, 1, 3))
    assert not make()(distorted.requires_grad_(), reference).requires_grad


def test_the_convention(torch, make):
    mad = make()
    assert isinstance(mad, torch.nn.Module) and mad.lower_better is True
    assert not list(mad.parameters())
    mad.eval().to("cpu")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"reduction": "max"}, "reduction='max'"),
        ({"variant": "2012"}, "variant='2012'"),
        ({"data_range": 0}, "data_range=0"),
    ],
)
def test_wrong_settings(make, settings, words):
    with pytest.raises(InputError, match=words):
        make(**settings)


@pytest.mark.parametrize("shape", [SIZE, (1, *SIZE), (1, 2, *SIZE), (1, 1, 33, 40), (1, 1, 40, 3)])
def test_wrong_shapes(torch, make, shape):
    with pytest.raises(InputError, match=r"expected a tensor \(N, 1, H, W\) or \(N, 3, H, W\)"):
        make()(torch.zeros(shape), torch.zeros(shape))


def test_wrong_values(torch, make):
    good = torch.zeros((1, 1, *SIZE))
    with pytest.raises(InputError, match="got ndarray"):
        make()(good, good.numpy())
    with pytest.raises(InputError, match="samples from 0 to 2"):
        make()(good + 2 * torch.eye(SIZE[0])[:, : SIZE[1]], good)
    with pytest.raises(InputError, match="expected equal shapes"):
        make()(good, torch.zeros((1, 3, *SIZE)))
