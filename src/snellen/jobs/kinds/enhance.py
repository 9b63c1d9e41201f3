"""Options of what is done to a film's frames before and after they are enlarged, and their steps.

The order is that of the fields of `Enhancement`::

    decoder → crop → vf → deblock → denoise → deblur → upscaling → sharpen → deband → lut
            → post_vf → grain → encoder
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError
from snellen.frames.brief import Brief
from snellen.frames.values import check_options, plain
from snellen.jobs.kinds.enhance_filters import Stage, add_filters, named, titled
from snellen.jobs.kinds.enhance_line import Line
from snellen.jobs.options.fields import Psf, check_types
from snellen.jobs.options.options import path
from snellen.schema import option, parameters

if TYPE_CHECKING:
    from snellen.frames.step import Step
    from snellen.video.filtering.crop import Area
    from snellen.video.filtering.side_files import SideFiles
    from snellen.video.media import MediaInfo

    Making = Callable[[MediaInfo], tuple[Step, MediaInfo]]

AUTO = "auto"
_LIGHT = "atadenoise=" + ":".join(f"{plane}a=0.03:{plane}b=0.05" for plane in (0, 1, 2))
_MEDIUM = "fftdnoiz=sigma=4:prev=1:next=1"
_DEBAND = "deband=1thr=0.01:2thr=0.01:3thr=0.01:range=32:blur=0"
_DEBAND_BITS = 10
"""With 8 bits, deband cannot make steps smaller than they are."""
_SHARPEST = 0.8
"""Strength of FFmpeg's cas for the amount 1; near 1 it divides by zero."""


def _add_crop(line: Line, options: Enhancement, name: str) -> None:
    from snellen.video.filtering.crop import Crop, area, inside

    if options.crop is not None and options.crop != AUTO:
        line.add(Crop(area(options.crop, name)))
        return
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


def _add_chain(line: Line, options: Enhancement, name: str) -> None:
    add_filters(line, getattr(options, name), name)


def _add_denoise(line: Line, options: Enhancement, name: str) -> None:
    title = titled(name, options.denoise)
    if options.denoise != "strong":
        add_filters(line, _LIGHT if options.denoise == "light" else _MEDIUM, name, title)
        return
    from snellen.filters.nlm.step import Denoiser

    line.add(Denoiser(device=line.device, label=title))


def _add_deblur(line: Line, options: Enhancement, name: str) -> None:
    from snellen.jobs.kinds.film_blur import blur_of, step_of

    psf, film = options.deblur, line.film
    if isinstance(psf, str):
        psf = blur_of(film.path, film.clip.map, options.crop, line.say)
    if psf is not None:
        line.add(step_of(psf, line.device))


def _add_lut(line: Line, options: Enhancement, name: str) -> None:
    from snellen.filters.lut.step import LutStep
    from snellen.frames.coding import matrix_of

    assert options.lut is not None
    stated, format = line.info.picture.colorspace, line.film.picture.format
    size = format.width, format.height
    matrix, guess = matrix_of(stated, size, options.lut_matrix)
    line.add(LutStep(options.lut, matrix, line.device, line.say))
    if guess:
        line.say(guess)


def _add_grain(line: Line, options: Enhancement, name: str) -> None:
    from snellen.filters.grain import Grain

    assert options.grain is not None
    line.add(Grain(options.grain, options.grain_seed or 0))


