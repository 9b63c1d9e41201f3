"""SciPy's Fourier transforms with threads, which a fork in another thread does not break.

Before a fork SciPy ends the threads of its transforms, and makes new ones after it. A transform
that another thread begins in between raises RuntimeError; so forks and transforms wait for each
other here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from scipy import fft as scipy_fft

from snellen.cpu.gate import GATE

next_fast_len = scipy_fft.next_fast_len


def _guarded(transform: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(transform)
    def run(*arguments: Any, **options: Any) -> Any:
        with GATE:
            return transform(*arguments, **options)

    return run


fft, ifft, fft2, ifft2, rfft, irfft, rfft2, irfft2 = map(
    _guarded,
    (
        scipy_fft.fft, scipy_fft.ifft, scipy_fft.fft2, scipy_fft.ifft2,
        scipy_fft.rfft, scipy_fft.irfft, scipy_fft.rfft2, scipy_fft.irfft2,
    ),
)  # fmt: skip
