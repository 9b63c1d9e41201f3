"""MIA by cuFFT on a GPU, and by plain NumPy on a CPU.

`Loop` is what one writes with the operators of a library: six real transforms an iteration, each a
call. `ByHand` is the best that cuFFT allows without a transform inside a kernel of one's own: f and
h go through one batched call, what is between two transforms is one kernel, and no sum is taken
that a spectrum has already. Both run as CUDA graphs (`Graphed`), so that no launch counts, by
CuPy's cuFFT; `Loop` also by PyTorch's where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.stock.pytorch import imported, on_stream
from benchmarks.stock.run import Stock
from snellen.bench import clock
from snellen.bench.clock import Line
from snellen.bench.mia import BATCH, PLAIN, Found, Problem, Restoration
from snellen.bench.reference import mia as reference
from snellen.bench.runner import Case
from snellen.frames import arrays
from snellen.gpu import graph
from snellen.gpu.reserved import Reserved
from snellen.mia.definition import EPS, ITERATIONS, LEAST

CUFFT, HAND = "cuFFT, CUDA graph", "cuFFT, by hand, CUDA graph"
TORCH, EAGER = "PyTorch, CUDA graph", "PyTorch, eager"


@contextmanager
def lines(case: Case, device: str, missing: dict[str, str]) -> Iterator[dict[str, Stock]]:
    """Give the other ways to restore the batch of a case; of the default option only."""
    assert isinstance(case, Restoration)
    if case.option != PLAIN or (device == "cpu" and case.batch > 1):
        yield {}
        return
    if device == "cpu":
        y, f, h = (array[0].astype(np.float64) for array in case.problem())
        port = partial(reference.restore, y, f, h, ITERATIONS, PLAIN.definition)
        yield {"plain NumPy": Stock(Line(port))}
        return
    import cupy

    given = Problem(*(cupy.asarray(array) for array in case.problem()))
    found: dict[str, Stock] = {}

    def add(name: str, make: Callable[[], Any]) -> None:
        """Add a line; one that cannot be made is named in `missing`."""
        try:
            found[name] = stock(make(), given, case, device)
        except Exception as error:  # whatever another library raises
            missing[name] = f"{type(error).__name__}: {error}"

    add(CUFFT, lambda: quicker(Loop(cupy), given))
    add(HAND, lambda: quicker(ByHand(), given))
    if case.batch > BATCH:  # PyTorch takes long there
        yield found
    else:
        with on_stream(TORCH, missing) as torch:
            if torch is not None:
                add(EAGER, lambda: started(torch_loop(), given))
                add(TORCH, lambda: TorchGraphed(started(torch_loop(), given), ITERATIONS))
            yield found
    cupy.fft.config.get_plan_cache().clear()


def stock(line: Any, given: Problem, case: Restoration, device: str) -> Stock:
    """Return how a line is timed and checked: all iterations, begun anew each time."""

    def check() -> dict[str, Any]:
        line.start(*given)
        line.iterate(ITERATIONS)
        return case.check(Found(numbers(line.estimate), numbers(line.psf)), device)

    facts = {"iterations_of_graph": line.count} if hasattr(line, "count") else {}
    timed = Line(partial(line.iterate, ITERATIONS), partial(line.start, *given))
    return Stock(timed, check, facts=facts)


def numbers(array: Any) -> Any:
    """Return an array of NumPy or CuPy, or a tensor of PyTorch, in host memory."""
    return array.cpu().numpy() if hasattr(array, "cpu") else arrays.host(array)


def started(line: Any, given: Problem) -> Any:
    """Return a line that has got its problem."""
    line.start(*given)
    return line


def quicker(line: Any, given: Problem) -> Graphed:
    """Return a line as a CUDA graph: of one iteration or of all, whichever is quicker."""
    line.start(*given)
    both = {str(count): Graphed(line, count) for count in (1, ITERATIONS)}
    timed = {name: Line(partial(one.iterate, ITERATIONS), partial(one.start, *given))
             for name, one in both.items()}  # fmt: skip
    taken = clock.in_rounds(timed, 2, clock.events())
    return both[min(both, key=lambda name: min(taken[name]))]


class Loop:
    """Blind Poisson, one frame a picture, written with a library's operators.

    Parameters
    ----------
    xp : module
        numpy, cupy or torch: the names are the same.
    read : callable
        Makes its arrays of NumPy's or CuPy's.
    """

    def __init__(self, xp: Any, read: Callable[[Any], Any] = lambda array: array):
        self._xp, self._read = xp, read
        self.y: Any = None

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Copy the problem to the same memory each time."""
        given = [self._read(array) for array in (y[:, 0], f, h[:, 0])]
        if self.y is None:
            self.y, self.f, self.h = (self._xp.empty_like(array) for array in given)
        self.y[...], self.f[...], self.h[...] = given
        self.h /= self.h.sum((-2, -1), keepdims=True)

    def iterate(self, count: int) -> None:
        """Do so many iterations."""
        for _ in range(count):
            self.step()

    def step(self) -> None:
        """Do one."""
        xp, f, h, size = self._xp, self.f, self.h, self.y.shape[-2:]
        forward, back = xp.fft.rfft2, xp.fft.irfft2
        picture, blur = forward(f), forward(h)
        spectra = forward(self.y / xp.clip(back(picture * blur, size), EPS, None))
        of_f, of_h = back(spectra * blur.conj(), size), back(spectra * picture.conj(), size)
        f *= xp.clip(of_f, LEAST, None)  # Σh = 1
        h *= xp.clip(of_h, 0, None)  # Σf goes with h's own sum
        h /= h.sum((-2, -1), keepdims=True)

    @property
    def estimate(self) -> Any:
        """The pictures (B, H, W)."""
        return self.f

    @property
    def psf(self) -> Any:
        """Their PSFs (B, 1, H, W)."""
        return self.h[:, None]


