"""MAD as a loss of PyTorch: values are those of `score`, gradients those of finite differences."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import snellen
from snellen.errors import InputError
from support.mad.drawn import SIZES, noisy, scene

RELATIVE = 1e-8
"""Both are float64; sums and transforms in another order move the statistics of flat blocks, which
are divided by what is nearly 0, by far more than rounding: 1e-13 was seen, 1e-8 is allowed."""


@pytest.fixture
def make(torch):
    return importlib.import_module("snellen.torch").MADLoss


def drawn(random, shape, channels=1):
    """A scene and its noisy version, (1, C, H, W) of 0 … 1."""
    planes = [scene(random, shape) for _ in range(channels)]
    pair = np.stack(planes), np.stack([noisy(random, plane) for plane in planes])
    return [one[None] / 255 for one in pair]


def tensors(torch, arrays, place="cpu"):
    return [torch.as_tensor(one, device=place) for one in arrays]


@pytest.mark.parametrize("shape", SIZES)
def test_values_are_those_of_score(torch, make, random, place, shape):
    reference, distorted = drawn(random, shape)
    for settings in ({}, {"variant": "paper"}, {"eight_bit_lut": True, "hi_scale": 10}):
        found = make(**settings)(*tensors(torch, (distorted, reference), place))
        planes = reference[0, 0], distorted[0, 0]
        wanted = snellen.score(*planes, data_range=1, device="cpu", **settings).mad
        assert found.shape == () and found.dtype == torch.float64 and found.device.type == place
        assert found.item() == pytest.approx(wanted, rel=RELATIVE) and wanted > 1


@pytest.mark.slow
def test_colour_range_and_batches(torch, make, random):
    pairs = [drawn(random, (40, 44), 3) for _ in range(2)]
    reference, distorted = (np.concatenate(one) for one in zip(*pairs, strict=True))
    each = make("none", data_range=2.0)(*tensors(torch, (2 * distorted, 2 * reference)))
    wanted = snellen.score(reference, distorted, data_range=1, channel_axis=1, device="cpu").mad
    np.testing.assert_allclose(each.numpy(), wanted, rtol=RELATIVE)
    one, other = tensors(torch, (distorted, reference))
    for name in ("mean", "sum"):
        torch.testing.assert_close(make(name)(one, other), getattr(each, name)())
    torch.testing.assert_close(make("none")(one, other[:1])[0], each[0])


def test_float32(torch, make, random):
    """Flat parts lose digits: 1e-5 was seen; 1e-4 is what LO is allowed on a GPU, too."""
    one, other = tensors(torch, drawn(random, (70, 131))[::-1])
    found = make(dtype=torch.float32)(one.float(), other.float())
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(make()(one, other).item(), rel=1e-4)


@pytest.mark.parametrize("which", ["distorted", "reference"])
@pytest.mark.parametrize(("shape", "channels"), [((40, 44), 1), ((61, 40), 3)])
def test_the_gradient_is_that_of_finite_differences(torch, make, random, which, shape, channels):
    """Along random directions; the error of central differences is as the step squared.

    Samples stay within 0 … white, where kinks are rare: none is met within so small a step.
    """
    reference, distorted = (0.1 + 0.8 * one for one in drawn(random, shape, channels))
    loss, step = make(), 1e-7
    fixed, moved = tensors(torch, (reference, distorted))
    if which == "reference":
        fixed, moved = moved, fixed

    def value(picture):
        return loss(picture, fixed) if which == "distorted" else loss(fixed, picture)

    moved.requires_grad_()
    value(moved).backward()
    for _ in range(2):
        way = torch.as_tensor(random.normal(size=moved.shape))
        with torch.no_grad():
            slope = (value(moved + step * way) - value(moved - step * way)) / (2 * step)
        assert slope.item() == pytest.approx((moved.grad * way).sum().item(), rel=1e-4)


@pytest.mark.slow
def test_descent_finds_the_reference(torch, make, random):
    reference = torch.as_tensor(drawn(random, (48, 48))[0])
    noise = torch.as_tensor(random.normal(scale=0.05, size=reference.shape))
    picture = (reference + noise).clamp(0, 1).requires_grad_()
    loss, optimiser = make(), torch.optim.Adam([picture], lr=2e-3)
    values, away = [], ((picture - reference) ** 2).mean().item()
    for _ in range(25):
        optimiser.zero_grad()
        values.append(loss(picture, reference))
        values[-1].backward()
        torch.nn.utils.clip_grad_norm_([picture], 1.0)
        optimiser.step()
    assert values[-1] < 0.75 * values[0]
    assert ((picture - reference) ** 2).mean() < 0.9 * away


@pytest.mark.parametrize("kind", ["equal", "flat", "black", "against black", "beyond"])
def test_gradients_are_finite_where_there_is_no_derivative(torch, make, random, kind):
    picture = torch.as_tensor(drawn(random, (40, 40))[0])
    flat, black = torch.full_like(picture, 0.5), torch.zeros_like(picture)
    one, other = {
        "equal": (picture, picture), "flat": (flat, picture), "black": (black, picture),
        "against black": (picture, black), "beyond": (picture * 3 - 1, picture),
    }[kind]  # fmt: skip
    one = one.clone().requires_grad_()
    score = make()(one, other)
    score.backward()
    assert score.isfinite() and one.grad.isfinite().all()
    if kind in ("equal", "against black"):  # nothing is visible
        assert score == 0 and not one.grad.any()
    if kind == "beyond":
        assert not one.grad[(one < 0) | (one > 1)].any()


def test_wrong_use(torch, make):
    good = torch.zeros((2, 1, 40, 40))
    with pytest.raises(InputError, match="reduction='max'"):
        make("max")
    with pytest.raises(InputError, match=r"expected torch\.float64"):
        make(dtype=torch.float16)
    with pytest.raises(InputError, match="integers have no gradient"):
        make()(good.to(torch.uint8), good)
    for other in (good[:, :, :35], torch.zeros((3, 1, 40, 40))):
        with pytest.raises(InputError, match="equal shapes"):
            make()(good, other)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16"])
def test_samples_that_are_not_finite_are_refused(torch, make, random, kind, place, value):
    """As by `score`: they were dark, and the score 0."""
    both = [one.to(getattr(torch, kind)) for one in tensors(torch, drawn(random, (40, 44), 3))]
    both[place][0, 1, 17, 5] = value
    with pytest.raises(InputError, match="NaN or infinity"):
        make()(*both)


@pytest.mark.parametrize(("peak", "least", "most"), [(1.0, 0, 255), (1.0, -1, 1), (255.0, 0, 257)])
def test_a_reference_beyond_the_range_is_refused_as_by_score(
    torch, make, random, peak, least, most
):
    reference, distorted = tensors(torch, drawn(random, (40, 44)))
    reference = least + (most - least) * reference
    reference.view(-1)[:2] = torch.tensor([least, most])
    module = importlib.import_module("snellen.torch").MAD
    said = []
    for one in (make(data_range=peak), module(data_range=peak)):
        with pytest.raises(InputError, match="data_range") as refused:
            one(peak * distorted.clamp(0, 1), reference)
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_no_pictures_and_rounding_beyond_white(torch, make, random):
    reference, distorted = tensors(torch, drawn(random, (40, 44)))
    reference.view(-1)[0] = 1 + 1e-7
    assert make()(distorted, reference).isfinite()
    with pytest.raises(InputError, match="expected a picture or more"):
        make("none")(distorted[:0], reference)
