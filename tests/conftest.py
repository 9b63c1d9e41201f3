"""What many tests share: random numbers, small random models, the research data."""

from __future__ import annotations

import gc
import json
import os
import signal
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from snellen import caches
from snellen.aplus.model import Model
from snellen.cpu.blas import single_threaded
from snellen.errors import DeviceError
from snellen.gpu.device import why_not

ALL_ON_GPU = "\npytestmark = pytest.mark.gpu\n"

pytest.register_assert_rewrite("support")
pytest_plugins = ["support.cases", "support.gpu_record", "support.sanitize"]


GIVEN = ("SNELLEN_DATA", "SNELLEN_FAULTS", "SNELLEN_FAULTS_OF", "SNELLEN_FAULTS_SEED")
"""Variables that ask for more tests; all others of Snellen are the user's own and stay outside."""


settings.register_profile("snellen", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("snellen")  # no test fails as others keep the machine busy


def pytest_configure(config):
    """Leave the user's cache, configuration, locale and time zone outside.

    Compiled kernels and loops, and bytecode, are kept in a folder of the checkout, which all
    processes of a run and all later runs share. The workers of pytest-xdist inherit the
    environment.
    """
    kept = config.rootpath / ".test-cache"
    (kept / "home").mkdir(parents=True, exist_ok=True)
    foreign = {name for name in os.environ if name.startswith("SNELLEN_")} - {*GIVEN}
    for name in (*foreign, "LANGUAGE", "PYTHONDONTWRITEBYTECODE", "NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    os.environ |= {
        "SNELLEN_CONFIG": os.devnull,  # in which no snellen.toml of the user can be
        "HOME": str(kept / "home"),
        "XDG_CACHE_HOME": str(kept),
        "XDG_CONFIG_HOME": str(kept / "home" / ".config"),
        "PYTHONPYCACHEPREFIX": str(kept / "bytecode"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    if hasattr(time, "tzset"):
        time.tzset()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config.option, "numprocesses", None):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_sessionstart(session):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what CuPy warns of when imported is no fault of ours
        session.config.no_gpu = why_not()


def left_out(config):
    """Return whether tests that need a GPU are left out; a list of tests has them all."""
    return config.no_gpu and not config.option.collectonly


def pytest_ignore_collect(collection_path, config):
    """Leave out the modules whose tests all need a GPU, where none works."""
    if left_out(config) and collection_path.suffix == ".py":
        return True if ALL_ON_GPU in collection_path.read_text("utf-8") else None
    return None


def pytest_collection_modifyitems(config, items):
    """Leave out the other tests that need a GPU, where none works."""
    if left_out(config):
        left = [item for item in items if item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("gpu")]


def pytest_terminal_summary(terminalreporter, config):
    """Say in one line what was left out without a GPU."""
    if left_out(config):
        record = json.loads((config.rootpath / "benchmarks/gpu-tests.json").read_text("utf-8"))
        terminalreporter.write_line(
            f"Without a GPU ({config.no_gpu}) no test that needs one was collected; the last run "
            f"on one had {sum(record['tests'].values()):,} (benchmarks/gpu-tests.json)."
        )


def pytest_collection_finish(session):
    """What thousands of collected tests hold is not looked at by each collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def quiet_first_use(request, monkeypatch):
    """Whether code is compiled depends on what ran before: only tests of that notice hear of it."""
    if "first_use_is_said" not in request.fixturenames:
        monkeypatch.setattr(caches, "compiling", lambda kind: None)


@pytest.fixture
def first_use_is_said():
    """Let the compilation of code be noticed, as for a user."""


@pytest.fixture(scope="session")
def cuda(pytestconfig):
    """The module cupy, on the first GPU."""
    if reason := pytestconfig.no_gpu:
        pytest.skip(f"no GPU: {reason}")
    import cupy

    return cupy


@pytest.fixture(scope="session")
def torch():
    """The module torch, where PyTorch is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of when imported is no fault of ours
        return pytest.importorskip("torch", exc_type=ImportError)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def place(request, torch):
    """Where tensors of PyTorch are put."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU for PyTorch")
    return request.param


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request):
    """The device of a test that must pass on both backends."""
    return request.param


@pytest.fixture(scope="session")
def nvrtc():
    """CUDA's compiler, which needs no GPU."""
    from snellen.gpu import nvrtc

    try:
        nvrtc.version()
    except DeviceError as error:
        pytest.skip(str(error))
    return nvrtc


@pytest.fixture
def random():
    return np.random.default_rng(20140101)


@pytest.fixture(scope="session")
def shared_data():
    """The folder with research sets and the authors' outputs; see CONTRIBUTING.md."""
    folder = os.environ.get("SNELLEN_DATA")
    if not folder:
        pytest.skip("SNELLEN_DATA does not point to the research data")
    return Path(folder)


@pytest.fixture(scope="session")
def random_model():
    """A maker of models that are random but shaped and scaled like learnt ones."""
    return _random_model


def _random_model(scale, window=3, anchors=24, dims=7, seed=0, dtype=np.float32):
    random = np.random.default_rng([scale, window, anchors, dims, seed])
    patch = (window * scale) ** 2
    dims = min(dims, 4 * patch)
    basis, _ = np.linalg.qr(random.normal(size=(4 * patch, dims)))
    directions = random.normal(size=(anchors, dims))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # Rows of a norm of 0.3: learnt ones have 0.2 to 0.5.
    projections = random.normal(size=(anchors, patch, dims)) * 0.3 / np.sqrt(dims)
    return Model(
        scale=scale,
        window=window,
        anchors=directions.astype(np.float32),
        basis=basis.astype(np.float32),
        projections=projections.astype(dtype),
    )


@pytest.fixture
def small_model(random_model, tmp_path_factory):
    """A model file for ×2."""
    path = tmp_path_factory.mktemp("model") / "small.safetensors"
    random_model(2).save(path)
    return path


@pytest.fixture
def pool():
    """Threads for training, whose BLAS has one thread each."""
    with ThreadPoolExecutor(2) as threads, single_threaded():
        yield threads


@pytest.fixture
def signals():
    """Put back the signal handlers that the command line sets."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
