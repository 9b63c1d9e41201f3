"""Settings of the methods that score and deblur, as jobs have them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from snellen.frames.brief import Brief
from snellen.jobs.options.fields import Psf, check_types
from snellen.schema import BLUR, option

FRAMES = "frames"
"""The prior "auto" of stills, for each frame of a video, too."""


@dataclass(frozen=True, slots=True, repr=False)
class MiaSettings(Brief):
    """Settings of MIA, as `snellen.deblur` has them; None: its default."""

    psf: Psf | None = option(
        None, more="Or an array (…, K, K), as for `snellen.deblur`.", accepts="Any", reads=True,
        group=BLUR,
        help="The blur, where it is known: a .npy file, or a grey image.",
    )  # fmt: skip
    psf_size: int | None = option(
        None, unset="31", least=1, group=BLUR,
        help="Side in pixels of the blur that is estimated, at most the picture's; even ones "
        "count one more.",
    )  # fmt: skip
    psf_start: float | Psf | None = option(
        None, more="Or an array.", unset="2", accepts="Any", metavar="SIGMA|FILE", group=BLUR,
        help="Where the search starts: a Gaussian's σ in pixels, or a file as `psf`.",
    )  # fmt: skip
    iterations: int | None = option(None, "At most so many iterations.", unset="200", least=1)
    tolerance: float = option(
        0.0,
        "Stop when ten iterations change the picture by less, relative to it, as 0.001; 0: never.",
        least=0,
    )
    noise: str = option(
        "poisson", choices=("poisson", "gaussian"),
        help="Noise of light that is counted (poisson), or equal everywhere (gaussian).",
    )  # fmt: skip
    read_noise: float = option(
        0.0, least=0,
        help="Standard deviation of Gaussian noise added to Poisson's, white being 1; up to 1000.",
    )  # fmt: skip
    tv: float | None = option(
        None, unset="0; with a prior by the noise: 0.001, 0.002 or 0.004", least=0,
        help="Weight of total variation, against noise, as 0.004, up to 0.1.",
    )  # fmt: skip
    prior: str | None = option(
        "auto", more="None: none.", choices=("auto", FRAMES, "l0", "none"), group=BLUR,
        help="l0: find the blur from sharp edges, as of a single photograph that was shaken. "
        "auto: that for images, of which those without blur stay as they are, with a notice, and "
        "those that are too noisy, or whose blur is not plausible, with a warning; none with "
        "`psf`, `psf_start`, several images of one object, and videos. frames: auto, for each "
        "frame of a video, too. none: find the blur along with the picture, by plain MIA.",
    )  # fmt: skip
    edges: str = option(
        "extend", choices=("extend", "taper", "circular"),
        help="What is beyond the picture: estimated (extend), blended (taper), or its other side "
        "(circular).",
    )  # fmt: skip
    recentre: bool | str = option(
        True, command=False,
        help="Whether a blur that was found, and the picture with it, is moved so that its centre "
        'of mass is the middle; "whole": by whole pixels.',
    )  # fmt: skip
    tile: int | None = option(
        None, unset="one for the whole picture", least=1, group=BLUR,
        help="Side in pixels of tiles, each with a blur of its own.",
    )  # fmt: skip
    data_range: float | None = option(
        None,
        "Sample value of white of float images; that of others goes by their bits.",
        unset="1, or the brightest sample where that is beyond 2, which is said",
    )
    dtype: str | None = option(
        None, unset="float32", choices=("float32", "float64"),
        help="Precision of the computation.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.psf is not None or self.psf_start is not None:
            from snellen.jobs.options.psf_files import inline, start_value

            object.__setattr__(self, "psf", inline(self.psf, "psf"))
            object.__setattr__(self, "psf_start", start_value(self.psf_start))
        check_types(self)
        if self.prior == "none":
            object.__setattr__(self, "prior", None)

    def given(self) -> dict[str, Any]:
        """Return the settings that differ from None, and `prior`, by the names of `snellen.deblur`.

        `psf`, `psf_start`, `tile` and `data_range` are left out: each needs a file or the picture.
        """
        chosen = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("psf", "psf_start", "tile", "data_range"):
            del chosen[name]
        given = {name: value for name, value in chosen.items() if value is not None}
        prior = "auto" if self.prior == FRAMES else self.prior
        return {**given, "prior": prior}  # whose None is no default


@dataclass(frozen=True, slots=True, repr=False)
class MadSettings(Brief):
    """Settings of MAD, as `snellen.Scorer` has them."""

    variant: str = option(
        "2011", choices=("2011", "paper"),
        help="The lightness of the authors' code of 2011, or of their article (paper).",
    )  # fmt: skip
    hi_scale: float = option(
        200.0, metavar="NUMBER",
        help="Factor of HI, any positive number: 200 as the code of 2011, 10 as ST-MAD, 1 as the "
        "code of April 2010.",
    )  # fmt: skip
    eight_bit_lut: bool = option(False, "White as the authors' table for 8 bits has it.")
    dtype: str | None = option(
        None, unset="float64 on the CPU, and on a GPU for small pictures",
        choices=("float32", "float64"), help="Precision of MAD.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        from snellen.mad.definition import Definition

        Definition(self.variant, self.hi_scale, self.eight_bit_lut)  # which checks them
        check_types(self)
