"""The composer: luma → bicubic → features → match → regress → overlap; chroma → bicubic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol

import numpy as np

from snellen.aplus import cpu
from snellen.aplus.cuda import frames as cuda
from snellen.aplus.model import Model, load
from snellen.errors import DeviceError, InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.gpu import device as devices

CHROMA = ("auto", "cpu", "gpu")


class Arm(Protocol):
    """What enlarges frames of one format on one device: `cpu.Frames`, `cuda.frames.Frames`."""

    chroma: str
    """Where chroma is enlarged: "cpu" or "gpu"."""

    def run(self, planes: tuple[Plane, ...]) -> tuple[Plane, ...]:
        """Return the planes of an enlarged frame, all new."""
        ...

    def close(self) -> None:
        """Give back threads and buffers."""
        ...


class Upscaler:
    """Enlarge frames by A+: luma by all seven steps, chroma by bicubic.

    Settings until `prepare`, which lays out the model, starts the threads, compiles and allocates;
    then `run` for each frame of that format; `close` gives all back. As a context manager it closes
    itself. Results are new arrays at each `run`: nothing writes to them again, so an encoder may
    keep them.

    Parameters
    ----------
    scale : int
        2, 3 or 4.
    model : str, Path, Model or None
        A shipped model's name, a file, or a loaded one; None: ours for this scale.
    device : str
        "cpu", "cuda", "cuda:N", or "auto": the GPU where it works.
    chroma : str
        Who enlarges chroma beside a GPU: "cpu" (it never crosses the bus), "gpu", or "auto": what
        `prepare` finds faster here. Both agree within one code value.

    Attributes
    ----------
    device : str
        What is used: "cpu" or "cuda:N".
    device_name : str
        What the GPU calls itself; "cpu".
    chroma : str
        As asked; from `prepare` on where it is enlarged, "cpu" or "gpu".
    slots : int
        How many frames `run` works on at once: call it from so many threads.

    Raises
    ------
    ModelError
        At once, where the model is missing, damaged or of another scale.
    DeviceError
        The device cannot be used.
    """

    def __init__(
        self,
        scale: int = 2,
        model: str | Path | Model | None = None,
        device: str = "auto",
        chroma: str = "auto",
    ) -> None:
        self.device = devices.resolve(device)
        if chroma not in CHROMA:
            raise InputError(f"chroma={chroma!r} came, expected one of {', '.join(CHROMA)}")
        if chroma == "gpu" and self.device == "cpu":
            reason = "that is asked for" if device == "cpu" else devices.why_not()
            raise DeviceError(
                f"chroma on the GPU, but luma on the CPU ({reason}): choose chroma auto or cpu"
            )
        self.device_name = devices.name(self.device)
        self.model = load(model, scale)
        self.scale = scale
        self.chroma = self._chroma = chroma
        self.slots = (cpu.Frames if self.device == "cpu" else cuda.Frames).lanes
        self._format: Format | None = None
        self._arm: Arm | None = None

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results of frames of `format`, however many there are."""
        return format.scaled(self.scale)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for frames of this format and return that of the results.

        Parameters
        ----------
        format : Format
            Of every frame to come. Samples are taken as they are: float planes may have any range
            (NaN spreads to its neighbours), and results are clipped to the depth only.
        bits : int, optional
            Depth of the results, rounded once from float32 (8-bit frames for a 10-bit encoder);
            the same as the input's by default.
        on_device : bool
            Whether results stay on the GPU as CuPy planes.

        Raises
        ------
        InputError
            `on_device`, which this Upscaler cannot do.
        DeviceError
            The GPU's memory does not suffice.
        """
        if on_device:
            raise InputError("an Upscaler's results are planes in host memory, not on the GPU")
        self.close()
        target = format.scaled(self.scale, bits)
        if self.device == "cpu":
            self._arm = cpu.Frames(self.model, format, target)
        else:
            self._arm = cuda.Frames(self.model, format, target, self.device, self._chroma)
        self._format, self.chroma = format, self._arm.chroma
        return target

    def run(self, frame: Frame) -> Frame:
        """Enlarge one frame. May be called from several threads.

        Parameters
        ----------
        frame : Frame
            NumPy planes as the prepared format says; rows may have a pitch. They are only read.

        Returns
        -------
        Frame
            New planes, from a GPU in page-locked memory; times and whatever else belongs to the
            frame carried over.

        Raises
        ------
        InputError
            Not prepared, or a frame of another shape or type.
        """
        return replace(frame, planes=self._checked(frame).run(frame.planes))

    def close(self) -> None:
        """Give back threads and buffers; `prepare` may follow again."""
        arm, self._arm, self._format, self.chroma = self._arm, None, None, self._chroma
        if arm:
            arm.close()

    def __enter__(self) -> Upscaler:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _checked(self, frame: Frame) -> Arm:
        """Return the arm for a frame as it is prepared for."""
        if self._format is None or self._arm is None:
            raise InputError("this Upscaler is not prepared: call prepare(format) before run")
        want = [(shape, self._format.dtype) for shape in self._format.shapes]
        came = [(plane.shape, plane.dtype) for plane in frame.planes]
        if came != want:
            raise InputError(f"prepared for planes {want}, but {came} came: prepare again")
        if not all(isinstance(plane, np.ndarray) for plane in frame.planes):
            raise InputError("planes are NumPy arrays; for one on a GPU there is snellen.upscale")
        return self._arm
