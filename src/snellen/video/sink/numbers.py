"""Numbers among an encoder's settings: it gets exactly what was asked for, or they are refused.

FFmpeg rounds a fraction where an encoder has whole numbers, and takes some values for "not given".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import floor

import av

from snellen.errors import InputError
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.registry import SVT_AV1, traits

_AV1_PRESETS = range(-1, 14)
"""SVT-AV1's presets; -2 means that none is given."""
_FASTEST = 11
"""The fastest of them: 12 and 13 are taken for it."""
SOUND = 16
"""Its least quality number: with up to 10, streams were seen that no decoder reads (SVT-AV1 of
PyAV 18.1 and 19.0)."""
_WHOLE = frozenset(("INT", "INT64", "UINT", "UINT64"))
"""FFmpeg's types of options that are whole numbers."""

_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,9})?", re.ASCII)


@lru_cache(maxsize=16)
def option_types(codec: str) -> Mapping[str, str]:
    """Return the types of an encoder's own options and of those of every encoder, by name."""
    known = av.CodecContext.create(codec, "w").supported_options
    found = {}
    for option in (*known.generic, *known.private):
        found[option.name] = getattr(option.type, "name", "")  # of some types only a number
    return found


def quality(codec: str, crf: float, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options by which an encoder gets a constant quality that `check` lets through."""
    known = traits(codec)
    if codec == SVT_AV1 and (crf == 0 or crf % 1):
        return {known.parameters[0]: f"crf={written(crf)}"}  # its option takes 1, 2, 3 …
    if known.constant and not (known.crf_limits and "b" in options):
        return {key: value.format(written(crf)) for key, value in known.constant.items()}
    return {known.quality: written(crf)}


def notes(encoder: Encoder, encoding: Encoding) -> tuple[str, ...]:
    """Return what is to be said of numbers that mean more, or less, than they seem to."""
    if encoder.codec != SVT_AV1:
        return ()
    said = []
    limited = encoding.max_bitrate is not None or "maxrate" in encoding.options
    if encoding.crf == 0 and not limited:
        said.append(f"`crf`=0: {SVT_AV1} encodes without any loss")
    preset = _number(encoder.options.get("preset"))
    if preset is not None and preset > _FASTEST:
        said.append(f"`preset`={preset:g}: {SVT_AV1} takes it for {_FASTEST}, its fastest")
    return tuple(said)


def fastest(codec: str, preset: str | None) -> bool:
    """Return whether this is SVT-AV1's fastest preset, whose best quality is `SOUND`."""
    found = _number(preset)
    return codec == SVT_AV1 and found is not None and found >= _FASTEST


def written(number: float) -> str:
    """Return a number as text, with all of its digits."""
    return str(int(number)) if number == int(number) else repr(float(number))


def added(options: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return options and others; parameters of both are joined, and of two values the later counts.

    Parameters are key=value:key=value, in an option whose name ends in "-params".
    """
    found = dict(options)
    for key, value in more.items():
        joined = key in found and key.endswith("-params")
        found[key] = f"{found[key]}:{value}" if joined else value
    return found


def check(
    codec: str, crf: float | None, preset: str | None, options: Mapping[str, str], bits: int
) -> None:
    """Refuse (InputError) numbers that the encoder would round, replace or ignore.

    `options` are further ones of the user; the encoder takes samples of so many `bits`.
    """
    types, known = option_types(codec), traits(codec)
    if known.crf_limits and "crf" in options and "b" not in options:
        raise InputError(
            f"got crf={options['crf']}, which {codec} ignores without b, a bit rate",
            parameter="encoder_options",
            advice="give `crf`, which is by itself a constant quality",
        )
    chosen = crf if crf is not None else _number(options.get("crf"))
    speed = options.get("preset", preset)
    if fastest(codec, speed) and chosen is not None and chosen < SOUND:
        raise InputError(
            f"got `crf`={written(chosen)} with `preset`={speed}, of which {codec} makes films that "
            f"cannot be decoded; expected {SOUND} to 63",
            parameter="crf",
            advice=f"give `preset`={_FASTEST - 1}",
        )
    if crf is not None:
        step = known.step or (1.0 if types.get(known.quality) in _WHOLE else None)
        _check_quality(codec, crf, step, bits, "crf", "`crf`")
    for key, value in {"preset": preset, **options}.items():
        found = _number(value)
        if key == "preset" and codec == SVT_AV1 and value is not None:
            _check_av1_preset(value, "preset" if key not in options else "encoder_options")
        if found is None or types.get(key) is None:
            continue
        if types[key] in _WHOLE and found != int(found):
            quarters = (codec, key) == (SVT_AV1, "crf")
            raise InputError(
                f"got {key}={value}; {codec} expects a whole number there",
                parameter="encoder_options",
                advice="give `crf`, which takes quarters" if quarters else None,
            )
        if codec == SVT_AV1 and key in ("crf", "qp") and found == 0:
            raise InputError(
                f"got {key}=0, which {codec} takes for 35; expected 1 to 63",
                parameter="encoder_options",
                advice="give `crf`=0 for no loss at all",
            )
        if key == known.quality:
            _check_quality(codec, found, known.step, bits, "encoder_options", key)


def _check_quality(
    codec: str, crf: float, step: float | None, bits: int, parameter: str, name: str
) -> None:
    known = traits(codec)
    most = None if known.on_cpu else known.worst  # `hardware.check` says more of its own
    if most is not None and crf > most:
        raise InputError(f"got {name}={crf:g}; {codec} expects 0 to {most}", parameter=parameter)
    if bits == 8 and 0 < crf < known.lossless_below:
        raise InputError(
            f"got {name}={crf:g}; {codec} takes less than 1 for 0 at 8 bit, which is without loss",
            parameter=parameter,
            advice="give 0, or 1 and more",
        )
    if step is None or abs(crf / step - round(crf / step)) < 1e-9:
        return
    low = floor(crf / step) * step
    unit = {1.0: "whole numbers", 0.25: "quarters", 0.01: "hundredths"}[step]
    raise InputError(
        f"got {name}={written(crf)}; {codec} has {unit}: expected {low:.6g} or {low + step:.6g}",
        parameter=parameter,
    )


def _check_av1_preset(value: str, parameter: str) -> None:
    found = _number(value)
    if found not in _AV1_PRESETS:
        raise InputError(
            f"got `preset`={value}; {SVT_AV1} expects a whole number from {_AV1_PRESETS[0]} "
            f"(slowest) to {_AV1_PRESETS[-1]} (fastest)",
            parameter=parameter,
        )


def _number(text: str | None) -> float | None:
    """Return the number that a text is; None: it is none."""
    return float(text) if text is not None and _NUMBER.fullmatch(text) else None