@dataclass(frozen=True, slots=True, repr=False)
class Enhancement(Brief):
    """Steps of a film's frames beside enlarging them; the default is none.

    Raises
    ------
    InputError
        Values that do not exist; `error.parameter` names one.
    """

    crop: str | None = option(
        None, metavar="auto|W:H:X:Y", step=Stage(_add_crop),
        help="Work on this part of each picture: width, height, and the distances from the left "
        "and the top, in pixels, before a rotation that the video states; auto: what is inside "
        "black bars.",
    )  # fmt: skip
    vf: str | None = option(
        None, metavar="CHAIN", step=Stage(_add_chain),
        help="FFmpeg's filters before the frames are enlarged, as bilateral,hue=s=0; they may "
        "change the size, the rate or the number of frames.",
    )  # fmt: skip
    deblock: bool = option(
        False, step=named("deblock=filter=weak"),
        help="Smooth the edges of blocks, which coarse coding leaves.",
    )  # fmt: skip
    denoise: str | None = option(
        None, choices=("light", "medium", "strong"), step=Stage(_add_denoise),
        help="Reduce noise: light and medium by FFmpeg's atadenoise and fftdnoiz, strong by "
        "non-local means over several frames.",
    )  # fmt: skip
    deblur: Psf | str | None = option(
        None, more="Or an array (K, K).", accepts="Any", metavar="auto|FILE",
        step=Stage(_add_deblur),
        help="Undo one blur in all frames before they are enlarged, by MIA: the PSF of a file "
        "(.npy, or a grey image), or auto: estimated on some sharp frames; a sharp film stays.",
    )  # fmt: skip
    deblur_psf_out: Path | None = option(
        None, accepts="File | None", metavar="FILE", writes=True,
        help="Write the PSF that `deblur`=auto finds, as .npy or .png.",
    )  # fmt: skip
    sharpen: float | None = option(
        None, metavar="AMOUNT",
        step=named(lambda amount: f"cas=strength={_SHARPEST * amount:.6g}:planes=1", after=True),
        help="Sharpen luma of the enlarged frames, above 0 up to 1; 0.3 is moderate.",
    )  # fmt: skip
    deband: bool = option(
        False, step=named(_DEBAND, after=True, least_bits=_DEBAND_BITS),
        help="Remove bands in smooth gradients of the enlarged frames.",
    )  # fmt: skip
    lut: Path | None = option(
        None, accepts="File | None", metavar="FILE.cube", reads=True,
        step=Stage(_add_lut, after=True),
        help="Send the colours of the enlarged frames through this table, a .cube file.",
    )  # fmt: skip
    lut_matrix: str | None = option(
        None, unset="auto, a guess by its size, which is said",
        choices=(AUTO, "bt709", "bt601", "bt2020"),
        help="The film's colour matrix for `lut`, where it does not state it.",
    )  # fmt: skip
    post_vf: str | None = option(
        None, metavar="CHAIN", step=Stage(_add_chain, after=True),
        help="FFmpeg's filters after these, as `vf` has them.",
    )  # fmt: skip
    grain: float | None = option(
        None, metavar="AMOUNT", step=Stage(_add_grain, after=True),
        help="Add film grain to luma, at the end: its standard deviation in the middle tones, in "
        "code values of 8 bits, above 0 up to 64; 2 is fine, 6 is strong.",
    )  # fmt: skip
    grain_seed: int | None = option(
        None, "Another number, 0 to 2³² − 1, gives other grain.", unset="0"
    )

    def __post_init__(self) -> None:
        for name in ("lut", "deblur_psf_out"):
            if (file := getattr(self, name)) is not None:
                object.__setattr__(self, name, path(file, name))
        if not (isinstance(self.deblur, str) and plain(self.deblur) == AUTO):
            from snellen.jobs.options.psf_files import inline

            object.__setattr__(self, "deblur", inline(self.deblur, "deblur"))
        check_types(self)
        if self.crop not in (None, AUTO):
            from snellen.video.filtering.crop import area  # images do without FFmpeg

            area(self.crop, "crop")
        check_options(self, "denoise")
        if self.sharpen is not None and not 0 < self.sharpen <= 1:
            raise InputError(
                f"got `sharpen`={self.sharpen}; expected an amount above 0, up to 1",
                parameter="sharpen",
            )
        self.chains()  # which reads them
        if self.deblur_psf_out is not None:
            if self.deblur != AUTO:
                raise InputError(
                    "got `deblur_psf_out`, but `deblur` is not auto", parameter="deblur_psf_out"
                )
            from snellen.jobs.options.psf_files import check_suffix

            check_suffix(self.deblur_psf_out, "deblur_psf_out")
        check_options(self, "lut_matrix")
        if self.lut_matrix is not None and self.lut is None:
            raise InputError("got `lut_matrix`, but no `lut`", parameter="lut_matrix")
        if self.grain is not None:
            from snellen.filters.grain import Grain

            Grain(self.grain, self.grain_seed or 0)  # which checks both
        elif self.grain_seed is not None:
            raise InputError("got `grain_seed`, but no `grain`", parameter="grain_seed")

    def chains(self) -> dict[str, Any]:
        """Return the chains of FFmpeg's filters, by their parameters (InputError: it is none)."""
        given = {name: getattr(self, name) for name in ("vf", "post_vf")}
        if not any(chain is not None for chain in given.values()):
            return {}
        from snellen.video.filtering.parse import parse  # images do without FFmpeg

        return {name: parse(chain, name) for name, chain in given.items() if chain is not None}

    def files(self) -> dict[str, Path]:
        """Return the files that are read, by their parameters."""
        named: dict[str, object] = {"deblur": self.deblur, "lut": self.lut}
        for name, chain in self.chains().items():
            from snellen.video.filtering.parse import files

            for number, one in enumerate(files(chain)):
                named[name if number == 0 else f"{name} ({number + 1})"] = one
        return {name: one for name, one in named.items() if isinstance(one, Path)}

    def written(self) -> tuple[tuple[str, Path], ...]:
        """Return the files that filters write, each with its parameter."""
        from snellen.video.filtering.side_files import outputs

        return tuple(
            (name, path) for name, chain in self.chains().items() for path in outputs(chain)
        )

    def silent(self) -> Enhancement:
        """Return an enhancement whose filters write no files."""
        from snellen.video.filtering.side_files import silent, written

        chains, changing = self.chains(), {name for name, _ in self.written()}
        changed: dict[str, Any] = {name: written(silent(chains[name])) for name in changing}
        return replace(self, **changed)

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return self != Enhancement()


