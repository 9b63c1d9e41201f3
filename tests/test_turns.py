"""Objects that hold threads and buffers: they are not copied, and calls of them take turns."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import snellen
from snellen import Deblurrer, Format, Frame, InputError, Scorer, Stream, Upscaler, fft

RANDOM = np.random.default_rng(14)
SMALL = RANDOM.integers(1, 256, (14, 15), np.uint8)
PAIR = RANDOM.integers(0, 256, (2, 40, 41), np.uint8)


class Derived(np.ndarray):
    """Whose operations fail."""

    def __array_ufunc__(self, *arguments, **options):
        raise RuntimeError("an operation of another library")

    def __getitem__(self, index):
        raise RuntimeError("an index of another library")


def deblurrer(**options):
    return Deblurrer(psf_size=3, iterations=4, every=2, device="cpu", **options)


@pytest.fixture(params=["Upscaler", "Deblurrer", "Scorer"])
def made(request):
    """An object that is not prepared, its format, and a call."""
    if request.param == "Upscaler":
        one = Upscaler(device="cpu"), Format(15, 14), lambda o: o.run(Frame((SMALL,))).planes[0]
    elif request.param == "Deblurrer":
        one = deblurrer(), Format(15, 14), lambda o: o.run(SMALL).image
    else:
        one = Scorer(device="cpu"), Format(41, 40), lambda o: o.run(*PAIR).mad
    with one[0]:
        yield one


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_only_settings_are_copied(made, how):
    holder, format, call = made
    with how(holder) as other:
        other.prepare(format)
        holder.prepare(format)
        np.testing.assert_array_equal(call(holder), call(other))
    with pytest.raises(InputError, match="cannot be copied or pickled"):
        how(holder)
    call(holder)


@pytest.mark.slow
def test_many_threads_use_one_object(made):
    holder, format, call = made
    holder.prepare(format)
    expected = call(holder)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: call(holder), range(24)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("call", ["run", "submit", "prepare", "close"])
def test_a_callback_cannot_use_its_own_deblurrer(call):
    arguments = {"run": (SMALL,), "submit": (SMALL,), "prepare": (Format(9, 8),), "close": ()}
    with deblurrer() as holder:
        holder.prepare(Format(15, 14))
        expected = holder.run(SMALL).image
        with pytest.raises(InputError, match="this Deblurrer is at work"):
            holder.run(SMALL, lambda *_: getattr(holder, call)(*arguments[call]))
        np.testing.assert_array_equal(holder.run(SMALL).image, expected)


def test_a_generator_of_pairs_cannot_use_its_own_scorer():
    with Scorer(device="cpu") as scorer:
        scorer.prepare(Format(41, 40))

        def pairs():
            yield tuple(PAIR)
            scorer.set_reference(PAIR[1])
            yield None, PAIR[1]

        with pytest.raises(InputError, match="this Scorer is at work"):
            scorer.runs(pairs())


def test_closing_an_upscaler_waits_for_the_frames_in_work():
    upscaler, frame = Upscaler(device="cpu"), Frame((np.zeros((200, 200), np.uint8),))
    upscaler.prepare(Format(200, 200))
    begun, found = threading.Event(), []

    def enlarge():
        begun.set()
        try:
            found.append(upscaler.run(frame).planes[0].shape)
        except InputError as error:  # it was closed first
            found.append(str(error))

    thread = threading.Thread(target=enlarge, daemon=True)
    thread.start()
    begun.wait()
    upscaler.close()
    thread.join(60)
    assert found


def test_derived_arrays_are_taken_as_plain_ones(made):
    holder, format, call = made
    holder.prepare(format)
    derived = SMALL.view(Derived)
    if isinstance(holder, Upscaler):
        found = holder.run(Frame((derived,))).planes[0]
    elif isinstance(holder, Deblurrer):
        found = holder.run(derived).image
    else:
        found = holder.run(PAIR[0].view(Derived), PAIR[1].view(Derived)).mad
    assert not isinstance(found, Derived)
    np.testing.assert_array_equal(found, call(holder))


def test_a_stream_takes_derived_arrays_and_is_not_copied():
    with Stream(deblurrer(), (14, 15)) as stream:
        stream.push(SMALL.view(Derived))
        assert stream.pop().restored.image.dtype == np.uint8
        with pytest.raises(InputError, match="cannot be copied"):
            copy.copy(stream)


class Odd:
    """An array of no library."""

    def __init__(self, **given):
        self.__dict__ |= given


@pytest.mark.parametrize(
    "odd",
    [
        Odd(shape=5, dtype="complex64"),
        Odd(shape=(None, "a"), dtype="complex64"),
        Odd(shape=([], []), dtype="complex64"),
        Odd(shape=(32, 32), dtype="complex64", __cuda_array_interface__={}),
        np,
        None,
    ],
)
def test_transforms_refuse_what_is_no_array(odd):
    for transform in (fft.fft2, fft.ifft2, fft.rfft2, fft.irfft2):
        with pytest.raises(InputError):
            transform(odd)


def test_numbers_of_few_digits_and_times():
    found = deblurrer(read_noise=np.float16(0.01), tv=np.float16(0.001)).definition
    assert type(found.read_noise) is float and type(found.tv) is float
    for options in ({"read_noise": np.timedelta64(5, "s")}, {"tv": np.timedelta64(0, "s")}):
        with pytest.raises(InputError):
            deblurrer(**options)
    with pytest.raises(InputError):
        Scorer(hi_scale=np.timedelta64(5, "s"), device="cpu")
    with pytest.raises(InputError):
        Format(np.timedelta64(5, "s"), 8)
    format = Format(8, 8, np.int8(8), subsampling=[np.int8(1), 1], siting=[0.5, 0])
    assert hash(format) == hash(Format(8, 8, subsampling=(1, 1), siting=(0.5, 0.0)))


def test_a_caller_who_wants_exceptions_of_numpy():
    """Numbers that are too small for their type are rounded, whatever NumPy is told to do."""
    with np.errstate(all="raise"):
        small = np.full((14, 15), 5e-324)
        assert snellen.upscale(small, device="cpu").shape == (28, 30)
        found = snellen.deblur(SMALL, psf_size=3, iterations=20, start=0.01, device="cpu")
        assert np.isfinite(found.image).all()
        assert snellen.deblur(small, np.full((3, 3), 5e-324), iterations=2, device="cpu").fit == 0
        with deblurrer(start=1e308, history=True) as holder:
            holder.prepare(Format(15, 14, 0))
            holder.run(small)
        assert np.geterr()["under"] == "raise"
