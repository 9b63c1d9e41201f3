"""Names of devices and the facts of the machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from snellen.cpu import threads
from snellen.errors import DeviceError, InputError
from snellen.gpu import device, memory, pages
from snellen.gpu import driver as nvidia
from snellen.jobs import machine
from support.fake_cupy import FakeCupy
from support.gpu import ALONE

GPUS = ["cuda", "cuda:0", "cuda:12"]


@pytest.fixture
def driver(monkeypatch):
    """A driver for CUDA 11.8, 12.4 or 13.0, or none."""
    monkeypatch.setattr(device, "_working", set())
    return lambda version: monkeypatch.setattr(nvidia, "version", lambda: version)


def test_the_cpu():
    assert device.resolve("cpu") == "cpu"


@pytest.mark.parametrize("name", GPUS)
def test_no_driver(driver, name):
    driver(0)
    assert device.resolve("auto") == "cpu"
    with pytest.raises(DeviceError, match=f"{name}.*no NVIDIA driver.*install.*device=cpu"):
        device.resolve(name)


def test_without_a_driver_nothing_is_imported(monkeypatch):
    class Finder:
        """What is looked for."""

        def find_spec(self, name, path=None, target=None):
            assert name != "cupy"

    monkeypatch.setattr(device, "_working", set())
    monkeypatch.setattr(nvidia, "library", lambda: None)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert device.resolve("auto") == "cpu"


@pytest.mark.parametrize(("version", "extra"), [(12040, "cuda12"), (13000, "cuda13")])
def test_a_driver_without_cupy(monkeypatch, driver, version, extra):
    driver(version)
    monkeypatch.setitem(sys.modules, "cupy", None)  # importing it fails, as where it is missing
    assert device.resolve("auto") == "cpu"
    with pytest.raises(DeviceError, match=rf'cupy.*pip install "snellen\[{extra}\]"'):
        device.resolve("cuda")


class Library:
    """A driver that lists what it is asked, from any thread."""

    def __init__(self, active=0, fails=()):
        self.active, self.fails, self.asked = active, fails, []

    def __getattr__(self, name):
        def ask(*arguments):
            self.asked.append((name, threading.current_thread() is threading.main_thread()))
            if name == "cuDriverGetVersion":
                arguments[0]._obj.value = 13000
            if name == "cuDevicePrimaryCtxGetState":
                arguments[2]._obj.value = self.active
            return int(name in self.fails)

        return ask


@pytest.mark.cases
@pytest.mark.parametrize(
    ("library", "retained"),
    [
        (Library(), True),
        (Library(active=1), False),
        (Library(fails=["cuDeviceGet"]), False),
        (Library(fails=["cuInit"]), False),
        (None, False),
    ],
)
def test_a_thread_starts_cuda(monkeypatch, library, retained):
    monkeypatch.setattr(nvidia, "library", lambda: library)
    monkeypatch.setattr(nvidia, "_home", None)
    before = set(threading.enumerate())
    with nvidia.starting(0):
        pass
    assert before.issuperset(threading.enumerate())  # those of other tests may end meanwhile
    asked = library.asked if library else []
    assert (("cuDevicePrimaryCtxRetain", False) in asked) == retained
    assert not any(main for _, main in asked)


def test_without_threads_the_context_is_made_later(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    library = Library()
    monkeypatch.setattr(nvidia, "library", lambda: library)
    monkeypatch.setattr(nvidia, "_home", None)
    monkeypatch.setattr(threading.Thread, "start", start)
    with nvidia.starting(0):
        pass
    assert not library.asked


def test_an_import_that_fails_as_cuda_starts_is_raised():
    with pytest.raises(ImportError), nvidia.starting(0):
        raise ImportError


@pytest.mark.parametrize(
    ("version", "toolkit", "words"),
    [
        (11080, 12, "driver is for CUDA 11.8, CUDA 12 is the oldest that works; update the driver"),
        (12040, 13, 'for CUDA 12.4, .* for CUDA 13; update .* pip install "snellen.cuda12."'),
    ],
)
def test_a_driver_that_is_too_old(version, toolkit, words):
    assert re.search(words, nvidia.too_old(version, toolkit))


@pytest.mark.parametrize(("version", "toolkit"), [(12000, 12), (13000, 13), (13000, 12)])
def test_a_driver_that_is_new_enough(version, toolkit):
    assert nvidia.too_old(version, toolkit) == ""


@pytest.fixture
def two_gpus(monkeypatch):
    """As if two GPUs worked."""
    message = "there are 2 GPUs"
    monkeypatch.setattr(device, "why_not", lambda number=0: "" if number < 2 else message)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ("cpu", ("cpu",)),
        ("auto", ("cuda:0",)),
        ("cuda", ("cuda:0",)),
        ("cuda:1", ("cuda:1",)),
        ("cuda:0,cuda:1", ("cuda:0", "cuda:1")),
        ("cuda:1, cuda", ("cuda:1", "cuda:0")),
        (["cuda:1"], ("cuda:1",)),
        (("cuda:1", "cuda:0"), ("cuda:1", "cuda:0")),
        (["cuda:1,cuda:0"], ("cuda:1", "cuda:0")),
        ("cuda:1,0", ("cuda:1", "cuda:0")),
        ("cuda:all", ("cuda:0", "cuda:1")),
    ],
)
def test_several(names, wanted, monkeypatch):
    runtime = SimpleNamespace(getDeviceCount=lambda: 2)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    assert device.several(names) == wanted
    assert len(wanted) > 1 or device.single(names, "A+") == wanted[0]


@pytest.mark.usefixtures("two_gpus")
def test_a_method_that_cannot_use_several():
    with pytest.raises(DeviceError, match=r"A\+ cannot use several GPUs") as caught:
        device.single(["cuda:0", "cuda:1"], "A+")
    assert caught.value.parameter == "device"
    assert "--device cuda:0,cuda:1" in caught.value.worded(lambda name: f"--{name}")


@pytest.mark.parametrize("names", [None, 0, [], [0], {"cuda:0": 1}])
def test_what_is_no_list_of_names(names):
    with pytest.raises(InputError, match="expected auto, cpu, cuda, cuda:N, cuda:all, or a"):
        device.several(names)


@pytest.mark.parametrize("address", ["https://me:key@host/a?sig=key", "http://me:17,key@host"])
def test_an_address_shows_no_secret(address):
    for names in (address, ["cpu", address], f"cpu,{address}", {address: 1}):
        with pytest.raises((DeviceError, InputError), match="://") as caught:
            device.several(names)
        assert not any(secret in str(caught.value) for secret in ("17", "key"))


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("cuda:1,cuda:1", "got device='cuda:1,cuda:1'; expected one, or several GPUs, each once"),
        ("cuda,cuda:0", "each once"),
        ("auto,cuda:0", "each once"),
        ("cpu,cuda:0", "expected one, or several GPUs"),
        ("cpu,cpu", "expected one, or several GPUs"),
        ("cuda:0,cuda:2", "'cuda:2' cannot be used: there are 2 GPUs"),
        ("cuda:0,gpu", "got device='gpu'; expected auto, cpu, cuda, cuda:N or cuda:all"),
        ("cuda:0,", "got device=''"),
        ("", "got device=''"),
    ],
)
def test_several_that_cannot_be(names, words):
    with pytest.raises(DeviceError, match=words):
        device.several(names)


def test_several_without_a_driver(driver):
    driver(0)
    assert device.several("auto") == device.several("cpu") == ("cpu",)
    with pytest.raises(DeviceError, match="'cuda:0' cannot be used: no NVIDIA driver"):
        device.several("cuda:0,cuda:1")


@pytest.mark.parametrize(
    ("capability", "words"),
    [(70, "has compute capability 7.0, 7.5 .* oldest"), (130, "13.0, .* NVRTC .* pip install")],
)
def test_a_gpu_that_is_too_old_or_too_new(capability, words):
    assert re.search(words, nvidia.unsuited(capability, [75, 90, 120]))
    assert nvidia.unsuited(90, [75, 90, 120]) == ""


@pytest.mark.parametrize(("name", "number"), [("cuda", 0), ("cuda:0", 0), ("cuda:12", 12)])
def test_ordinal(name, number):
    assert device.ordinal(name) == number


def test_importing_everything_imports_no_cuda():
    code = (
        "import sys, snellen, snellen.upscaling.upscaler, snellen.cli.doctor\n"
        "sys.exit(any(name.split('.')[0] in ('cupy', 'cuda') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_gpu_is_tried_again_after_an_error_of_cuda(monkeypatch):
    """But not where its memory did not suffice."""
    FakeCupy(0).install(monkeypatch)
    from cupy.cuda.runtime import CUDARuntimeError

    monkeypatch.setattr(device, "_working", {0, 1})
    assert device.why_not(1) == ""
    for status, left in ((device.NO_MEMORY, {0, 1}), (700, set())):
        error = CUDARuntimeError()
        error.status = status
        with pytest.raises(DeviceError), device.reporting():
            raise error
        assert device._working == left


@pytest.mark.gpu
def test_the_gpu():
    assert device.why_not() == ""
    assert device.resolve("auto") == device.resolve("cuda") == device.resolve("cuda:0") == "cuda:0"


@pytest.mark.gpu
def test_the_context_that_a_thread_has_made_is_that_of_cupy():
    """In a process of its own: here there is one already."""
    code = (
        "import ctypes, sys\n"
        "from snellen.gpu import device, driver\n"
        "with driver.starting(0): assert 'cupy' not in sys.modules\n"
        "cuda, state = driver.library(), (ctypes.c_uint(), ctypes.c_int())\n"
        "def active():\n"
        "    assert not cuda.cuDevicePrimaryCtxGetState(0, *map(ctypes.byref, state))\n"
        "    return state[1].value\n"
        "assert active() == 1\n"
        "made = ctypes.c_void_p()\n"
        "assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(made), 0)\n"
        "assert device.why_not() == ''\n"
        "import cupy\n"
        "assert cupy.arange(10).sum() == 45\n"
        "current = ctypes.c_void_p()\n"
        "assert not cuda.cuCtxGetCurrent(ctypes.byref(current))\n"
        "assert current.value == made.value\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert found.returncode == 0, found.stderr.decode()


@pytest.mark.gpu
def test_a_gpu_that_is_not_there():
    assert "there are" in device.why_not(99)
    with pytest.raises(DeviceError, match=r"'cuda:99' cannot be used: there are .* GPUs"):
        device.resolve("cuda:99")


@pytest.mark.gpu
def test_what_the_gpu_has(cuda):
    with device.using("cuda"):
        assert re.fullmatch(r"sm_\d{2,3}", device.arch()) and device.multiprocessors() > 0


@pytest.mark.gpu
@pytest.mark.alone
def test_what_the_gpu_has_free(cuda):
    if not ALONE:
        pytest.skip("other tests take memory of the GPU meanwhile")
    with device.using("cuda"):
        before = memory.free_memory()
        held = cuda.empty(1 << 28, "u1")
        assert before - memory.free_memory() >= held.nbytes
        del held  # the pool keeps it, and it counts as free
        assert before - memory.free_memory() < 1 << 26


@pytest.mark.gpu
def test_pinned_memory_is_handed_out_again():
    first = pages.pinned((1080, 1920), np.uint16)
    view, address = first[3:, 5:], first.ctypes.data
    assert first.shape == (1080, 1920) and first.dtype == np.uint16 and first.flags.writeable
    del first
    assert pages.pinned((1080, 1920), np.uint16).ctypes.data != address  # the view holds it
    del view
    held = [pages.pinned((2160, 1920), np.uint8) for _ in range(2)]  # as many bytes
    assert address in [array.ctypes.data for array in held]


@pytest.mark.gpu
def test_a_thread_that_has_just_begun():
    def total():
        import cupy

        with device.using("cuda"):
            return int(cupy.arange(10).sum())

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(total).result() == 45


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", ["", "gpu", "cuda:", "cuda:x", "CPU", "cuda:-1", "cpu:0"])
def test_unknown(name):
    with pytest.raises(DeviceError, match="expected auto, cpu"):
        device.resolve(name)


@pytest.mark.gpu
def test_its_name():
    assert device.name("cuda:0") in machine.gpus()[0]


@pytest.mark.gpu
def test_too_little_memory_is_a_device_error(cuda):
    refused = pytest.raises(DeviceError, match=r"memory does not suffice.*device=cpu")
    with refused, device.using("cuda"), device.reporting():
        cuda.empty(1 << 50, cuda.uint8)


def test_the_name_of_the_cpu():
    assert device.name("cpu") == "cpu"


def test_threads():
    assert threads.available() >= 1


def test_facts_are_complete_and_json():
    found = json.loads(json.dumps(machine.facts()))
    assert found["cpu"] and found["threads"] == threads.available()
    assert found["blas"] and all(name.strip() for name in found["blas"])
    assert isinstance(found["gpu"], list) and isinstance(found["cuda"], dict)
    for name in ("snellen", "python", "numpy", "scipy", "numba", "pyav", "ffmpeg", "system"):
        assert isinstance(found[name], str) and found[name]


def test_no_driver_is_no_gpu(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(machine.ctypes, "CDLL", missing)
    assert machine.gpus() == [] and machine.driver() == ""
    assert nvidia.version() == 0 and "driver" not in machine.cuda()


def test_a_driver_that_does_not_start(monkeypatch):
    class Driver:
        def cuInit(self, flags):  # noqa: N802  the driver's name for it
            return 100  # CUDA_ERROR_NO_DEVICE

    monkeypatch.setattr(nvidia, "library", Driver)
    assert nvidia.version() == 0 and machine.gpus() == []


def test_versions_of_what_is_installed(nvrtc):
    found = machine.cuda()
    assert found["cuda-core"] and found["nvrtc"] == "{}.{}".format(*nvrtc.version())


@pytest.mark.gpu
def test_facts_of_the_gpu():
    (first, *_), found = machine.gpus(), machine.cuda()
    assert "driver for CUDA" in first
    assert all(found[name].split(".")[0].isdigit() for name in ("driver", "runtime", "nvrtc"))
