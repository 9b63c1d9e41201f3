"""The public face for frames: settings, devices and checks; a backend does the work.

These are `cpu.Backend` and `cuda.frames.Backend`; luma is left to the method of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from snellen.engine.prepared import retried
from snellen.errors import DeviceError, InputError, SnellenError
from snellen.frames import arrays, values
from snellen.frames.frame import Format, Frame, check_format
from snellen.frames.step import Step, Traits
from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.process import Holder, Home, while_running
from snellen.upscaling import cpu, doubt
from snellen.upscaling.cuda import frames as cuda
from snellen.upscaling.models import Model, load
from snellen.upscaling.opacity import OpacityUpscaler
from snellen.upscaling.shipped import CHROMA, Method, SourceKind

WHAT = "this Upscaler"


def memory_of(height: int, width: int, scale: int) -> int:
    """Return the bytes that enlarging one picture takes at least: input and result in float32."""
    return 4 * height * width * (scale**2 + 1)


Backend = cpu.Backend | cuda.Backend


class Upscaler(Holder, Step):
    """Enlarge frames: luma by a compact network or A+, chroma by bicubic.

    `prepare` lays out the model, starts the threads, compiles and allocates; `run` enlarges one
    frame of that format; `close` gives all of it back, and a `with` block closes at its end.
    Results are new arrays at each `run`: nothing writes to them again, so an encoder may keep them.

    Parameters
    ----------
    scale : int
        2, 3 or 4; 2.0 is 2.
    model : str, Path, Model or None
        A shipped model's name, a file, or a loaded one; None: ours for this scale.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N", or "auto": the GPU where it works. One device: a list with several
        is refused.
    chroma : str
        Where chroma is enlarged when a GPU enlarges luma: on the "cpu", so that it never crosses
        the bus, on the "gpu", or "auto": where `prepare` finds it faster here. Both agree within
        one code value. Planes that come from the GPU or stay there are enlarged there.
    method : str, optional
        What enlarges luma: "cnn-fine", "cnn-fast", "aplus"; None or "auto": cnn-fine. Instead of a
        `model`.
    source_kind : str, optional
        What kind of pictures the method's model is for: "clean"; "film", coded ones; "soft", coded
        and blurred ones. None or "auto": "clean", with a warning (UserWarning) if the first frame
        looks coded. Likewise.

    Attributes
    ----------
    device : str
        The device that is used: "cpu" or "cuda:N".
    device_name : str
        Name of the GPU, as "NVIDIA H200"; "cpu".
    chroma : str
        As given; from `prepare` on where chroma is enlarged, "cpu" or "gpu".
    slots : int
        How many frames `run` works on at once: call it from so many threads.

    Raises
    ------
    ModelError
        At once, where the model is missing, damaged or of another scale.
    DeviceError
        The device cannot be used.
    """

    _what = WHAT

    def __init__(
        self,
        scale: float = 2,
        model: str | Path | Model | None = None,
        device: str | Sequence[str] = "auto",
        chroma: str = "auto",
        *,
        method: Method | None = None,
        source_kind: SourceKind | None = None,
    ) -> None:
        self.device = devices.single(device, "super-resolution")
        chroma = values.choice("chroma", chroma, CHROMA)
        if chroma == "gpu" and self.device == "cpu":
            reason = "as asked for" if values.plain(device) != "auto" else devices.why_not()
            raise DeviceError(
                f"got `chroma`=gpu, but luma is enlarged on the CPU ({reason})",
                parameter="chroma",
                advice="choose `chroma`=auto or `chroma`=cpu",
            )
        self.device_name = devices.name(self.device)
        self.model = load(model, scale, method, source_kind)
        self._look = doubt.is_unasked(model, source_kind)  # at the first frame
        self.scale = self.model.scale
        self.chroma = self._chroma = chroma
        self.slots = (cpu.Backend if self.device == "cpu" else cuda.Backend).slots
        label = f"upscale ×{self.scale}"
        self.traits = Traits(self.slots, self.device, self.device_name, label=label)
        self._home = Home(WHAT)
        self._format: Format | None = None
        self._backend: Backend | None = None

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results of frames of `format`, however many there are."""
        check_format(format)
        return format.scaled(self.scale)

    def _holds(self) -> bool:
        return self._backend is not None

    @while_running
    @np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
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
            Whether results stay on the GPU, as CuPy planes that may be read after `Frame.ready`.

        Raises
        ------
        InputError
            No Format; `on_device` on the CPU.
        DeviceError
            The GPU's memory does not suffice.
        """
        check_format(format)
        on_device = values.flag("on_device", on_device)
        target = format.scaled(self.scale, bits)
        size = f"{format.width}×{format.height} enlarged ×{self.scale}"
        values.check_bytes(memory_of(format.height, format.width, self.scale), size)
        self.close()
        if on_device and self.device == "cpu":
            raise InputError(
                "got `on_device`=True, but this Upscaler works on the CPU", parameter="on_device"
            )
        with profile.paused():
            if self.device == "cpu":
                self._backend = cpu.Backend(self.model, format, target)
            else:
                self._backend = retried(
                    self.device,
                    lambda: cuda.Backend(
                        self.model, format, target, self.device, self._chroma, on_device=on_device
                    ),
                )
        self._format, self.chroma, self._home = format, self._backend.chroma, Home(WHAT)
        return target

    @np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
    def run(self, frame: Frame) -> Frame:
        """Enlarge one frame. May be called from several threads.

        Parameters
        ----------
        frame : Frame
            Planes as the prepared format says, which are only read; rows may have a pitch. NumPy
            arrays, or CuPy arrays of this Upscaler's GPU, which are read after `Frame.ready`.

        Returns
        -------
        Frame
            New planes, from a GPU in page-locked memory or, with `on_device`, on the GPU. Times and
            all else that belongs to the frame are carried over.

        Raises
        ------
        InputError
            Not prepared, or a frame of another shape or type.
        """
        backend, frame = self._checked(frame)
        if self._look:
            self._look = False
            self._doubt(frame)
        try:
            return backend.run(frame)
        except RuntimeError as error:  # of the pool of threads
            if backend is self._backend or isinstance(error, SnellenError):
                raise
            raise InputError("this Upscaler was closed while a frame was in work") from error

    def _doubt(self, frame: Frame) -> None:
        """Warn of a frame that looks coded."""
        luma, format = frame.planes[0], self._format
        white = None if format is None else format.white or max(1, (1 << format.bits) - 1)
        with arrays.working(luma, "cpu" if isinstance(luma, np.ndarray) else self.device):
            if frame.ready is not None:
                frame.ready.synchronize()
            doubt.warn(luma, white)

    def alpha(self) -> OpacityUpscaler:
        """Return a step for the alpha channel of such frames."""
        return OpacityUpscaler(self.scale)

    def close(self) -> None:
        """End the threads and drop all buffers; `prepare` may follow again."""
        backend, self._backend, self._format = self._backend, None, None
        self.chroma = self._chroma
        if backend and not self._home.keep(backend):
            backend.close()

    def _checked(self, frame: Frame) -> tuple[Backend, Frame]:
        """Return the backend for a frame as it is prepared for, and the frame for it."""
        backend, format = self._backend, self._format  # another thread may close it
        if format is None or backend is None:
            raise InputError("this Upscaler is not prepared: call prepare(format) before run")
        self._home.check()
        if not isinstance(frame, Frame) or not isinstance(frame.planes, tuple | list):
            kind = "a Frame of one array" if isinstance(frame, Frame) else type(frame).__name__
            raise InputError(
                f"got {kind}; expected a Frame of planes, as Frame((luma,))",
                parameter="frame",
                advice="snellen.upscale takes an array",
            )
        for plane in frame.planes:
            if not isinstance(plane, np.ndarray) and not arrays.is_cupy(plane):
                raise InputError(
                    f"got a {type(plane).__name__} as a plane; expected arrays of NumPy, or of "
                    "CuPy on a GPU",
                    parameter="frame",
                )
        planes = arrays.planes_of(frame, format)
        on_host = [isinstance(plane, np.ndarray) for plane in planes]
        if self.device == "cpu" and not all(on_host):
            raise InputError("got planes on a GPU; expected NumPy arrays, as `device`=cpu works")
        if any(on_host) and not all(on_host):
            raise InputError("got planes partly on a GPU; expected all there, or all NumPy arrays")
        return backend, replace(frame, planes=planes)
