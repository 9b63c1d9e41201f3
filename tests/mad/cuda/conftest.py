"""What tests on the GPU share: backends that are closed at the end, several GPUs."""

from __future__ import annotations

import pytest

from snellen.frames.frame import Format
from snellen.mad.cuda.backend import Backend
from snellen.mad.definition import Definition


@pytest.fixture
def made():
    """A maker of backends for 8 bits, closed at the end."""
    all_made = []

    def make(size, **options):
        backend = Backend(Definition(), Format(size[1], size[0]), 255.0, "cuda:0", **options)
        all_made.append(backend)
        return backend

    yield make
    for backend in all_made:
        backend.close()


@pytest.fixture(scope="module", params=[2, 3, 4])
def gpus(request, cuda):
    """That many GPUs, as a Scorer takes them."""
    count = cuda.cuda.runtime.getDeviceCount()
    if count < request.param:
        pytest.skip(f"{request.param} GPUs are needed, {count} here")
    return ",".join(f"cuda:{number}" for number in range(request.param))
