"""Super-resolution as a module of PyTorch: batches are enlarged where they are."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import snellen
from snellen.errors import InputError, ModelError


@pytest.fixture
def make(torch):
    return importlib.import_module("snellen.torch").Upscale


@pytest.mark.parametrize("method", ["aplus", "cnn-fast"])
@pytest.mark.parametrize(
    ("channels", "dtype"), [(1, "float32"), (3, "float32"), (3, "uint8"), (4, "float64")]
)
def test_it_is_upscale(torch, make, random, place, method, channels, dtype):
    samples = random.random((2, channels, 20, 24))
    images = (255 * samples if dtype == "uint8" else samples).astype(dtype)
    given = torch.as_tensor(images, device=place)
    found = make(2, method=method)(given)
    assert found.dtype == given.dtype and found.device == given.device
    assert found.shape == (2, channels, 40, 48)
    wanted = snellen.upscale(images, 2, method=method, channel_axis=1, device=place)
    np.testing.assert_array_equal(found.cpu().numpy(), wanted)


@pytest.mark.gpu
def test_no_copy_of_a_batch_on_the_gpu(torch, make, cuda):
    """Neither to main memory nor there: the result is the only memory that PyTorch takes."""
    given = torch.rand((2, 3, 64, 64), device="cuda")
    make(2)(given)
    before = torch.cuda.memory_allocated()
    found = make(2)(given)
    assert torch.cuda.memory_allocated() - before <= found.nbytes


def test_it_is_a_module_without_gradients(torch, make):
    module = make(3)
    assert isinstance(module, torch.nn.Module) and not list(module.parameters())
    assert not torch.nn.Sequential(module)(torch.rand((1, 1, 9, 9)).requires_grad_()).requires_grad


def test_wrong_use(torch, make):
    with pytest.raises(ModelError, match="scale=5"):
        make(5)
    for bad in (torch.zeros((3, 9, 9)), torch.zeros((1, 2, 9, 9))):
        with pytest.raises(InputError, match=r"expected a tensor \(N, C, H, W\)"):
            make()(bad)
    with pytest.raises(InputError, match="got ndarray"):
        make()(np.zeros((1, 1, 9, 9), np.float32))
