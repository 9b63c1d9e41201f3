"""BLAS limited to one thread, for code that calls BLAS from several threads of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# np.dot in compiled loops calls SciPy's BLAS. Import it first, so that it is limited, too.
import scipy.linalg.cython_blas  # noqa: F401
from threadpoolctl import ThreadpoolController

from snellen import process
from snellen.cpu.transforms import GATE

_lock = process.lock()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit every BLAS library of this process to one thread; restore the old numbers at the end.

    The number of BLAS threads is a setting of the whole process, so the block runs under a lock. If
    two blocks overlapped, the first to end would lift the limit for the other, which would then
    restore a limit of one thread for good. A block uses all cores by itself, so waiting costs
    nothing. A thread may nest blocks.
    """
    with _lock:
        with GATE:  # a fork meanwhile would leave OpenBLAS's own locks taken in the child
            limit = ThreadpoolController().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with GATE:
                limit.restore_original_limits()
