"""Tests that run under compute-sanitizer: marker `sanitize`, see benchmarks/sanitize.py.

A plugin of pytest. TESTS names a few quick tests for each kernel, and for each way that it divides
its work. Only these get the marker, so that all tools are through in minutes. With `--sanitize
TOOL` the tests of one tool run; all memory is taken from CUDA piece by piece, as a pool would hide
what is read beyond the end of an array; and `--sanitize-record FILE` gets a line of JSON for each
test: how it ended, and which kernels it launched.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from snellen.gpu.kernel import Kernel
from snellen.gpu.nvrtc import PACKAGE

TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")
PLAIN = "none"
"""Instead of a tool: all tests, so that every kernel is compiled before the tools need it."""

A, D, M = "tests/aplus/cuda/", "tests/mad/cuda/", "tests/mia/cuda/"
L, U, C = "tests/mia/l0/", "tests/upscaling/cuda/", "tests/cnn/cuda/"
N = "tests/filters/nlm/cuda/"
TESTS: dict[str, tuple[str, ...]] = {
    "aplus/cuda/features.cu": (  # half precision, tf32, float32; windows; several slabs
        *(f"{A}test_features.py::test_equal_to_filters[{case}]"
          for case in ("2-3-28-8-size0", "2-3-28-12-size5", "2-3-28-0-size7", "2-1-7-8-size10",
                       "2-5-28-8-size13", "2-3-70-0-size19")),
        f"{A}test_features.py::test_sizes[3-8-size2]",
        f"{A}test_orientation.py::test_features_are_turned[gpu-3-3-8-size1]",
        f"{A}test_orientation.py::test_features_are_turned[gpu-2-5-8-size5]",
    ),
    "aplus/cuda/group.cu": tuple(
        f"{A}test_group.py::test_every_patch_once[{case}]"
        for case in ("33-17-skewed", "1024-1000-uniform", "16384-1000-skewed")
    ),
    "aplus/cuda/match.cu": tuple(  # anchors in shared memory at once, or in parts; 1 to 4 slabs
        f"{A}test_match.py::test_random_features[{case}]"
        for case in ("28-33-16", "28-1500-1000", "64-100-17", "96-1500-1000", "128-33-1")
    ),
    "aplus/cuda/orientation.cu": (
        *(f"{A}test_orientation.py::test_{case}"
          for case in ("turns_of_a_band[gpu]", "turns_of_what_is_no_number[gpu]", "cells[gpu-3]")),
        f"{A}test_luma.py::test_turned_windows_of_odd_sizes[2-size5]",
    ),
    "aplus/cuda/settle.cu": (
        f"{A}test_match.py::test_random_features[200-100-16]",
        f"{A}test_match.py::test_near_ties[3-True-28]",
    ),
    "aplus/cuda/regress.cu": tuple(
        f"{A}test_regress.py::test_against_float64[{case}]"
        for case in ("17-2-3-28-float16", "17-3-3-28-float16", "17-4-3-28-float32",
                     "17-2-5-28-float16", "17-2-3-70-float32")
    ),
    "aplus/cuda/overlap.cu": (
        *(f"{A}test_overlap.py::test_every_scale_and_window[{case}]"
          for case in ("8-3-2", "8-3-3", "0-3-4", "8-5-2", "0-1-3")),
        f"{A}test_overlap.py::test_every_type[16-8-True]",
        f"{A}test_orientation.py::test_patches_are_turned_back[gpu-3-3-0]",
        f"{A}test_orientation.py::test_patches_are_turned_back[gpu-4-3-16]",
        f"{U}test_frames.py::test_tiny_frames[subsampling0-size4]",
    ),
    "upscaling/cuda/samples.cu": (
        *(f"{U}test_samples.py::test_there_and_back[{case}]"
          for case in ("uint8-3-8", "uint16-1-10", "float16-4-0", "float64-1-0")),
        f"{U}test_samples.py::test_what_cannot_be_used[float32-0]",
    ),
    "cnn/cuda/network.cu": (  # 16 to 64 channels; one and two parts of v; every scale
        *(f"{C}test_luma.py::test_networks_of_other_sizes[{case}]"
          for case in ("2-0-3", "3-1-32", "4-2-64")),
        *(f"{C}test_luma.py::test_sizes[{case}]" for case in ("2-16-size7", "3-32-size0")),
        *(f"{C}test_luma.py::test_every_type[{case}]"
          for case in ("16-16-8-False", "16-0-0-True", "32-16-8-False")),
        f"{C}test_luma.py::test_products_of_warpgroups[8-4-5-20-tiles2]",
    ),
    "filters/lut/lut.cu": tuple(  # both kinds of tables, every subsampling, both types of samples
        f"tests/filters/lut/test_cuda.py::test_the_bits_of_the_cpu[{case}]"
        for case in ("0-False", "1-True", "2-False", "3-True")
    ),
    "filters/nlm/cuda/nlm.cu": tuple(  # levels that are samples, and others; one plane and two
        f"{N}test_group.py::test_the_bytes_of_the_cpu[gpu-{case}]"
        for case in ("luma", "chroma", "chroma, 12 bits", "tiny")
    ),
    "frames/bicubic.cu": (
        *(f"tests/frames/test_bicubic.py::test_any_part_on_the_gpu[{case}]"
          for case in ("origin1-2", "origin2-3", "origin5-4")),
        "tests/frames/test_bicubic.py::test_the_gpu_gives_the_same_bytes[siting1-2-uint8]",
    ),
    "fft/small.cu": (
        *(f"tests/fft/test_small.py::test_{kind}[{side}x{side}-one]"
          for kind in ("complex", "real") for side in (32, 64, 128, 256)),
        "tests/fft/test_small.py::test_complex[64x32-three]",
        "tests/fft/test_small.py::test_real[32x256-three]",
        "tests/fft/test_small.py::test_complex[128x64-two by five]",
    ),
    "fft/square.cu": tuple(
        f"tests/fft/test_square.py::test_one_of_each_kind[{case}]"
        for case in ("fft2-32-alone", "rfft2-64-cluster", "irfft2-64-cluster", "ifft2-64-two")
    ),
    "jobs/checkup.cu": ("tests/cli/test_cli_doctor.py::test_a_kernel_is_tried_on_the_gpu",),
    **{
        f"mad/cuda/{name}.cu": (
            *(f"{D}test_subbands.py::test_moments_of_tiles[gpu-size{case}]" for case in (0, 2, 3)),
            f"{D}test_subbands.py::test_any_subbands[gpu-range(7, 12)]",
        )
        for name in ("columns", "coordinates", "rows")
    },
    "mad/cuda/combine.cu": tuple(
        f"{D}test_combine.py::test_against_the_reference[{case}]"
        for case in ("8-255-size3-float32", "10-1023-size1-float64")
    ),
    "mad/cuda/csf.cu": tuple(
        f"{D}test_csf.py::test_filtered_planes_are_those_of_the_reference[{case}]"
        for case in ("size3-float32", "size4-float64")
    ),
    "mad/cuda/flat.cu": (f"{D}test_flat.py::test_tiles_of_one_value[8-float32]",),
    "mad/cuda/lightness.cu": tuple(
        f"{D}test_lightness.py::test_a_small_error_keeps_its_digits[{case}]"
        for case in ("2011-float32", "paper-float64")
    ),
    "mad/cuda/loggabor.cu": tuple(
        f"{D}test_loggabor.py::test_some_are_the_bytes_of_all[{case}]"
        for case in ("size1-3-8-float32", "size0-19-1-float64")
    ),
    "mad/cuda/masking.cu": tuple(
        f"{D}test_masking.py::test_visibility[{case}]"
        for case in ("size3-float32", "size4-float64")
    ),
    "mad/cuda/pictures.cu": tuple(
        f"{D}test_pictures.py::test_luma[{case}]"
        for case in ("uint8-3-255", "uint16-1-1023", "float16-3-1.0", "float64-1-255.0")
    ),
    "mad/cuda/statistics.cu": (  # even and odd widths; moments of tiles
        f"{D}test_statistics.py::test_differences[size0-3-6-float32]",
        f"{D}test_statistics.py::test_differences[size1-3-6-float64]",
        f"{D}test_statistics.py::test_moments_of_tiles_given[size4]",
    ),
    "mia/cuda/mia.cu": (
        *(f"{M}test_fused.py::test_each_kind_of_layout[{kind}]" for kind in range(9)),
        *(f"{M}test_fused.py::test_options[{case}-3-3]"
          for case in ("64 cluster-gaussian-margin", "32 concurrent-gaussian, variation-whole",
                       "32x64 global-given, variation-margin")),
        f"{M}test_fused.py::test_strong_total_variation_for_few_iterations[3-64 cluster]",
    ),
    "mia/cuda/cufft.cu": (
        f"{M}test_cufft.py::test_a_backend_starts_again",
        *(f"{M}test_cufft.py::test_pictures_of_nothing[0.4-{case}]"
          for case in ("read noise, variation-float32", "given, gaussian-float64")),
    ),
    "mia/cuda/change.cu": (f"{M}test_change.py::test_a_fused_period[0-period0-3]",),
    "mia/cuda/scale.cu": (f"{M}test_scale.py::test_scale[counts1-period0]",),
    "mia/cuda/measure.cu": tuple(
        f"{M}test_scale.py::test_measure[{noise}-counts1-period0]"
        for noise in ("poisson", "gaussian")
    ),
    "mia/l0/cuda/search.cu": (
        f"{L}cuda/test_search.py::test_the_same_as_on_the_cpu[one]",
        f"{L}cuda/test_search.py::test_the_same_as_on_the_cpu[three]",
        f"{L}test_crops.py::test_the_gpu_chooses_the_same[float32]",
    ),
    "mia/cuda/frames.cu": (
        f"{M}test_frames.py::test_place[shape1-taper-counts3-float32]",
        f"{M}test_frames.py::test_spread_and_finish[shape1-extend-counts3-float32]",
        f"{M}test_frames.py::test_nothing_is_moved_where_nothing_would_be_left[float64]",
        f"{M}test_frames.py::test_integers_up_and_down[uint8-255.0-float32]",
    ),
    "mia/cuda/tiles.cu": (
        f"{M}test_tiles.py::test_the_bytes_of_numpy[sizes0-float64-3]",
        f"{M}test_tiles.py::test_code_values_up_and_down[sizes0-8]",
    ),
}  # fmt: skip
"""The tests of each file of kernels; its name in the package."""


@cache
def functions(file: str) -> frozenset[str]:
    """The kernels of a file, by their names."""
    text = re.sub(r"//.*", "", (PACKAGE / file).read_text("utf-8"))
    found = re.findall(
        r"__global__\s+void\s+(?:__launch_bounds__\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?(\w+)\(", text
    )
    return frozenset(found)


def included(file: Path) -> set[Path]:
    """A file of kernels and all headers that it includes, in any way."""
    found, new = set(), {file}
    while new:
        found |= new
        names = {
            (path, name)
            for path in new
            for name in re.findall(r'#include "(.*?)"', path.read_text("utf-8"))
        }
        new = {
            place
            for path, name in names
            for place in (path.parent / name, PACKAGE / name)
            if place.is_file()
        } - found
    return found


@cache
def tools(file: str) -> tuple[str, ...]:
    """The tools for a file of kernels.

    Racecheck and synccheck watch shared memory and barriers. Initcheck is for all: every kernel
    reads what another one, or a copy, has written into scratch.
    """
    texts = [re.sub(r"//.*", "", path.read_text("utf-8")) for path in included(PACKAGE / file)]
    shares = any(re.search(r"__shared__|__syncthreads|barrier\.", text) for text in texts)
    return TOOLS if shares else TOOLS[:2]


def chosen() -> dict[str, set[str]]:
    """The tools of each test of TESTS."""
    found: dict[str, set[str]] = {}
    for file, names in TESTS.items():
        for name in names:
            found.setdefault(name, set()).update(tools(file))
    return found


def pytest_addoption(parser):
    parser.addoption(
        "--sanitize",
        choices=(*TOOLS, PLAIN),
        help="run the tests of marker sanitize that this tool of compute-sanitizer is for",
    )
    parser.addoption(
        "--sanitize-part", default="0/1", metavar="I/N", help="with --sanitize: one part of N"
    )
    parser.addoption("--sanitize-record", type=Path, metavar="FILE", help="see --sanitize")


@pytest.hookimpl(tryfirst=True)  # before -m chooses by markers
def pytest_collection_modifyitems(config, items):
    wanted, tool = chosen(), config.getoption("--sanitize")
    for item in items:
        if item.nodeid in wanted:
            item.add_marker(pytest.mark.sanitize)
    if tool is None:
        return
    kept = [
        item
        for item in items
        if item.nodeid in wanted and (tool == PLAIN or tool in wanted[item.nodeid])
    ]
    part, parts = map(int, config.getoption("--sanitize-part").split("/"))
    # Each part is a process of its own, in which the order is another where it is random.
    kept = sorted(kept, key=lambda item: item.nodeid)[part::parts]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_configure(config):
    if config.getoption("--sanitize") is not None:
        config.pluginmanager.register(_Watch(config), "sanitize-watch")


class _Watch:
    """Notes which kernels each test launches, and how the test ends."""

    def __init__(self, config):
        self.path = config.getoption("--sanitize-record")
        apart = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
        self.counts = self.path and not apart  # the processes of pytest-xdist write themselves
        self.pool = config.getoption("--sanitize") == PLAIN
        self.launched = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        call, launched = Kernel.__call__, self.launched

        def noted(kernel, *args, **options):
            file = kernel.file.resolve()
            if file.is_relative_to(PACKAGE):
                launched.add(f"{file.relative_to(PACKAGE).as_posix()}:{kernel.name}")
            return call(kernel, *args, **options)

        launched.clear()
        Kernel.__call__ = noted
        try:
            return (yield)
        finally:
            Kernel.__call__ = call

    def pytest_runtest_setup(self, item):
        if not self.pool and not item.config.no_gpu:
            import cupy

            cupy.cuda.set_allocator(None)

    def pytest_runtest_logreport(self, report):
        if self.counts and (report.when == "call" or report.outcome != "passed"):
            line = {
                "test": report.nodeid,
                "outcome": report.outcome,
                "seconds": round(report.duration, 2),
                "kernels": sorted(self.launched),
            }
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
