"""Scorer: pairs of luma planes → scores, on the CPU, a GPU or several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

from snellen.engine.prepared import retried
from snellen.errors import InputError, quoted
from snellen.frames import values
from snellen.frames.frame import Format, check_format
from snellen.gpu import device as devices
from snellen.mad import definition as definitions
from snellen.mad import inputs
from snellen.mad.backends import Backends
from snellen.mad.definition import SMALLEST, Definition
from snellen.mad.result import Score
from snellen.process import Holder, Home, in_turn

WHAT = "this Scorer"
BYTES = 100  # of memory for a pixel, at least: what the CPU takes in float32


class Scorer(Holder):
    """Score pictures of one format against references by MAD (Larson, Chandler 2010).

    `prepare` makes filters, compiles and allocates. Then call `run` for each pair; or
    `set_reference` once for a reference and `compare` for every picture of it, which saves half the
    work; or `runs` for many pairs, between which a GPU does not wait. `close` releases everything;
    a Scorer is a context manager that closes itself. Threads take turns. It computes MAD only: PSNR
    and SSIM are `metrics` of `snellen.score`.

    Parameters
    ----------
    variant : str
        "2011", as the authors' code of 2011_10_07, or "paper", as the article: see docs/mad.md.
    hi_scale : float
        Factor of HI: 200 (2011), 10 (ST-MAD) or 1 (April 2010).
    eight_bit_lut : bool
        Take white for 254 in the lightness step, as the authors' table for 8-bit pictures does.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N", or "auto": the GPU where it works. Several GPUs, "cuda:0,cuda:1"
        or ["cuda:0", "cuda:1"], share the subbands of a pair; of many pairs in main memory, which
        `submit` and `runs` keep in flight, each GPU takes whole ones.
    dtype : str, optional
        "float32" or "float64", as for `snellen.score`.

    Attributes
    ----------
    device : str
        The device in use: "cpu" or "cuda:N", or several of these with commas.
    device_name : str
        Name of the GPU, or of several; "cpu".
    dtype : str or None
        "float32" or "float64", of most pairs; on a GPU None until `prepare` where none was asked
        for.
    slots : int
        How many pairs `submit` keeps in flight; known after `prepare`.

    Raises
    ------
    InputError
        A setting that does not exist.
    DeviceError
        The device cannot be used.
    """

    _what = WHAT

    def __init__(
        self,
        variant: str = "2011",
        hi_scale: float = 200.0,
        eight_bit_lut: bool = False,
        device: str | Sequence[str] = "auto",
        dtype: str | None = None,
    ) -> None:
        self.definition = Definition(variant, hi_scale, eight_bit_lut)
        if dtype is not None:
            dtype = values.precision(dtype)
        self.devices = devices.several(device)
        self.device = ",".join(self.devices)
        self.dtype = self._dtype = dtype or ("float64" if self.device == "cpu" else None)
        self.device_name = " + ".join(devices.name(one) for one in self.devices)
        self._home = Home(WHAT)
        self._format: Format | None = None
        self._backends: Backends | None = None
        self.slots = 1

    def _holds(self) -> bool:
        return self._backends is not None

    @in_turn
    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for pairs of planes of this format, and return the format.

        Parameters
        ----------
        format : Format
            Only luma counts. At least 34 × 34 pixels. `format.white` is the sample value of white,
            2^bits − 1 by default; float planes have no default.
        bits, on_device
            For steps that give frames. A Scorer gives numbers: leave both out.

        Raises
        ------
        InputError
            Too small a picture; no `white` for float planes; bits or on_device.
        DeviceError
            The GPU's memory does not suffice.
        """
        check_format(format)
        self._close()
        if values.flag("on_device", on_device) or bits is not None:
            name = "on_device" if on_device else "bits"
            raise InputError(
                f"got `{name}`={quoted(on_device or bits)}, but a Scorer gives numbers, no frames",
                parameter=name,
                advice=f"leave `{name}` out",
            )
        peak = definitions.peak(format.white, format.bits, "white")
        if min(format.height, format.width) < SMALLEST:
            raise InputError(
                f"got a picture of {format.width}×{format.height}; expected at least "
                f"{SMALLEST}×{SMALLEST}, as MAD leaves a margin of 33 pixels out"
            )
        size = f"{format.width}×{format.height} by MAD"
        values.check_bytes(BYTES * format.height * format.width, size)
        luma = replace(format, subsampling=None)

        self._backends = retried(
            self.devices, lambda: Backends(self.definition, luma, peak, self.devices, self._dtype)
        )
        self._format, self.dtype = luma, self._backends.main.dtype
        self.slots, self._home = self._backends.main.slots, Home(WHAT)
        return format

    @in_turn
    def run(self, reference: Any, distorted: Any, *, maps: bool = False) -> Score:
        """Score one pair: `set_reference`, then `compare`."""
        distorted, reference = self._check(distorted), self._check(reference)
        return self._open().submit(reference, distorted, values.flag("maps", maps))()

    @in_turn
    def submit(self, reference: Any, distorted: Any, *, maps: bool = False) -> Callable[[], Score]:
        """Begin a pair, and return a function that waits for its score and returns it.

        On a GPU the planes of the next pair are uploaded while one is computed, and the maps of the
        one before come back. Several GPUs take turns with pairs in main memory.

        Planes, maps and errors are those of `set_reference` and `compare`, but planes must not
        change until the function has returned: a pair for which float32 does not suffice is scored
        once more. At most `slots` functions may be outstanding. The last reference stays set.
        """
        distorted, reference = self._check(distorted), self._check(reference)
        maps = values.flag("maps", maps)
        return self._open().submit(reference, distorted, maps, in_flight=True)

    @in_turn
    def runs(self, pairs: Iterable[tuple[Any, Any]], *, maps: bool = False) -> list[Score]:
        """Score many pairs, as `run` does one after another, and return their scores in order.

        On a GPU the next pairs are begun before the host waits for a score, as by `submit`. Several
        GPUs share a pair that is the only one.

        Pairs are (reference, distorted), planes as for `set_reference`, which must not change until
        this call ends, as pairs for which float32 does not suffice are scored once more. None for a
        reference means that of the pair before, or the one that is set: such a pair takes half the
        work, as in `compare`. The last reference stays set. Errors are those of `set_reference` and
        `compare`; the scores before are lost.
        """
        return self._runs(pairs, values.flag("maps", maps))

    def _runs(
        self, pairs: Iterable[tuple[Any, Any]], maps: bool, to_host: bool = False,
        eager: bool = False,
    ) -> list[Score]:  # fmt: skip
        """Do the work of `runs`."""
        # With `to_host` all maps are NumPy's; `eager`: of the first pair, see `Backends.submit`.
        found: list[Score] = []
        pending: deque[Callable[[], Score]] = deque()
        given, pairs = None, inputs.pairs(pairs)
        first = list(islice(pairs, 2 if len(self.devices) > 1 else 0))
        follow = len(first) != 1  # several GPUs share a pair that is the only one
        for pair in chain(first, pairs):
            reference, distorted = inputs.pair(pair)
            distorted = self._check(distorted)
            if reference is not None:
                reference = self._check(reference)
                while given is None and pending:  # they may need the samples of the old reference
                    found.append(pending.popleft()())
                given = reference
            begin = partial(self._open().submit, reference, distorted, maps, follow, given, to_host)
            pending.append(begin(eager))
            eager = False
            if len(pending) == self.slots:
                found.append(pending.popleft()())
        return found + [result() for result in pending]

    @in_turn
    def set_reference(self, reference: Any) -> None:
        """Compute the reference's half of MAD and keep it until the next reference.

        Parameters
        ----------
        reference : (height, width) array
            A luma plane as prepared: NumPy, where rows may have a pitch; for a GPU also CuPy there.
            Float planes may be float32 or float64, whatever the precision. Samples are taken as
            they are and should lie within 0 … white. It is only read, and not after this call.

        Raises
        ------
        InputError
            Not prepared, or a plane of another shape or type.
        """
        reference = self._check(reference)
        self._open().set_reference(reference)

    @in_turn
    def compare(self, distorted: Any, *, maps: bool = False) -> Score:
        """Score a picture, a plane as for `set_reference`, against the reference that is set.

        With `maps` it returns those of detection and appearance, new arrays of NumPy or CuPy as
        `distorted` is. InputError: no reference is set, or a plane of another shape or type.
        """
        distorted = self._check(distorted)
        return self._open().submit(None, distorted, values.flag("maps", maps))()

    @in_turn
    def close(self) -> None:
        """Release threads and buffers; `prepare` may follow again."""
        self._close()

    def _close(self) -> None:
        backends, self._backends = self._backends, None
        self._format, self.slots = None, 1
        if backends and not self._home.keep(backends):
            backends.close()

    def _open(self) -> Backends:
        """Return the backends, which are there once a plane was checked."""
        assert self._backends is not None
        return self._backends

    def _check(self, plane: Any) -> Any:
        """Return a plane for the backend; refuse one of another shape, type or place."""
        if self._format is None:
            raise InputError(
                "this Scorer is not prepared", advice="call prepare(format) before run"
            )
        self._home.check()
        return inputs.plane(plane, self._format, self.devices)
