"""Image sequences: the pictures that a pattern or a folder means, as one film."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.errors import InputError
from snellen.files import store
from snellen.files.containers import container
from snellen.files.kinds import is_image, kind_of, names_image
from snellen.files.numbering import is_pattern, there
from snellen.files.opening import missing
from snellen.files.remote import Remote
from snellen.files.signatures import UNKNOWN
from snellen.jobs.events import Events
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.inputs.naming import Word
from snellen.jobs.inputs.patterns import matching, natural

if TYPE_CHECKING:
    from snellen.video.source.pictures import Pictures

_NUMBER = re.compile(r"(\d{1,18})\D*")


def is_sequence_of(source: Path, fps: Fraction | None) -> bool:
    """Return whether `fps` makes a film of pictures; else it is the rate of a film, if anything."""
    return fps is not None and not is_one_film(source)


def is_one_film(source: Path) -> bool:
    """Return whether a source is a film itself, and no folder or pattern of pictures."""
    if source == PIPE:
        return True
    return source.exists() and not source.is_dir() and not is_image(source)


def files_of(source: Path) -> list[Path]:
    """Return the pictures of a typed pattern or a folder, in the order of their numbers.

    InputError: there are none; a picture that is named itself, or what is no picture; or the folder
    cannot be read.
    """
    if source.is_dir():
        try:
            every = list(source.iterdir())
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{source} cannot be read: {reason}", parameter="source") from error
        found = [one for one in every if is_image(one) and not one.name.startswith(".")]
        if not found:
            raise InputError(f"{source} holds no image", parameter="source")
        return sorted(found, key=natural)
    found = matching(source)
    if found == [source] and not source.exists():
        raise missing(source, "folder of pictures")
    if found == [source]:
        raise InputError(
            f"{source}: `fps` makes a film of many pictures",
            parameter="fps",
            advice="name a folder of pictures, or a pattern such as frames/%05d.png",
        )
    strange = [one for one in found if not is_image(one)]
    if strange:
        raise InputError(f"{strange[0]} is no image; `fps` is for pictures", parameter="fps")
    return found


def opened(source: Path, fps: Fraction, events: Events) -> Pictures:
    """Return the pictures of a pattern or a folder as the input of a film."""
    from snellen.video.source.pictures import Pictures

    files = files_of(source)
    gap = _gap(files)
    if gap is not None:
        events.warning(str(source), gap)
    return Pictures(files, fps, str(source))


def is_sequence(target: Path) -> bool:
    """Return whether an output is a pattern of pictures that a film becomes."""
    return names_image(target) and is_pattern(target)


def makes_film(source: Path, target: Path, fps: Fraction | None) -> bool:
    """Return whether a job works frame by frame; else it is about one image."""
    if fps is not None:
        return True
    if is_sequence(target):  # all pictures of an animation
        return not is_image(source, film=True)
    film = not names_image(target)
    return not (is_image(source, film) or _is_unnamed_image(source, target))


def _is_unnamed_image(source: Path, target: Path) -> bool:
    """Return whether an unknown input without a suffix is an image: the output can only be one."""
    # .webp and .avif may be animations.
    if source.suffix or kind_of(source) is not UNKNOWN:
        return False
    return names_image(target) and container(target.suffix).muxer is None


def is_there(target: Path) -> bool:
    """Return whether an output is there: a file, or the pictures of a pattern."""
    if isinstance(target, Remote):
        return store.is_there(target)
    if os.path.isfile(target):  # noqa: PTH113  never raises
        return True
    return is_sequence(target) and bool(there(target))


def film(
    inputs: Sequence[Path], output: Path | None, word: Word, into: bool = False
) -> tuple[Path, Path]:
    """Return a sequence, and the film that it becomes.

    The input is one folder or pattern of pictures. The output is a file, or a folder (also one that
    is not there, with `into`) for a film called after that of the pictures; None: beside that, with
    `word` in its name. InputError: several inputs, or one that is no sequence.
    """
    if len(inputs) != 1:
        raise InputError(
            f"got {len(inputs)} inputs with `fps`; expected one folder or pattern of pictures",
            parameter="fps",
            advice="name the folder, or put the pattern in quotes: 'frames/*.png'",
        )
    (source,) = inputs
    files_of(source)
    if output is not None and not (into or output.is_dir()):
        return source, output
    folder = source if source.is_dir() else source.parent
    folder = folder.resolve() if folder.name in ("", "..") else folder
    if output is not None:
        return source, output / f"{folder.name}.mkv"
    return source, folder.with_name(f"{folder.name}-{word(source)}.mkv")


def _gap(files: Sequence[Path]) -> str | None:
    """Return a sentence about numbers without a picture; None: there are none."""
    # The last numbers of the names count where most of them rise by the same step.
    found = [_NUMBER.findall(os.path.splitext(one.name)[0]) for one in files]  # noqa: PTH122
    numbers = [int(one[-1]) for one in found if one]
    if len(numbers) < len(files) or len(set(numbers)) < len(files):
        return None
    steps = [b - a for a, b in pairwise(numbers)]
    step, often = Counter(steps).most_common(1)[0] if steps else (0, 0)
    missing = sum(one // step - 1 for one in steps) if min(steps, default=0) > 0 else 0
    if not missing or 2 * often <= len(steps):
        return None
    place = next(a for a, b in pairwise(numbers) if b != a + step)
    many = "1 is" if missing == 1 else f"{missing} are"
    return f"no picture follows number {place}, and {many} missing in all: the rest close up"
