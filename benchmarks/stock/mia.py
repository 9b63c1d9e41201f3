"""MIA by cuFFT: the lines that ours is measured beside.

`Loop` is what one writes with the operators of a library: six real transforms an iteration, each a
call. `ByHand` is the most that one gets out of cuFFT without kernels that transform: f and h go
through one batched call, what is between two transforms is one kernel, and no sum is taken that a
spectrum has already. Both as CUDA graphs (`Graphed`), so that no launch counts; with CuPy's cuFFT,
and `Loop` also with PyTorch's where there is PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from snellen.bench import stock as stocks
from snellen.bench.mia.turns import Recorded
from snellen.mia.definition import EPS, LEAST


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
        """Take what came, and where to start from; into the same memory each time."""
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
        """Take what came, and where to start from; into the same memory each time."""
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
        self._launch: Callable[[], object] = Recorded(partial(line.iterate, count))

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Take what came, and where to start from."""
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
        torch = stocks.torch()
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
    torch = stocks.torch()
    return Loop(torch, torch.from_dlpack)
