"""GPU memory that runs out, or that another process takes: words or the CPU, and no half file."""

from __future__ import annotations

import subprocess
import time

import pytest

from support.faults import COMMANDS, Scene, inputs, no_core
from support.gpu import ALONE

pytestmark = pytest.mark.gpu

ON_GPU = [c for c in COMMANDS if c.name in ("images", "film", "deblur film", "psf", "maps")]
ENDS = (0, 2)


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path / "scene", inputs(tmp_path / "given"))


def check(scene, ended):
    """Done by the GPU, or by the CPU after a warning, or refused in a line that names memory."""
    assert ended.code in ENDS, ended
    assert "Traceback" not in ended.err and "Exception ignored" not in ended.err, ended.err
    assert not scene.hidden() and not ended.orphans
    if ended.code:
        lines = [line for line in ended.err.splitlines() if line.startswith("error: ")]
        assert lines and all("memory" in line or "GPU" in line for line in lines), ended.err
        assert not any(name.endswith((".mkv", ".y4m")) for name in scene.visible())


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [1, 8, 64])
@pytest.mark.parametrize("command", ON_GPU, ids=lambda c: c.name)
def test_little_memory(scene, command, megabytes):
    limit = {"CUPY_GPU_MEMORY_LIMIT": str(megabytes << 20)}
    check(scene, scene.run(command, "--device", "cuda", setup=no_core, environment=limit))


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 2, 4])
def test_another_process_takes_the_memory(scene, cuda, delay):
    if not ALONE:
        pytest.skip("it takes the memory of other tests, too")
    command = next(c for c in ON_GPU if c.name == "film")
    taken, child = [], None
    try:
        child = scene.start(command, "--device", "cuda")
        try:
            child.wait(delay)
        except subprocess.TimeoutExpired:
            for size in (1 << 30, 64 << 20, 4 << 20):
                while cuda.cuda.runtime.memGetInfo()[0] > size:
                    try:
                        taken.append(cuda.cuda.runtime.malloc(size))
                    except cuda.cuda.runtime.CUDARuntimeError:
                        break
        check(scene, scene.end(child, time.monotonic(), False, 120))
    finally:
        for pointer in taken:
            cuda.cuda.runtime.free(pointer)
