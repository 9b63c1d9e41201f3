"""What is done to a film's frames before and after they are enlarged: options, and their steps.

The order is fixed::

    decoder → crop → vf → deblock → denoise → deblur → upscaling → sharpen → deband → lut
            → post_vf → grain → encoder

`steps_before` and `steps_after` make the steps, each option's in one place there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError
from snellen.filters.lut.coding import AUTO, NAMED, matrix_of
from snellen.frames.brief import Brief
from snellen.frames.values import choice
from snellen.jobs.enhance_filters import (
    DENOISE,
    add_deband,
    add_deblock,
    add_denoise,
    add_filters,
    add_sharpen,
    check_sharpen,
)
from snellen.jobs.enhance_line import Line
from snellen.jobs.fields import check_types
from snellen.jobs.options import path
from snellen.jobs.psf_files import Psf, check_suffix, inline
from snellen.jobs.serial import chosen

if TYPE_CHECKING:
    from snellen.video.convert import LateStep
    from snellen.video.filtering.crop import Area
    from snellen.video.filtering.side_files import SideFiles
    from snellen.video.media import MediaInfo
    from snellen.video.step import RateStep, Step

    Making = Callable[[MediaInfo], tuple[Step | RateStep, MediaInfo]]


@dataclass(frozen=True, slots=True, repr=False)
class Enhancement(Brief):
    """What is done to a film's frames beside enlarging them; the default is nothing.

    Raises
    ------
    InputError
        Values that do not exist; `error.parameter` names one.
    """

    crop: str | None = None
    """The part of each picture that is worked on, W:H:X:Y in pixels, or "auto": what is inside
    black bars; None: all of it."""
    vf: str | None = None
    """A chain of FFmpeg's filters before the frames are enlarged, "hflip,crop=iw/2:ih"."""
    deblock: bool = False
    """Whether edges of blocks are smoothed, which coarse coding leaves."""
    denoise: str | None = None
    """Against noise: "light", "medium" or "strong"; None: nothing."""
    sharpen: float | None = None
    """How much luma is sharpened after enlarging, above 0, up to 1; None: not at all."""
    deband: bool = False
    """Whether bands in smooth gradients are removed after enlarging."""
    post_vf: str | None = None
    """A chain of FFmpeg's filters after all of these."""
    deblur: Psf | str | None = None
    """The blur that all frames of the film have, which is undone before they are enlarged: a file
    (.npy, or a grey image) or rows of numbers; "auto": it is estimated; None: none."""
    deblur_psf_out: Path | None = None
    """File that the PSF is written to which "auto" finds (.npy or .png); None: it is not."""
    lut: Path | None = None
    """A colour table, a .cube file, that the enlarged frames go through; None: none."""
    lut_matrix: str | None = None
    """The film's colour matrix for it: "bt709", "bt601" or "bt2020"; "auto" or None: what the film
    states, or a guess by its size, which is said."""
    grain: float | None = None
    """Standard deviation of the film grain that is added to luma, in code values of 8 bits, in the
    middle tones; above 0, up to 64; None: none."""
    grain_seed: int | None = None
    """Another seed, 0 … 2³² − 1, gives other grain; None: 0."""

    def __post_init__(self) -> None:
        for name in ("lut", "deblur_psf_out"):
            if (file := getattr(self, name)) is not None:
                object.__setattr__(self, name, path(file, name))
        if not isinstance(self.deblur, str) or self.deblur != AUTO:
            object.__setattr__(self, "deblur", inline(self.deblur, "deblur"))
        check_types(self)
        if self.crop not in (None, AUTO):
            from snellen.video.filtering.crop import area  # images do without FFmpeg

            area(self.crop, "crop")
        if self.denoise is not None:
            choice("denoise", self.denoise, DENOISE)
        check_sharpen(self.sharpen)
        for name in ("vf", "post_vf"):
            if (chain := getattr(self, name)) is not None:
                from snellen.video.filtering.parse import parse

                parse(chain, name)
        if self.deblur_psf_out is not None:
            if self.deblur != AUTO:
                raise InputError(
                    "got `deblur_psf_out`, but `deblur` is not auto", parameter="deblur_psf_out"
                )
            check_suffix(self.deblur_psf_out, "deblur_psf_out")
        if self.lut_matrix is not None:
            choice("lut_matrix", self.lut_matrix, (AUTO, *NAMED))
            if self.lut is None:
                raise InputError("got `lut_matrix`, but no `lut`", parameter="lut_matrix")
        if self.grain is not None:
            from snellen.filters.grain import Grain

            Grain(self.grain, self.grain_seed or 0)  # which checks both
        elif self.grain_seed is not None:
            raise InputError("got `grain_seed`, but no `grain`", parameter="grain_seed")

    def named(self) -> tuple[str, ...]:
        """Return the parameters that differ from their defaults."""
        return tuple(chosen(self))

    def files(self) -> dict[str, Path]:
        """Return the files that are read, by their parameters."""
        named: dict[str, object] = {"deblur": self.deblur, "lut": self.lut}
        for name in ("vf", "post_vf"):
            if (chain := getattr(self, name)) is not None:
                from snellen.video.filtering.parse import files, parse

                for number, one in enumerate(files(parse(chain, name))):
                    named[name if number == 0 else f"{name} ({number + 1})"] = one
        return {name: one for name, one in named.items() if isinstance(one, Path)}

    def written(self) -> tuple[tuple[str, Path], ...]:
        """Return the files that filters write, each with its parameter."""
        from snellen.video.filtering.parse import parse
        from snellen.video.filtering.side_files import outputs

        chains = {name: getattr(self, name) for name in ("vf", "post_vf")}
        return tuple(
            (name, path)
            for name, chain in chains.items()
            if chain is not None
            for path in outputs(parse(chain, name))
        )

    def silent(self) -> Enhancement:
        """Return an enhancement whose filters write no files."""
        from snellen.video.filtering.parse import parse
        from snellen.video.filtering.side_files import silent, written

        changed: dict[str, Any] = {
            name: written(silent(parse(getattr(self, name), name))) for name, _ in self.written()
        }
        return replace(self, **changed)

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return self != Enhancement()


