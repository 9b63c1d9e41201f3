"""Kernels: compiling, the cache on disk, arguments and launches."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cubin import usage
from snellen import caches
from snellen.aplus.cuda import group
from snellen.errors import DeviceError
from snellen.gpu import ahead, loaded, nvrtc
from snellen.gpu import kernel as kernels
from snellen.gpu.kernel import ARCHES, Kernel

FOLDER = Path(__file__).parent / "kernels"


@pytest.fixture
def place(monkeypatch, tmp_path):
    """An empty cache, and none of the user's behind it."""
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def compilations(nvrtc, monkeypatch, place):
    """A list that grows by one architecture for each compilation."""
    done, really = [], nvrtc._compile

    def counted(file, source, arch, *rest):
        done.append(arch)
        return really(file, source, arch, *rest)

    monkeypatch.setattr(nvrtc, "_compile", counted)
    return done


def add(folder=FOLDER, name="add", **constants):
    return Kernel(folder / "add.cu", name, **{"weight": 0.5, **constants})


# Compiling: no GPU needed.


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHES)
def test_compiles_for_every_architecture(nvrtc, place, arch):
    binary = add().compile(arch)
    assert binary.code.startswith(b"\x7fELF") and binary.arch == arch
    assert f"for '{arch}'" in binary.log
    used = usage(binary, "add")
    assert 0 < used.registers < 32 and used.shared == used.local == 0


def test_instructions_of_one_generation_are_compiled_for_it_alone(monkeypatch):
    """A kernel with "sm_90a" among its architectures is compiled for that on sm_90 only."""
    begun = []
    monkeypatch.setattr(ahead, "begin", lambda file, arch, constants: begun.append(arch))
    monkeypatch.setattr(kernels.devices, "current", lambda: "cuda:0")
    monkeypatch.setattr(kernels.devices, "ordinal", lambda device: 0)
    for arch in ("sm_90", "sm_120"):
        monkeypatch.setattr(kernels.devices, "arch", lambda arch=arch: arch)
        Kernel(nvrtc.PACKAGE / "frames" / "bicubic.cu", "name", arches=("sm_90a",), test=arch)
    assert begun == ["sm_90a", "sm_120"]


@pytest.mark.slow
def test_local_memory_is_reported(nvrtc, place):
    binary = add().compile("sm_90")
    spills, indexed = usage(binary, "spills"), usage(binary, "indexed")
    assert spills.local > 400 and spills.registers == 64
    assert indexed.local == 400


