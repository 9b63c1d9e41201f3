"""The mutations: faults of one line, of the kind that people make, over all packages."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A line of src/snellen that becomes wrong."""

    file: str
    """Below src/snellen."""
    line: str
    """What stands there, once."""
    wrong: str
    """What stands there instead."""
    tests: str
    """Files of tests, the first to look: if these pass, all quick tests run."""


MUTATIONS = (
    Mutation("video/segments/cuts.py", "if clip.ivtc and clip.start is not None:",
             "if clip.ivtc and clip.start is None:", "tests/video/test_segments.py"),
    Mutation("frames/limits.py", '(_CGROUPS / "memory", "memory.limit_in_bytes")',
             '(_CGROUPS / "memory", "memory.max")', "tests/frames"),
    Mutation("jobs/kinds/enhance.py", "_SHARPEST = 0.8", "_SHARPEST = 0.9", "tests/jobs"),
    Mutation("video/filtering/overlaps.py", '"dedot": 2,', '"dedot": 1,', "tests/video"),
    Mutation("video/timestamps.py", "* self.time_base < JUMP:", "* self.time_base <= JUMP:",
             "tests/video/test_times.py"),
    Mutation("aplus/symmetry.py", "TRANSPOSED = (1, 0, 3, 2)", "TRANSPOSED = (1, 0, 2, 3)",
             "tests/aplus"),
    Mutation("cnn/cpu.py", "inset = self._reach - self._skip.side // 2",
             "inset = self._reach - self._skip.side // 2 - 1", "tests/cnn"),
    Mutation("mad/combine.py", "B1 = exp(-2.55 / 3.35)", "B1 = exp(-2.55 / 3.45)",
             "tests/mad/test_combine.py tests/mad/test_cpu.py"),
    Mutation("mad/csf.py", "np.arange(size) - size / 2 + 0.5", "np.arange(size) - size / 2",
             "tests/mad/test_csf.py tests/mad/test_cpu.py"),
    Mutation("metrics/psnr.py", "10 * log10(white**2", "20 * log10(white**2", "tests/metrics"),
    Mutation("filters/lut/cube.py", "if not one < other:", "if not one <= other:",
             "tests/filters"),
    Mutation("filters/grain.py", "_VARIANCE = 4 * (256**2 - 1) / 12",
             "_VARIANCE = 4 * 256**2 / 12", "tests/filters"),
    Mutation("frames/quantise.py", "return factor, neutral if chroma else 0.0",
             "return factor, 0.0", "tests/frames tests/upscaling"),
    Mutation("cpu/threads.py", "return _chosen.get() or cores() if share is None else share[0]",
             "return _chosen.get() or cores()", "tests/cpu"),
    Mutation("gpu/cache.py", "dropped = objects.popitem(last=False)",
             "dropped = objects.popitem(last=True)", "tests/gpu"),
    Mutation("unfinished.py", "for path in reversed(list(_noted)):",
             "for path in list(_noted)[1:]:", "tests/test_unfinished.py"),
    Mutation("addresses.py", 'host = host.rpartition("@")[2]',
             'host = host.rpartition("@")[0]', "tests/cli/test_cli_terminal.py"),
    Mutation("caches.py", "(folder == path or not found.st_mode & stat.S_ISVTX)",
             "(folder == path and not found.st_mode & stat.S_ISVTX)", "tests/test_caches.py"),
    Mutation("report/fit.py", "if self.moments < given", "if self.moments <= given",
             "tests/report"),
    Mutation("sources/kind.py", "if 2 * found <= len(frames):", "if 2 * found < len(frames):",
             "tests/sources"),
    Mutation("cli/terminal.py", "0x2800, ", "", "tests/cli/test_cli_terminal.py"),
    Mutation("video/comparing/pairing.py", "first, second = max(0, -offset), max(0, offset)",
             "first, second = max(0, offset), max(0, offset)", "tests/video"),
    Mutation("jobs/options/positions.py", "if self.width < 1 or self.height < 1:",
             "if self.width < 1 or self.height < 0:", "tests/jobs"),
    Mutation("mia/edges.py", "UNOBSERVED, frames.dtype)", "0, frames.dtype)", "tests/mia"),
    Mutation("upscaling/target.py", "factor = max(ratios)", "factor = min(ratios)",
             "tests/upscaling tests/jobs"),
)  # fmt: skip