def steps_before(options: Enhancement, line: Line) -> None:
    """Add the steps before the frames are enlarged."""
    from snellen.video.filtering.crop import Crop, area

    stored = [f"`{name}`" for name in ("crop", "vf", "post_vf") if getattr(options, name)]
    if stored and options.crop != AUTO and line.film.picture.display_matrix is not None:
        line.say(f"players turn its pictures: {' and '.join(stored)} get them as they are stored")
    if options.crop == AUTO:
        _crop_bars(line)
    elif options.crop is not None:
        line.add(Crop(area(options.crop, "crop")))
    if options.vf is not None:
        add_filters(line, options.vf, "vf")
    if options.deblock:
        add_deblock(line)
    if options.denoise is not None:
        add_denoise(line, options.denoise)
    if options.deblur is not None:
        from snellen.jobs.film_blur import blur_of, step_of

        given, film = options.deblur, line.film
        if isinstance(given, str):
            psf: Psf | None = blur_of(film.path, film.clip.map, options.crop, line.say)
        else:
            psf = given
        if psf is not None:
            line.add(step_of(psf, line.device))


def _crop_bars(line: Line) -> None:
    """Add the step that leaves black bars out, if there are any."""
    from snellen.video.filtering.crop import Crop, inside

    if line.film.path is None:
        raise InputError(
            "got `crop`=auto, but a pipe, or pictures in files of their own, cannot be looked at "
            "beforehand",
            parameter="crop",
            advice="give the part as W:H:X:Y",
        )
    found = None if line.area is None else line.area()
    if found is None:
        line.say("`crop`=auto: there are no black bars")
    else:
        line.add(Crop(inside(found, line.film.picture.format)))


def steps_after(options: Enhancement, line: Line) -> None:
    """Add the steps after the frames have been enlarged."""
    if options.sharpen is not None:
        add_sharpen(line, options.sharpen)
    if options.deband:
        add_deband(line)
    if options.lut is not None:
        from snellen.filters.lut.step import LutStep

        stated, format = line.info.picture.colorspace, line.film.picture.format
        size = format.width, format.height
        matrix, guess = matrix_of(stated, size, options.lut_matrix)
        line.add(LutStep(options.lut, matrix, line.device, line.say))
        if guess:
            line.say(guess)
    if options.post_vf is not None:
        add_filters(line, options.post_vf, "post_vf")
    if options.grain is not None:
        from snellen.filters.grain import Grain

        line.add(Grain(options.grain, options.grain_seed or 0))


def enhanced(
    options: Enhancement,
    enlarging: Making,
    say: Callable[[str], None],
    device: str = "cpu",
    area: Callable[[], Area | None] | None = None,
    files: SideFiles | None = None,
) -> LateStep:
    """Return the step that enhances and enlarges a film.

    Parameters
    ----------
    options : Enhancement
    enlarging : callable
        As `LateStep.make`: makes the step that enlarges.
    say : callable
        Takes what users may want to know.
    device : str
        Where the work is to be done.
    area : callable, optional
    files : SideFiles, optional
        As of `Line`.
    """
    from snellen.video.chain import Chain
    from snellen.video.convert import LateStep

    def make(info: MediaInfo) -> tuple[Step | RateStep, MediaInfo]:
        line = Line(info, say, device, area, files)
        with ExitStack() as stack:
            stack.callback(lambda: [step.close() for step in reversed(line.steps)])
            steps_before(options, line)
            step, stated = enlarging(line.info)
            line.add(step, stated.picture)
            steps_after(options, line)
            stack.pop_all()
        picture = replace(line.info.picture, format=info.picture.format)
        return Chain(*line.steps), replace(info, picture=picture)

    return LateStep(make)


def with_notice(
    late: LateStep, area: Callable[[], Area | None], say: Callable[[str], None]
) -> LateStep:
    """Return a step that, when it is made, says of black bars that nobody crops.

    Only of those that are alike on opposite sides, and are not at the edge of something dark.
    """
    from snellen.video.convert import LateStep
    from snellen.video.filtering.crop import inside
    from snellen.video.source.bars import is_balanced

    def make(info: MediaInfo) -> tuple[Step | RateStep, MediaInfo]:
        found, form = area(), info.picture.format
        if found is not None and is_balanced(found, form):
            part = inside(found, form)
            say(f"it has black bars: `crop`=auto, or `crop`={part}, leaves them out")
        return late.make(info)

    return LateStep(make)