HELD = """
__device__ __noinline__ float inner(float x, int n) {
  float all[40];
  for (int i = 0; i < 40; ++i) all[i] = x * i;
  return all[n % 40];
}
extern "C" __global__ void held(float* x, int n) {
  __shared__ float all[100];
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = all[99 - threadIdx.x];
}
extern "C" __global__ void calls(float* x, int n) {
  float all[10];
  for (int i = 0; i < 10; ++i) all[i] = x[i];
  x[0] = inner(all[n % 10], n);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHES)
def test_use_without_a_log(nvrtc, place, tmp_path, arch):
    """As where NVRTC takes code from a cache of its own: the code says what the log says."""
    (tmp_path / "held.cu").write_text(HELD)
    for file, names in (("add.cu", ("add", "spills", "indexed")), ("held.cu", ("held", "calls"))):
        folder = FOLDER if file == "add.cu" else tmp_path
        binary = Kernel(folder / file, names[0], weight=0.5).compile(arch)
        for name in names:
            used, log = usage(replace(binary, log=""), name), binary.log
            said = log[log.index(f"Function properties for {name}\n") :]
            counted, _, line = (
                said[said.index("Used ") :].partition("\n")[0].partition(" registers")
            )
            shared = re.search(r"(\d+) bytes smem", line)
            assert used.registers == int(counted.removeprefix("Used "))
            assert used.shared == (int(shared[1]) if shared else 0) == 400 * (name == "held")
            local = re.search(r"(\d+) bytes cumulative stack", line)
            assert used.local == int((local or re.search(r"(\d+) bytes stack frame", said))[1])


def test_an_error_names_file_and_line(nvrtc, place):
    with pytest.raises(DeviceError, match=r'broken\.cu\(4\): error: identifier "nothing"') as found:
        Kernel(FOLDER / "broken.cu", "broken", tile=8).compile("sm_90")
    assert "does not compile for sm_90 -DTILE=8: " in str(found.value)
    assert not place.exists()


def test_an_error_in_an_include_names_its_file(nvrtc, place, tmp_path):
    shutil.copy(FOLDER / "add.cu", tmp_path)
    (tmp_path / "weight.cuh").write_text("\n\nfloat weight(;\n")
    with pytest.raises(DeviceError, match=r"weight\.cuh\(3\): error"):
        add(tmp_path).compile("sm_80")


@pytest.mark.cases
@pytest.mark.parametrize(
    ("file", "name", "arch", "words"),
    [
        ("add.cu", "subtract", "sm_80", "has no kernel 'subtract'.*extern"),
        ("none.cu", "none", "sm_80", r"none\.cu: No such file"),
        ("add.cu", "add", "sm_10", "does not compile for sm_10"),
    ],
)
def test_what_cannot_be_compiled(nvrtc, place, file, name, arch, words):
    with pytest.raises(DeviceError, match=words):
        usage(Kernel(FOLDER / file, name, weight=1).compile(arch), name)


def test_without_nvrtc_the_error_says_what_to_install(monkeypatch, place):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(DeviceError, match=r'NVRTC.*not installed.*pip install "snellen\[cuda13\]"'):
        add().compile("sm_80")


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (28, "28"),
        (-1, "-1"),
        (True, "1"),
        (np.int64(7), "7"),
        (0.1, "0.1f"),
        (1e-9, "1e-09f"),
        (np.float32(0.5), "0.5f"),
        ("float2", "float2"),
    ],
)
def test_constants(value, literal):
    assert Kernel(FOLDER / "add.cu", "add", Size=value).constants == {"SIZE": literal}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_constant_that_cpp_cannot_read(value):
    with pytest.raises(ValueError, match="as a constant"):
        add(weight=value)


# The cache.


@pytest.mark.slow
def test_compiled_once_for_each_source_constant_and_architecture(compilations, tmp_path):
    for file in ("add.cu", "weight.cuh"):
        shutil.copy(FOLDER / file, tmp_path)
    first = add(tmp_path).compile("sm_80")
    assert add(tmp_path).compile("sm_80") == first and len(compilations) == 1
    add(tmp_path, name="spills").compile("sm_80")  # another kernel of the same file
    assert len(compilations) == 1
    assert add(tmp_path, weight=2).compile("sm_80").code != first.code
    add(tmp_path).compile("sm_90")
    assert compilations == ["sm_80", "sm_80", "sm_90"]
    (tmp_path / "weight.cuh").write_text("__device__ inline float weight(float y) { return 3; }")
    assert add(tmp_path).compile("sm_80").code != first.code
    with (tmp_path / "add.cu").open("a") as file:
        file.write("// more\n")
    add(tmp_path).compile("sm_80")
    assert len(compilations) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: b"", lambda data: b"x\n", lambda data: b"[]\n" + data],
)
def test_a_damaged_cache_is_compiled_again(compilations, place, damage):
    first = add().compile("sm_80")
    (kept,) = place.iterdir()
    kept.write_bytes(damage(kept.read_bytes()))
    assert add().compile("sm_80").code == first.code and len(compilations) == 2
    assert add().compile("sm_80").code == first.code and len(compilations) == 2


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_error(compilations, monkeypatch):
    monkeypatch.setattr(caches, "folders", lambda: iter(()))
    assert add().compile("sm_80").code == add().compile("sm_80").code and len(compilations) == 2


@pytest.mark.cases(3)
@pytest.mark.parametrize("content", [b"", b"{", b'{"log": ""}\nno cubin', b'{"log": 1}', b"\xff\n"])
def test_what_is_no_machine_code_is_compiled_again(compilations, place, content):
    """Its digest is right, but it was not written by us."""
    first = add().compile("sm_80")
    (kept,) = place.iterdir()
    caches.write("kernels", kept.stem, content)
    assert add().compile("sm_80").code == first.code and len(compilations) == 2


def test_kept_code_that_the_driver_refuses_is_compiled_again(compilations, place, monkeypatch):
    first = add().compile("sm_80")
    (kept,) = place.iterdir()
    caches.write("kernels", kept.stem, b'{"log": ""}\n\x7fELF and nothing else')

    def load(binary, name, device, source):
        if binary.code != first.code:
            raise DeviceError("CUDA_ERROR_INVALID_IMAGE")
        return "loaded"

    monkeypatch.setattr(kernels, "load", load)
    assert add()._load("sm_80", 0) == "loaded" and len(compilations) == 2
    again = add().compile("sm_80")
    assert again.kept and again.code == first.code


def test_equal_code_is_loaded_once(compilations, monkeypatch):
    monkeypatch.setattr(loaded, "_functions", OrderedDict())
    monkeypatch.setattr(loaded, "_MOST", 2)
    loads = []
    monkeypatch.setattr(loaded, "_load_anew", lambda *which: loads.append(which[1:]) or object())
    first = add()._load("sm_80", 0)
    assert add()._load("sm_80", 0) is first and loads == [("add", 0)]
    assert add()._load("sm_80", 1) is not first and len(loads) == 2
    add()._load("sm_90", 0)
    assert len(loaded._functions) == 2
    assert add()._load("sm_80", 0) is not first, "the least recently used one was dropped"


def test_a_kernel_of_the_package_that_is_made_again_is_not_looked_for(compilations, monkeypatch):
    """Neither on the disk nor by its code: whoever is not prepared makes kernels at each call."""
    monkeypatch.setattr(loaded, "_functions", OrderedDict())
    monkeypatch.setattr(loaded, "_sources", OrderedDict())
    monkeypatch.setattr(ahead, "_files", OrderedDict())
    monkeypatch.setattr(loaded, "_load_anew", lambda *which: object())
    first = make()._load("sm_90", 0)
    with monkeypatch.context() as here:
        here.setattr(nvrtc, "compile", None)
        assert make()._load("sm_90", 0) is first
    assert make("scatter")._load("sm_90", 0) is not first and compilations == ["sm_90"]
    assert make()._load("sm_90", 1) is not first and compilations == ["sm_90"]
    other = make(anchors=2048)._load("sm_90", 0)
    assert make()._load("sm_90", 0) is first is not other and compilations == ["sm_90"] * 2


def make(name="count", anchors=1024):
    return Kernel(Path(group.__file__).with_suffix(".cu"), name, anchors=anchors)


def test_headers_of_cuda(nvrtc, place, tmp_path):
    if not nvrtc._toolkit_headers():
        pytest.skip("the headers of CUDA are not installed")
    (tmp_path / "half.cu").write_text(
        '#include <cuda_fp16.h>\nextern "C" __global__ void half_(__half* x) { x[0] = x[1]; }\n'
    )
    binary = Kernel(tmp_path / "half.cu", "half_").compile("sm_90")
    assert usage(binary, "half_").local == 0


# Arguments.


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("value", "passed"),
    [
        (3, np.int32(3)),
        (-(2**31), np.int32(-(2**31))),
        (0.5, np.float32(0.5)),
        (True, np.bool_(True)),
        (np.float64(0.5), np.float64(0.5)),
        (np.uint64(2**63), np.uint64(2**63)),
        (None, 0),
    ],
)
def test_an_argument(value, passed):
    found = kernels._argument(value)
    assert found == passed and type(found) is type(passed)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (2**31, OverflowError, "2147483648 does not fit int32; pass a NumPy scalar"),
        (np.zeros(3), TypeError, "type ndarray; expected a CuPy array"),
        ("text", TypeError, "type str"),
    ],
)
def test_no_argument(value, error, words):
    with pytest.raises(error, match=words):
        kernels._argument(value)


# Launching.


@pytest.mark.gpu
def test_adds(cuda, place, random):
    x, y = (cuda.asarray(random.normal(size=1000).astype(np.float32)) for _ in range(2))
    out = cuda.full(1001, np.nan, np.float32)
    add(weight=0.25)(4, 256, x, y, out, x.size)
    # A power of two times y, then one rounding: exact.
    np.testing.assert_array_equal(cuda.asnumpy(out[:1000]), cuda.asnumpy(x + y / 2))
    assert cuda.isnan(out[1000])


@pytest.mark.gpu
def test_arguments_arrive(cuda):
    out = cuda.zeros(6)
    kernel = add(name="arguments")
    kernel((1, 1), (1, 1, 1), None, -3, 0.1, True, np.int64(2**40), np.float64(0.1), out)
    assert out.tolist() == [1, -3, float(np.float32(0.1)), 1, 2**40, 0.1]


@pytest.mark.gpu
def test_arguments_of_the_wrong_size_or_number(cuda):
    x = cuda.zeros(8, np.float32)
    # Kernels of equal code share what is loaded, which is checked at its first launch.
    kernel = add(weight=0.375)
    for wrong in ((x, x, x), (x, x, x, np.int64(8)), (x, x, 1.0, 8), (x, x, x, 8, 8)):
        with pytest.raises(TypeError, match=r"expected \[8, 8, 8, 4\]"):
            kernel(1, 8, *wrong)
    kernel(1, 8, x, x, x, 8)
    with pytest.raises(TypeError, match=r"expected \[8, 8"):
        kernel(1, 8, x, x, x)


@pytest.mark.gpu
@pytest.mark.parametrize("shared", [4096, 48 * 1024, 60_000])
def test_dynamic_shared_memory(cuda, shared):
    x, out = cuda.arange(1024, dtype=np.float32), cuda.zeros(1024, np.float32)
    kernel = add(name="reverse")
    for _ in range(2):
        kernel(1, 1024, x, out, shared=shared)
    assert (out == x[::-1]).all()
    assert kernel.blocks_per_multiprocessor(1024, shared) >= 1


@pytest.mark.gpu
def test_more_shared_memory_than_there_is(cuda):
    x = cuda.zeros(32, np.float32)
    with pytest.raises(DeviceError, match="needs 1000000 bytes of dynamic shared memory"):
        add(name="reverse")(1, 32, x, x, shared=1_000_000)


@pytest.mark.gpu
def test_how_many_clusters_there_are(cuda):
    """None where there are none, nor of a size that no GPU takes; then a launch works as ever."""
    kernel, found = add(), int(cuda.cuda.Device().compute_capability) >= 90
    assert (kernel.clusters(2, 256) > 0) == found
    assert kernel.clusters(2, 256, 60_000) <= kernel.clusters(2, 256)
    assert kernel.clusters(1024, 256) == 0
    x = cuda.ones(8, np.float32)
    kernel(1, 8, x, x, x, 8)
    assert (x == 2).all()


@pytest.mark.gpu
def test_a_launch_that_the_gpu_refuses(cuda):
    x = cuda.zeros(32, np.float32)
    with pytest.raises(DeviceError, match=r"reverse.* was not launched with grid 1, block 2048"):
        add(name="reverse")(1, 2048, x, x)


@pytest.mark.gpu
def test_a_name_that_is_not_in_the_file(cuda):
    with pytest.raises(DeviceError, match=r"'subtract'.* cannot be loaded"):
        add(name="subtract")(1, 1)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["add", "spills", "indexed"])
def test_the_driver_reports_what_the_assembler_reports(cuda, name):
    from snellen.gpu import device

    kernel = add(name=name)
    assert kernel.attributes() == usage(kernel.compile(device.arch()), name)


@pytest.mark.gpu
def test_on_the_current_stream(cuda):
    """A captured launch does not run before the graph does."""
    x, y = cuda.ones(256, np.float32), cuda.ones(256, np.float32)
    out, kernel = cuda.zeros(256, np.float32), add()
    kernel(1, 256, x, y, x, 0)  # loaded; computes nothing
    stream = cuda.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        kernel(1, 256, x, y, out, 256)
        graph = stream.end_capture()
    assert (out == 0).all()
    graph.launch(stream)
    stream.synchronize()
    assert (out == 2).all()


@pytest.mark.gpu
def test_many_threads_compile_once(cuda, compilations):
    kernel = add()
    outs = [cuda.zeros(256, np.float32) for _ in range(8)]
    ones = cuda.ones(256, np.float32)
    cuda.cuda.Device().synchronize()

    def launch(out):  # in threads that have no context yet
        kernel(1, 256, ones, ones, out, 256)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(launch, outs))
    cuda.cuda.Device().synchronize()
    assert all((out == 2).all() for out in outs) and len(compilations) == 1
