"""Subbands by transforms of our own, to the moments of tiles, against NumPy in float64.

Tests with `there` run twice: on a GPU, and with the kernels compiled for the CPU by g++.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from snellen.mad.cuda import subbands
from snellen.mad.cuda.subbands import Line, Subbands, divided, fits, suits
from support import emulated
from support.mad import drawn, reference

SIZES = [(48, 64), (64, 45), (45, 105), (42, 120), (52, 44)]
"""Both even, one of them odd, both; factors 2, 3, 5, 7, 11, 13; a height of no whole tiles."""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """What stands for `Kernel`; it compiles each once."""
    return emulated.Kernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture(params=emulated.BOTH)
def there(request, monkeypatch, kernels):
    """CuPy, or what stands for it where kernels run on the CPU."""
    if request.param == "gpu":
        return request.getfixturevalue("cuda")
    module = emulated.install(monkeypatch, kernels, subbands)
    module.complex64, module.nan = np.complex64, np.nan
    return module


def moments(plane, part):
    """Of some subbands' tiles, as Subbands returns them."""
    magnitudes = reference.responses(plane).reshape(20, *plane.shape)[part.start : part.stop]
    down, across = (size // 4 for size in plane.shape)
    whole = magnitudes[:, : 4 * down, : 4 * across].reshape(len(part), down, 4, across, 4)
    tiles = whole.swapaxes(2, 3).reshape(len(part), down, across, 16)
    away = tiles - tiles.mean(axis=-1, keepdims=True)
    return np.stack([tiles.mean(axis=-1), *((away**n).sum(axis=-1) for n in (2, 3, 4))], -1)


def check(there, plane, most, part):
    """Nothing that was not written is read, and nothing is written beyond the subbands."""
    stage = Subbands(*plane.shape, most)
    spectrum = there.asarray(np.fft.rfft2(plane).astype(np.complex64))
    stage.scratch[...], stage._moments[...] = there.nan, there.nan
    found = stage(spectrum, part).get()
    assert np.isnan(stage._moments.get()[len(part) :]).all()
    assert stage(spectrum, part).get().tobytes() == found.tobytes()
    wanted = moments(plane, part)
    greatest = np.abs(wanted).max(axis=(0, 1, 2))
    # Transforms leave some 1e-7 of the greatest response, and rounded coordinates change a filter
    # by 3e-6 of itself where it is small; third powers have both signs.
    for which, share in enumerate((3e-6, 6e-6, 2e-5, 1e-5)):
        error = np.abs(found[..., which] - wanted[..., which])
        assert error.max() <= share * greatest[which], which


@pytest.mark.parametrize("size", SIZES)
def test_moments_of_tiles(there, random, size):
    check(there, random.normal(0, 40, size).astype(np.float32).astype(float), 6, range(3, 9))


@pytest.mark.parametrize("part", [range(1), range(13, 14), range(20), range(7, 12)], ids=str)
def test_any_subbands(there, random, part):
    check(there, drawn.scene(random, (48, 64)).astype(np.float32) - 128.0, 20, part)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(1080, 1920), (1440, 2560), (720, 1280), (1125, 1500)])
def test_usual_sizes(cuda, random, size):
    check(cuda, random.normal(0, 40, size).astype(np.float32).astype(float), 3, range(9, 12))


@pytest.mark.parametrize("lines", [1, 2, 4])
@pytest.mark.parametrize("length", [8, 45, 98, 480, 1080, 2560, 3840, 4096])
def test_three_steps_are_an_inverse_transform(random, length, lines):
    line = Line(divided(length), lines, 2)
    one, two, three = line.radices
    assert line.length == length and line.stride % 2 and line.stride >= two * three
    assert line.threads % 32 == 0 and line.threads * line.blocks <= 2048
    factors = line.twiddles().astype(complex)
    first = factors[: (one - 1) * two * three].reshape(one - 1, two, three)
    second = factors[first.size :].reshape(two - 1, three)
    given = random.normal(0, 1, (length, 2)) @ [1, 1j]
    v = np.fft.ifft(given.reshape(one, two, three), axis=0, norm="forward")
    v[1:] *= first
    v = np.fft.ifft(v, axis=1, norm="forward")
    v[:, 1:] *= second
    v = np.fft.ifft(v, axis=2, norm="forward")
    wanted = np.fft.ifft(given, norm="forward")
    np.testing.assert_allclose(v.T.ravel(), wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_which_sizes_there_are_kernels_for():
    assert all(fits(*size) for size in [*SIZES, (2160, 3840), (1125, 1500), (4096, 4096)])
    assert not any(fits(*size) for size in [(1082, 1920), (1080, 1922), (875, 512), (8192, 64)])
    assert divided(1080) == (12, 9, 10) and divided(1920) == (12, 10, 16)


@pytest.mark.parametrize(
    ("shared", "largest"), [(65536, (1440, 2560)), (101376, (2160, 3840)), (232448, (4096, 4096))]
)
def test_where_shared_memory_is_less_cufft_takes_large_sizes(monkeypatch, shared, largest):
    """Turing (sm_75) has 64 KiB for a block, sm_86 and sm_120 have 99, Hopper has 227."""
    there = SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": shared})
    module = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: there))
    monkeypatch.setitem(sys.modules, "cupy", module)
    sizes = [(720, 1280), (1080, 1920), (1440, 2560), (2160, 3840), (4096, 4096)]
    assert [size for size in sizes if suits(*size)] == sizes[: sizes.index(largest) + 1]
    assert not suits(360, 360) and not suits(1082, 1920)