def add_steps(options: Enhancement, line: Line, *, after: bool = False) -> None:
    """Add the steps before the frames are enlarged, or those `after` that."""
    stored = [f"`{name}`" for name in ("crop", "vf", "post_vf") if getattr(options, name)]
    turned = line.film.picture.display_matrix is not None
    if turned and stored and options.crop != AUTO and not after:
        line.say(f"players turn its pictures: {' and '.join(stored)} get them as they are stored")
    for name, one in parameters(Enhancement).items():
        stage = one.about.step
        if stage and stage.after == after and getattr(options, name) not in (None, False):
            stage.add(line, options, name)


def enhanced(
    info: MediaInfo,
    options: Enhancement,
    enlarging: Making,
    say: Callable[[str], None],
    device: str = "cpu",
    area: Callable[[], Area | None] | None = None,
    files: SideFiles | None = None,
) -> tuple[Step, MediaInfo]:
    """Return the step that enhances and enlarges a film, and the film as its output states it.

    `enlarging` makes the step that enlarges; called with the film as it is then, it returns
    likewise. `say` takes what users may want to know. The others are as of `Line`.
    """
    from snellen.video.steps.chain import Chain

    line = Line(info, say, device, area, files)
    with ExitStack() as stack:
        stack.callback(line.close)
        add_steps(options, line)
        step, stated = enlarging(line.info)
        line.add(step, stated.picture)
        add_steps(options, line, after=True)
        stack.pop_all()
    picture = replace(line.info.picture, format=info.picture.format)
    return Chain(*line.steps), replace(info, picture=picture)


def say_bars(info: MediaInfo, area: Area | None, say: Callable[[str], None]) -> None:
    """Say of black bars around `area` that nobody crops.

    Only of those that are alike on opposite sides, and are not at the edge of something dark.
    """
    from snellen.video.filtering.crop import inside
    from snellen.video.source.places import is_balanced

    form = info.picture.format
    if area is not None and is_balanced(area, form):
        part = inside(area, form)
        say(f"it has black bars: `crop`=auto, or `crop`={part}, leaves them out")
