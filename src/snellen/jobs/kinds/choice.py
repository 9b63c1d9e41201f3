"""Which models a job works with: one that is named, or ours for a method and a kind of source."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError
from snellen.frames.white import MOST
from snellen.jobs.events import Events, notify
from snellen.jobs.inputs.sequence import files_of
from snellen.sources.kind import Kind, decide, traces_in
from snellen.stills import still
from snellen.upscaling import doubt, methods, models, shipped

if TYPE_CHECKING:
    from snellen.video.filtering.crop import Area

CLEAN, FILM, _ = shipped.SOURCES
PICTURES = 8  # of a sequence, equally far from one another


class Models:
    """The models of one job, for the magnifications that it makes. What they are for is found once.

    Parameters
    ----------
    model, method, kind : str, Path or None
        The job's; `kind` is its `source_kind`.
    film : Path, optional
        At whose pictures to look where `kind` is None or "auto".
    maps : sequence of str
        Which of its streams are kept, as FFmpeg's -map has them.
    denoise : str, optional
        What is done against its noise, as of `Enhancement`.
    """

    def __init__(
        self,
        model: str | Path | None,
        method: str | None,
        kind: str | None,
        film: Path | None = None,
        maps: Sequence[str] = (),
        denoise: str | None = None,
    ):
        self._model, self._method, self._film, self._maps = model, method, film, maps
        self._noisy = denoise in ("light", "medium")  # which leave some; strong leaves none
        self._kind = None if kind == shipped.AUTO else kind
        self._found: Kind | None = None
        self._area: Area | None = None
        self._used: dict[str, str] = {}  # name → method
        self._clean = CLEAN  # and why, of an image
        self._sequence: str | None = None
        self._said = kind

    def __call__(self, scale: int) -> models.Model:
        """Return the model for a magnification.

        Raises
        ------
        ModelError
            There is no such model.
        InputError
            The film cannot be read.
        """
        name = self._model
        if name is None:
            self._said = kind = self._kind or self._fitting(scale)
            name = shipped.choose(scale, self._method, kind.partition(":")[0])
        model = models.load(name, scale)
        self._used[str(name)] = methods.name_of(model) or ""
        return model

    @property
    def scales(self) -> tuple[int, ...]:
        """Magnifications that there are models for; of a model that was named, its own.

        Raises
        ------
        ModelError
            There is no model of this name.
        """
        return models.scales_of(self._model)

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each model that was used, by its name."""
        return {name: models.digest(name) for name in self._used}

    def said(self) -> dict[str, Any]:
        """Return the fields of a result that are about the models which were used."""
        return {
            "model": ", ".join(self._used), "method": ", ".join(dict.fromkeys(self._used.values())),
            "source_kind": self._said,
        }  # fmt: skip

    def doubt(self, image: Any, events: Events, subject: str) -> None:
        """Report a notice if the pixels of an image look coded, and nobody said what kind it is."""
        unasked = doubt.is_unasked(self._model, self._kind)
        if unasked and doubt.is_doubtful(image, samples_of(image)["data_range"]):
            self._clean = f"{CLEAN}: it looks coded, and film is mostly better then"
            notify(events, subject, doubt.TEXT)

    def area(self) -> Area | None:
        """Return the part of the film's pictures inside black bars; None: no bars, or no film.

        Raises
        ------
        InputError
            The film cannot be read.
        """
        if self._film is None or not self._film.is_file():
            return None
        self._look(self._film)
        return self._area

    def _look(self, film: Path) -> None:
        """Look at some pictures of the film, once."""
        if self._found is None:
            from snellen.video.source.places import picture_area, sample

            found = sample(film, self._maps)
            self._found = decide(found.planes, found.codec, found.bits, self._noisy)
            self._area = picture_area(found.planes)

    def _fitting(self, scale: int) -> str:
        """Return the kind of source that there is a model for, and after a colon why."""
        kinds = shipped.kinds(scale, self._method or shipped.AUTO)
        if self._film is None or len(kinds) < 2:
            return self._clean
        if not self._film.is_file():
            if str(self._film) != "-" and not self._film.is_fifo():
                return self._of_sequence(self._film, kinds)
            kind = FILM if FILM in kinds else kinds[0]  # what is piped was mostly coded before
            return f"{kind}: a pipe cannot be looked at beforehand"
        self._look(self._film)
        assert self._found is not None
        name, reason = self._found.name, self._found.reason
        kind = next(one for one in (name, FILM, *kinds) if one in kinds)
        instead = "" if kind == name else f"{name}, for which there is no model; "
        return f"{kind}: {instead}{reason}"

    def _of_sequence(self, source: Path, kinds: Sequence[str]) -> str:
        """Return the kind, and why, of pictures in files of their own: film, if most look coded."""
        if self._sequence is None:
            planes = []
            with suppress(InputError):  # of which the run will tell
                files = files_of(source)
                count = min(PICTURES, len(files))
                for number in range(count):
                    file = files[(2 * number + 1) * len(files) // (2 * count)]
                    if file.is_file():
                        pixels = still.read(file).pixels
                        planes.append(doubt.luma_of(pixels, samples_of(pixels)["data_range"]))
            self._sequence = traces_in(planes) or ""
        if self._sequence and FILM in kinds:
            return f"{FILM}: {self._sequence}"
        return f"{CLEAN}: pictures in files of their own"


def samples_of(pixels: Any) -> dict[str, Any]:
    """Return what a file says of its pixels: whether they are colours, and what white is.

    Floats in files have no range of their own: white is 1, or the brightest where that is more.
    """
    data_range = None
    if pixels.dtype.kind == "f":
        most = float(abs(pixels).max())
        data_range = most if 1 < most < MOST else 1.0
    return {"data_range": data_range, "channel_axis": -1 if pixels.ndim == 3 else None}
