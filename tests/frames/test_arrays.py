"""Arrays of other libraries: where they live, how they are read and given back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from snellen.errors import DeviceError, InputError
from snellen.frames import arrays, placement
from snellen.gpu import device


class Foreign:
    """An array that says where it lives."""

    def __init__(self, kind, number=0):
        self.device = (kind, number)

    def __dlpack__(self, **options):
        raise BufferError("not for you")

    def __dlpack_device__(self):
        return self.device


@pytest.fixture
def gpus(monkeypatch):
    """Two GPUs that work, as far as anybody asks."""
    monkeypatch.setattr(device, "why_not", lambda n=0: "" if n < 2 else "there are 2 GPUs")


@pytest.mark.parametrize(
    ("image", "home"),
    [
        (np.zeros(3), "cpu"),
        ([1, 2], "cpu"),
        (Foreign(1), "cpu"),
        (Foreign(3), "cpu"),
        (Foreign(2), "cuda:0"),
        (Foreign(2, 5), "cuda:5"),
        (Foreign(13, 1), "cuda:1"),
    ],
)
def test_where_an_array_lives(image, home):
    assert arrays.place(image) == home


def test_an_array_on_something_else():
    with pytest.raises(InputError, match=r"another kind \(DLPack's 8\).*\.cpu\(\)"):
        arrays.place(Foreign(8))  # Metal


@pytest.mark.parametrize(
    ("image", "device", "wanted"),
    [
        (np.zeros(3), "auto", "cuda:0"),
        (np.zeros(3), "cpu", "cpu"),
        (np.zeros(3), "cuda:1", "cuda:1"),
        (Foreign(2, 1), "auto", "cuda:1"),
        (Foreign(2, 1), "cuda", "cuda:1"),
        (Foreign(2, 1), "cuda:1", "cuda:1"),
        (Foreign(2), "cuda", "cuda:0"),
    ],
)
def test_an_array_on_a_gpu_stays_there(gpus, image, device, wanted):
    assert placement.choose(image, device, "A+") == wanted


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_an_array_on_another_device_than_asked_for(gpus, device):
    words = rf"lives on a GPU \(cuda:1\); got device='{device}'.*leave device out"
    with pytest.raises(InputError, match=words):
        placement.choose(Foreign(2, 1), device, "A+")


def test_a_gpu_that_does_not_work(monkeypatch):
    monkeypatch.setattr(device, "why_not", lambda n=0: "no driver")
    with pytest.raises(InputError, match=r"lives on a GPU \(cuda:0\).*no driver; or copy it"):
        placement.choose(Foreign(2), "auto", "A+")
    with pytest.raises(DeviceError, match="expected auto"):
        placement.choose(np.zeros(3), "tpu", "A+")


def test_an_unknown_name_for_an_array_on_a_gpu(gpus):
    with pytest.raises(DeviceError, match="expected auto"):
        placement.choose(Foreign(2), "tpu", "A+")


def test_what_cannot_be_read():
    with pytest.raises(InputError, match="through DLPack: not for you"):
        arrays.read(Foreign(1))
    with pytest.raises(InputError, match=r"cannot be read: .* inhomogeneous"):
        arrays.read([[1, 2], [3]])


@pytest.mark.parametrize("name", ["a.png", Path("a.png")])
def test_the_name_of_a_file_is_no_array(name):
    with pytest.raises(InputError, match=r"got 'a\.png'; expected an array; files are for"):
        arrays.read(name)


@pytest.mark.parametrize("names", ["cuda:0,cuda:1", ["cuda:0", "cuda:1"]])
@pytest.mark.parametrize("image", [np.zeros(3), Foreign(2)])
def test_several_gpus_for_a_method_that_cannot_use_them(gpus, image, names):
    with pytest.raises(DeviceError, match=r"MIA cannot use several GPUs.*choose one.*cuda:0"):
        placement.choose(image, names, "MIA")


def test_pitch():
    """Of planes whose rows are adjacent samples; kernels would read others wrongly."""
    plane = np.zeros((5, 7), np.uint16)
    assert arrays.pitch(plane) == 7 and arrays.pitch(plane[:, 1:4]) == 7
    assert arrays.pitch(plane[::2]) == 14
    assert arrays.pitch(plane[:, :1]) == 7 and arrays.pitch(plane.T[:, :1]) == 1
    for other in (plane.T, np.asfortranarray(plane), plane[:, ::2], plane[:, ::-1]):
        with pytest.raises(AssertionError, match="not side by side"):
            arrays.pitch(other)


def ring():
    found = []
    found.append(found)
    return found


def many(found, levels):
    for _ in range(levels):
        found = [found, found]
    return found


def test_lists_without_an_end():
    """A list in itself, and one that is there so often that no memory holds the array."""
    for image in (ring(), (ring(),), [[ring()]], many(1, 70)):
        with pytest.raises(InputError, match="more than 64 deep"):
            arrays.read(image)
    with pytest.raises(InputError, match="memory"):
        arrays.read(many(1, 60))
    assert arrays.read(many(1, 3)).shape == (2, 2, 2)
