"""Goals of an encoder: a target of quality, a limit of the bit rate.

Which encoders take them, and by which options.
"""

from __future__ import annotations

import re
from dataclasses import replace

from snellen.errors import InputError
from snellen.video.sink import numbers
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.registry import names, traits

RATES = frozenset(("b", "crf", "qp", "cqp", "cq", "rc", "global_quality", "qscale", "lossless"))
"""Options that control quality or size: our default quality, or a target, would conflict."""
_RATES = RATES | {"bitrate", "pass"}
"""These, and parameters in them."""
_PARAMETER = re.compile(r"(?:^|:)([a-z0-9_-]+)(?==|:|$)")
_SAME = {
    "crf": ("crf", "qp", "bitrate", "tbr"),
    "preset": ("preset",),
    "max_bitrate": ("bitrate", "tbr", "mbr", "vbv-maxrate", "vbv-bufsize"),
}
"""Settings, and the encoders' own parameters that set the same."""


def check(codec: str, encoding: Encoding) -> None:
    """Refuse (InputError) a target or a limit that an encoder cannot have with these options."""
    for name, parameters in _SAME.items():
        if getattr(encoding, name) is not None:
            _check_once(codec, encoding, name, parameters)
    target = encoding.target
    if target is not None:
        if traits(codec).search is None:
            raise InputError(
                f"got `{target.parameter}` with {codec}, which has no constant quality that could "
                f"be searched for; expected one of {_searched()}",
                parameter=target.parameter,
                advice=f"choose another `codec`, or leave `{target.parameter}` out",
            )
        for key, value in encoding.options.items():
            inner = _inner(value) if key in traits(codec).parameters else []
            found = [name for name in (key, *inner) if name in _RATES]
            found += [key] if (key, value) == ("tune", "lossless") else []
            if found:
                raise _both(
                    target.parameter,
                    f"with the encoder's option {found[0]}, which decides on the quality, too",
                )
    if encoding.max_bitrate is None:
        return
    if traits(codec).search is None:
        raise InputError(
            f"got `max_bitrate` with {codec}, of which no limit is known; expected one of "
            f"{_searched()}",
            parameter="max_bitrate",
            advice="choose another `codec`, or leave `max_bitrate` out",
        )
    for key in encoding.options:
        if key in ("maxrate", "b", "qp", "lossless"):
            raise _both("max_bitrate", f"with the encoder's option {key}")


def _both(name: str, other: str) -> InputError:
    return InputError(f"got `{name}` {other}", parameter=name, advice="leave one of them out")


def _inner(parameters: str) -> list[str]:
    """Return the names in key=value:key=value."""
    return [name.replace("_", "-") for name in _PARAMETER.findall(parameters)]


def _check_once(codec: str, encoding: Encoding, name: str, parameters: tuple[str, ...]) -> None:
    """Refuse (InputError) an encoder's own parameter that sets what a setting does."""
    for key in traits(codec).parameters:
        both = [one for one in _inner(encoding.options.get(key, "")) if one in parameters]
        if both:
            raise _both(name, f"and {both[0]} in the encoder's option {key}, which replaces it")


def _searched() -> str:
    return ", ".join(names(lambda one: one.search))


def check_output(encoding: Encoding, suffix: str) -> None:
    """Refuse (InputError) a target or a limit for an output that is no film."""
    target = encoding.target
    given = "max_bitrate" if target is None else target.parameter
    if target is None and encoding.max_bitrate is None:
        return
    raise InputError(
        f"got `{given}`, but {suffix} has no encoder whose quality could be chosen",
        parameter=given,
        advice=f"leave `{given}` out, or name an output such as film.mkv or film.mp4",
    )


def limited(codec: str, rate: int | str | None) -> dict[str, str]:
    """Return the options that limit the bit rate; none without a limit.

    The buffer holds a second: in each second there are at most about `rate` bits more than a full
    one. VP9 has no such limit: there it is the mean.
    """
    if rate is None:
        return {}
    if traits(codec).on_average:
        return {"b": str(rate)}
    return {"maxrate": str(rate), "bufsize": str(rate)}


def unlimited(encoder: Encoder, rate: int | str | None) -> Encoder:
    """Return an encoder without the options of `limited`."""
    own = limited(encoder.codec, rate)
    left = {key: value for key, value in encoder.options.items() if key not in own}
    return replace(encoder, options=left)


def tried(encoder: Encoder, encoding: Encoding | None) -> tuple[Encoder, str | None]:
    """Return an encoder to try before a target is searched for, and what to say of that.

    None: there is no target, and it is the encoder itself.
    """
    target = None if encoding is None else encoding.target
    if target is None:
        return encoder, None
    quality = qualities(encoder)[3]
    text = (
        f"{target.name} {target.value:g} ({target.pool}): probes choose the quality before work "
        f"starts; all here is by {quality:g}, where they begin"
    )
    return aimed(encoder, quality), text


def qualities(encoder: Encoder) -> tuple[float, float, float, float]:
    """Return `Traits.search` of an encoder that has one, with its options."""
    assert encoder.traits.search is not None
    best, worst, step, start = encoder.traits.search
    if numbers.fastest(encoder.codec, encoder.options.get("preset")):
        best = numbers.SOUND
    return best, worst, step, start


def aimed(encoder: Encoder, quality: float) -> Encoder:
    """Return an encoder with a constant quality."""
    own = numbers.quality(encoder.codec, quality, encoder.options)
    return replace(encoder, options=numbers.added(encoder.options, own))