class ByHand:
    """The same with cuFFT's plans, batched as far as they go, and CuPy's fused kernels."""

    def __init__(self) -> None:
        self._made = False

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Copy the problem to the same memory each time."""
        if not self._made:
            self._prepare(y)
        self._y[...] = y[:, 0]
        batch = len(f)
        self._planes[:batch] = f
        # As bright as f: cuFFT transforms planes in pairs, and rounds by the brighter one.
        self._planes[batch:] = h[:, 0] * (f.sum((-2, -1)) / h.sum((-3, -2, -1)))[:, None, None]

    def _prepare(self, y: Any) -> None:
        import cupy

        from snellen.fft.plan import Plan

        self._made = True
        batch, _, height, width = y.shape
        self._y = cupy.empty((batch, height, width), cupy.float32)
        self._planes, self._moved = cupy.empty((2, 2 * batch, height, width), cupy.float32)
        self._spectra, self._back = cupy.empty(
            (2, 2 * batch, height, width // 2 + 1), cupy.complex64
        )
        self._plans = {
            (kind, count): Plan(kind, height, width, "float32", count)
            for kind in ("r2c", "c2r")
            for count in (batch, 2 * batch)
        }
        kernel, scale = cupy.ElementwiseKernel, f"{1 / (height * width)!r}f"
        # Σh is its spectrum at frequency 0. Divided by that alone, h grows to the sum of f, as in
        # one kernel of ours: both are then Σy.
        self._model = kernel(
            "complex64 p, complex64 b, complex64 sum", "complex64 g",
            f"g = p * b * ({scale} / sum.real())", "mia_model",
        )  # fmt: skip
        self._ratio = kernel(
            "float32 y, float32 g", "float32 r", f"r = y / max(g, {EPS!r}f)", "mia_ratio"
        )
        self._correlate = kernel(
            "complex64 r, complex64 p, complex64 b", "complex64 of_f, complex64 of_h",
            "auto once = r; of_f = once * conj(b); of_h = once * conj(p)",  # of_f lies where r did
            "mia_correlate",
        )  # fmt: skip
        self._update = kernel(
            "float32 of_f, float32 of_h, complex64 sum", "float32 f, float32 h",
            f"float share = {scale} / sum.real();"
            f"f = f * max(of_f * share, {LEAST!r}f); h = h * max(of_h * share, 0.f)",
            "mia_update",
        )  # fmt: skip

    def iterate(self, count: int) -> None:
        """Do so many iterations."""
        for _ in range(count):
            self.step()

    def step(self) -> None:
        """Do one: four calls of cuFFT, four kernels."""
        batch = len(self._y)
        picture, blur = self._spectra[:batch], self._spectra[batch:]
        g, work = self._moved[:batch], self._back[:batch]
        total = blur[:, :1, :1]
        self._plans["r2c", 2 * batch](self._planes, self._spectra)
        self._model(picture, blur, total, work)
        self._plans["c2r", batch](work, g)
        self._ratio(self._y, g, g)
        self._plans["r2c", batch](g, work)
        self._correlate(work, picture, blur, self._back[:batch], self._back[batch:])
        self._plans["c2r", 2 * batch](self._back, self._moved)
        self._update(g, self._moved[batch:], total, self.estimate, self._planes[batch:])

    @property
    def estimate(self) -> Any:
        """The pictures (B, H, W)."""
        return self._planes[: len(self._y)]

    @property
    def psf(self) -> Any:
        """Their PSFs (B, 1, H, W)."""
        h = self._planes[len(self._y) :, None]
        return h / h.sum((-2, -1), keepdims=True)


class Graphed:
    """A line of CuPy's, whose iterations are launched as a CUDA graph.

    Parameters
    ----------
    line : Loop or ByHand
        Started.
    count : int
        Iterations of the graph.
    """

    def __init__(self, line: Any, count: int):
        self._line, self.count = line, count
        line.step()  # makes its plans and compiles its kernels
        import cupy

        self._reserved = Reserved(f"cuda:{cupy.cuda.runtime.getDevice()}")  # scratch of iterations
        with self._reserved.allocating():
            self._launch: Callable[[], object] = graph.record(partial(line.iterate, count))

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Copy the problem to the memory of the graph."""
        self._line.start(y, f, h)

    def iterate(self, count: int) -> None:
        """Do so many iterations."""
        for _ in range(count // self.count):
            self._launch()

    @property
    def estimate(self) -> Any:
        """The pictures (B, H, W)."""
        return self._line.estimate

    @property
    def psf(self) -> Any:
        """Their PSFs (B, 1, H, W)."""
        return self._line.psf


class TorchGraphed(Graphed):
    """PyTorch's loop, likewise."""

    def __init__(self, line: Loop, count: int):
        torch = imported()
        self._line, self.count = line, count
        captured = torch.cuda.CUDAGraph()
        for _ in range(3):
            line.step()
        torch.cuda.synchronize()
        with torch.cuda.graph(captured):
            line.iterate(count)
        self._launch = captured.replay


def torch_loop() -> Loop:
    """Return the loop on PyTorch's tensors, which it reads from CuPy's arrays where they lie."""
    torch = imported()
    return Loop(torch, torch.from_dlpack)
