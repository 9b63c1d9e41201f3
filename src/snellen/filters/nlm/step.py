"""Non-local means as a step of video: frames in, as many frames out, some frames later."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.engine.prepared import retried
from snellen.errors import InputError, quoted
from snellen.filters.nlm import cpu
from snellen.filters.nlm.cuda import backend as cuda
from snellen.filters.nlm.definition import (
    MOST_FRAMES,
    RADIUS,
    STRENGTH,
    STRONGEST,
    Settings,
)
from snellen.frames import arrays, values
from snellen.frames.frame import Format, Frame, Plane, check_format
from snellen.frames.step import Step, Traits, Unchanged
from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.process import Holder, Home

WHAT = "this Denoiser"
WHITE = 255  # of 8 bits


Backend = cpu.Backend | cuda.Backend


class Denoiser(Holder, Step):
    """Denoise frames by non-local means over `radius` frames before and after each.

    At the beginning and at the end of a run there are fewer frames before or after, and only these
    are used. A result depends on the frames within `reach` only. Samples of 8 to 16 bits keep their
    depth; luma, and both chroma planes together, are denoised at their own resolution.

    Parameters
    ----------
    strength : float
        How unlike patches may be, in standard deviations of the noise: above 0, to 10.
    radius : int
        Frames before and after, 0 to 8.
    noise : float, optional
        Standard deviation of the noise in 8-bit codes, 0 to 255; estimated in each frame by
        default, for luma and for chroma.
    device : str
        "cpu", "cuda", "cuda:N" or "auto": the GPU where it works.

    Attributes
    ----------
    device, device_name : str
        "cpu" or "cuda:N"; the GPU's name, or "cpu".
    """

    _what = WHAT

    def __init__(
        self,
        strength: float = STRENGTH,
        radius: int = RADIUS,
        noise: float | None = None,
        device: str = "auto",
        label: str = "non-local means",
    ) -> None:
        found = values.number(strength)
        if found is None or not 0 < found <= STRONGEST:
            raise InputError(
                f"got `strength`={quoted(strength)}; expected a number above 0, to {STRONGEST:g}",
                parameter="strength",
            )
        deviation = None if noise is None else values.number(noise)
        if noise is not None and (deviation is None or not 0 <= deviation <= WHITE):
            raise InputError(
                f"got `noise`={quoted(noise)}; expected a number from 0 to {WHITE}, or None",
                parameter="noise",
            )
        self.settings = Settings(found, values.whole("radius", radius, 0, MOST_FRAMES), deviation)
        self.device = devices.single(device, "denoising")
        self.device_name = devices.name(self.device)
        self.traits = Traits(
            1, self.device, self.device_name, "push", reach=self.settings.radius, label=label
        )
        self._home = Home(WHAT)
        self._format: Format | None = None
        self._backend: Backend | None = None
        self._forget()

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results of frames of `format`, however many there are."""
        check_format(format)
        if not format.bits:
            raise InputError(
                "got float samples; expected 8 to 16 bits",
                parameter="format",
            )
        return format

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for a run of frames of this format and return that of the results.

        Parameters
        ----------
        format : Format
            Of every frame to come, 8 to 16 bits.
        bits : int, optional
            Depth of the results, 8 to 16; that of the frames by default.
        on_device : bool
            Whether results stay on the GPU, as CuPy planes that may be read after `Frame.ready`.
        """
        self.outcome(format, 1)
        on_device = values.flag("on_device", on_device)
        target = format.scaled(1, bits)
        if not target.bits:
            raise InputError("got `bits`=0; expected 8 to 16", parameter="bits")
        if on_device and self.device == "cpu":
            raise InputError(
                "got `on_device`=True, but this Denoiser works on the CPU", parameter="on_device"
            )
        size = f"denoising {format.width}×{format.height}"
        values.check_bytes(cpu.memory_of(self.settings, format), size)
        self.close()
        if self.device == "cpu":
            self._backend = cpu.Backend(self.settings, format, target)
        else:
            with profile.paused():
                self._backend = retried(
                    self.device,
                    lambda: cuda.Backend(
                        self.settings, format, target, self.device, on_device=on_device
                    ),
                )
        self._format, self._home = format, Home(WHAT)
        return target

    @np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
    def push(self, frame: Frame | None) -> list[Frame]:
        """Take the next frame (None: there are no more); return the results that are ready.

        After the last frame it is ready for another run of frames.

        Raises
        ------
        InputError
            Not prepared, or a frame of another shape or type.
        """
        backend, format = self._backend, self._format
        if backend is None or format is None:
            raise InputError("this Denoiser is not prepared: call prepare(format) before push")
        self._home.check()
        if frame is None:
            while self._next < len(self._window):
                self._advance(backend)
            last = [self._result() for _ in range(len(self._begun))]
            self._forget()
            return last
        planes = _checked(frame, format, self.device)
        self._window.append((frame, backend.take(planes, frame.ready)))
        if len(self._window) > self._next + self.settings.radius:
            self._advance(backend)
        return [self._result() for _ in range(len(self._begun) - backend.slots + 1)]

    def alpha(self) -> Unchanged:
        """Return a step for the alpha channel of such frames, which has no noise."""
        return Unchanged()

    def close(self) -> None:
        """End the threads and drop all buffers; `prepare` may follow again."""
        backend, self._backend, self._format = self._backend, None, None
        if backend and not self._home.keep(backend, self._window, self._begun):
            backend.close()
        self._forget()

    def _holds(self) -> bool:
        return self._backend is not None

    def _forget(self) -> None:
        self._window: deque[tuple[Frame, Any]] = deque()
        """Frames that are still needed, each with what the backend made of it."""
        self._next = 0
        """Number in the window of the frame that is denoised next."""
        self._begun: deque[tuple[Frame, Callable[[], tuple[tuple[Plane, ...], Any]]]] = deque()
        """Frames that are begun, in their order."""

    def _advance(self, backend: Backend) -> None:
        """Begin the next frame, and drop the frame that no later one needs."""
        frame, _ = self._window[self._next]
        self._begun.append((frame, backend.begin([one for _, one in self._window], self._next)))
        if self._next == self.settings.radius:
            self._window.popleft()
        else:
            self._next += 1

    def _result(self) -> Frame:
        frame, wait = self._begun.popleft()
        planes, ready = wait()
        return replace(frame, planes=planes, ready=ready)


def _checked(frame: Frame, format: Format, device: str) -> tuple[Plane, ...]:
    """Return the planes of a frame (InputError: they are not as it was prepared for)."""
    if not isinstance(frame, Frame):
        raise InputError(f"got a {type(frame).__name__}; expected a Frame", parameter="frame")
    planes = arrays.planes_of(frame, format)
    if device == "cpu" and not all(isinstance(plane, np.ndarray) for plane in planes):
        raise InputError("got planes on a GPU; expected NumPy arrays, as `device`=cpu works")
    return planes
