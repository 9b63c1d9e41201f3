"""The cache of objects on a GPU: how many stay, and that the GPU is done with what goes."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from snellen.gpu import cache
from snellen.gpu.cache import Cache, Resident


class Thing(Resident):
    """An object whose arrays are noted when they are dropped."""

    def __init__(self, device, log):
        super().__init__(device)
        self.arrays = Arrays(log)


class Arrays:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("dropped")


@pytest.fixture
def log(monkeypatch):
    """What happens, with synchronising as "waited" and the number of the device."""
    events = []
    monkeypatch.setattr(cache, "synchronize", lambda device: events.append(f"waited {device}"))
    return events


def test_the_last_used_stay():
    kept, made = Cache(2), []

    def get(key):
        return kept.get(0, key, lambda: made.append(key) or object())

    first = get("a")
    assert get("a") is first and made == ["a"]
    get("b")
    get("a")
    get("c")  # b goes, as a was used later
    assert get("a") is first and made == ["a", "b", "c"]
    get("b")
    assert made == ["a", "b", "c", "b"]


def test_each_device_has_its_own():
    kept = Cache(1)
    one, other = (kept.get(device, "a", object) for device in (0, 1))
    assert one is not other
    assert kept.get(0, "a", object) is one and kept.get(1, "a", object) is other


def test_none_is_made_twice():
    kept, made, gate = Cache(4), [], threading.Barrier(8)

    def make():
        made.append(1)
        return object()

    def work(_):
        gate.wait()
        return kept.get(0, "a", make)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(work, range(8)))
    assert len(found) == len(made) == 1


def test_what_fails_is_tried_again():
    kept = Cache(1)
    with pytest.raises(ZeroDivisionError):
        kept.get(0, "a", lambda: 1 / 0)
    assert kept.get(0, "a", lambda: 3) == 3


def test_a_dropped_one_waits_for_its_device_and_then_drops_its_arrays(log):
    kept = Cache(1)
    kept.get(3, "a", lambda: Thing(3, log))
    assert log == []
    kept.get(3, "b", lambda: Thing(3, log))
    assert log == ["waited 3", "dropped"]
    kept.clear()
    assert log == ["waited 3", "dropped"] * 2


def test_one_that_is_in_use_stays_until_its_user_is_gone(log):
    kept = Cache(1)
    user = kept.get(0, "a", lambda: Thing(0, log))
    kept.get(0, "b", lambda: Thing(0, log))
    assert log == []
    del user
    assert log == ["waited 0", "dropped"]


def test_without_cuda_it_is_dropped_all_the_same(monkeypatch):
    def gone(device):
        raise RuntimeError("the driver is shutting down")

    monkeypatch.setattr(cache, "synchronize", gone)
    log = []
    thing = Thing(0, log)
    del thing
    assert log == ["dropped"]


@pytest.mark.gpu
def test_models_of_the_gpu_are_bounded(cuda, random, random_model):
    """As many as MODELS stay; each result is right, also of one that had to be laid out again."""
    from snellen import clear_cache, upscale
    from snellen.aplus.cuda.luma import MODELS
    from snellen.engine import prepared
    from snellen.gpu import memory

    clear_cache()
    image = cuda.asarray(random.integers(0, 256, (40, 50), np.uint8))
    models = [random_model(2, seed=seed) for seed in range(MODELS + 3)]
    used, wanted = [], []
    for model in models:
        wanted.append(upscale(image, 2, model).get())
        prepared._released(None)  # what works on pictures; models stay
        gc.collect()
        used.append(memory._pool.used_bytes())
    a_model = used[1] - used[0]
    assert a_model > 0
    assert used[-1] == used[MODELS - 1]
    for model, result in zip(models, wanted, strict=True):
        np.testing.assert_array_equal(upscale(image, 2, model).get(), result)
    held = [weakref.ref(model) for model in models]
    del models, model
    clear_cache()
    gc.collect()
    assert memory._pool.used_bytes() == used[0] - a_model
    assert not any(one() for one in held)


@pytest.mark.gpu
def test_a_model_is_not_dropped_while_a_stream_reads_it(cuda, random, random_model):
    """Behind a long queue on the caller's stream, with the model dropped and its memory taken."""
    from snellen import clear_cache, upscale
    from snellen.gpu import memory

    image = cuda.asarray(random.integers(0, 256, (60, 80), np.uint8))
    model = random_model(2, anchors=1024, dims=28)
    wanted = upscale(image, 2, model).get()
    busy = cuda.ones((4096, 4096), cuda.float32)
    busy @ busy  # loads the library
    for _ in range(3):
        cuda.cuda.Device().synchronize()
        with cuda.cuda.Stream(non_blocking=True) as stream:
            for _ in range(20):
                busy @ busy
            found = upscale(image, 2, model)
            clear_cache()
            with cuda.cuda.Stream.null, memory.own():
                # Takes the memory that is free, also the model's if it were already.
                taken = [cuda.full(1 << 20, np.nan, cuda.float32) for _ in range(20)]
            stream.synchronize()
        np.testing.assert_array_equal(found.get(), wanted)
        del taken
