"""Tags and chapters of the output: of the container, and of each stream."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from snellen.video.media import MediaInfo

_TECHNICAL = {
    *("major_brand", "minor_version", "compatible_brands", "encoder", "duration"),
    *("handler_name", "vendor_id", "rotate", "alpha_mode"),
    *("bps", "number_of_frames", "number_of_bytes", "source_id"),
}
"""Tags that describe the input's file or coding, not its contents."""

_UNCHECKED = {"language", "creation_time", "filename", "mimetype"}
"""Tags of a stream whose loss is reported elsewhere, or for the container."""

UNMOVED = "it cannot be moved to the clip's start"
"""The warning about a time code that is left out."""

_LANGUAGE_SUFFIX = re.compile(r"-[a-z]{3}$")
"""FFmpeg appends this to Matroska's tags with a language: BPS-eng."""

_CODE = re.compile(r"(\d\d):(\d\d):(\d\d)([:;.])(\d\d)")
_SLACK = Fraction(1, 5)
"""Share of a frame by which rounded times (Matroska's 1 ms) may be off; times of a variable rate
are off by more."""

_TWO = (
    "aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak "
    "be:bel bg:bul bh:bih bi:bis bm:bam bn:ben bo:tib br:bre bs:bos ca:cat ce:che ch:cha co:cos "
    "cr:cre cs:cze cu:chu cv:chv cy:wel da:dan de:ger dv:div dz:dzo ee:ewe el:gre en:eng eo:epo "
    "es:spa et:est eu:baq fa:per ff:ful fi:fin fj:fij fo:fao fr:fre fy:fry ga:gle gd:gla gl:glg "
    "gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun hy:arm hz:her ia:ina "
    "id:ind ie:ile ig:ibo ii:iii ik:ipk io:ido is:ice it:ita iu:iku ja:jpn jv:jav ka:geo kg:kon "
    "ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir "
    "la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mao mk:mac "
    "ml:mal mn:mon mr:mar ms:may mt:mlt my:bur na:nau nb:nob nd:nde ne:nep ng:ndo nl:dut nn:nno "
    "no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus "
    "pt:por qu:que rm:roh rn:run ro:rum ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag si:sin "
    "sk:slo sl:slv sm:smo sn:sna so:som sq:alb sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam "
    "te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso tt:tat tw:twi ty:tah "
    "ug:uig uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha "
    "zh:chi zu:zul"
)
_TERMS = (
    "bod:tib ces:cze cym:wel deu:ger ell:gre eus:baq fas:per fra:fre hye:arm isl:ice kat:geo "
    "mkd:mac mri:mao msa:may mya:bur nld:dut ron:rum slk:slo sqi:alb zho:chi"
)
"""Terminological codes that differ from the bibliographic ones; FFmpeg's mov knows the latter."""

_SHORT = dict(pair.split(":") for pair in _TWO.split())
_OTHER = dict(pair.split(":") for pair in _TERMS.split())


def lasting(tags: Mapping[str, str]) -> dict[str, str]:
    """Return the tags that stay true when the pictures are replaced."""
    return {key: value for key, value in tags.items() if not _is_technical(key)}


def _is_technical(key: str) -> bool:
    bare = _LANGUAGE_SUFFIX.sub("", key).lower()
    return bare in _TECHNICAL or key.upper().startswith("_STATISTICS")


def container_tags(info: MediaInfo) -> dict[str, str]:
    """Return the tags of the output's container."""
    return _with_time_code(lasting(info.tags), info)


def video_tags(info: MediaInfo, muxer: str) -> dict[str, str]:
    """Return the tags of the output's video stream."""
    return _renamed(_with_time_code(lasting(info.video.tags), info), muxer)


def copied_tags(tags: Mapping[str, str], info: MediaInfo, muxer: str) -> dict[str, str]:
    """Return the tags of a stream that is copied; technical ones stay true of the whole stream."""
    kept = lasting(tags)
    if muxer == "matroska" and not info.clip.is_part:
        kept = {k: v for k, v in tags.items() if k.lower() not in ("handler_name", "vendor_id")}
    elif muxer in ("mp4", "mov") and "handler_name" in tags:
        kept["handler_name"] = tags["handler_name"]
    return _renamed(_with_time_code(kept, info), muxer)


def _renamed(tags: dict[str, str], muxer: str) -> dict[str, str]:
    """Use the muxer's keys and values: FFmpeg reads mp4's title as `name` but writes `title`."""
    out = dict(tags)
    for key in [key for key in out if key.lower() == "name"]:
        if not any(other.lower() == "title" for other in out):
            out["title"] = out.pop(key)
    if "language" in out:
        out["language"] = language_code(out["language"], muxer)
    return out


def _with_time_code(tags: dict[str, str], info: MediaInfo) -> dict[str, str]:
    """Let the time code begin where the clip does; leave it out where that is unknown."""
    cut = info.zero - max(info.start, Fraction(0))
    out = {}
    for key, value in tags.items():
        if key.lower() == "timecode" and info.clip.start is not None and cut > 0:
            moved = advanced(value, cut, info.rate)
            if moved is None:
                continue
            value = moved
        out[key] = value
    return out


def lost_time_code(info: MediaInfo) -> tuple[str, ...]:
    """Return a sentence for each time code that cannot be moved to the clip's start."""
    tags = {**info.tags, **info.video.tags}
    codes = {key: value for key, value in tags.items() if key.lower() == "timecode"}
    lost = codes.keys() - _with_time_code(codes, info).keys()
    return tuple(f"time code {codes[k]}: {UNMOVED}" for k in lost)


def missing(expected: Mapping[str, str], got: Mapping[str, str]) -> list[str]:
    """Return the tags of a stream that did not come back; technical ones do not count."""
    there = {key.lower() for key in got}
    if "name" in there:
        there.add("title")
    lost = [
        key
        for key, value in expected.items()
        if value and not _is_technical(key) and key.lower() not in there | _UNCHECKED
    ]
    language = expected.get("language", "und")
    if language not in ("", "und") and got.get("language", "und") == "und":
        lost.append(f"language {language}")
    return lost


def chapters(info: MediaInfo, until: Fraction | None) -> list[Any]:
    """Return the chapters between the clip's start and `until`, as PyAV takes them.

    `until` is in seconds of the container's clock; the chapters' times count from the clip's start.
    """
    found = []
    tick = Fraction(1, 1_000_000)
    for chapter in info.chapters:
        end = chapter.end - info.zero
        if until is not None:
            end = min(end, until - info.zero)
        start = max(chapter.start - info.zero, Fraction(0))
        if end > start:
            found.append(
                {
                    "id": chapter.id,
                    "start": round(start / tick),
                    "end": round(end / tick),
                    "time_base": tick,
                    "metadata": dict(chapter.tags),
                }
            )
    return found


def advanced(code: str, cut: Fraction, rate: Fraction) -> str | None:
    """Return the time code `cut` seconds later, at `rate` frames a second; None: unknown."""
    found = _CODE.fullmatch(code.strip())
    frames, nominal = cut * rate, round(rate)
    # A rate that is neither whole nor 1000/1001 of it is an average.
    steady = abs(nominal - rate) <= Fraction(nominal, 1000)
    if found is None or nominal < 1 or not steady or abs(frames - round(frames)) > _SLACK:
        return None
    hours, minutes, seconds, number = (int(found[i]) for i in (1, 2, 3, 5))
    # Drop frame: of each minute but every tenth, the first 2 numbers (of 30) are left out.
    left_out = nominal // 15 if found[4] != ":" and nominal % 30 == 0 else 0
    past = hours * 60 + minutes
    total = (past * 60 + seconds) * nominal + number - left_out * (past - past // 10)
    ten = 600 * nominal - 9 * left_out
    total = (total + round(frames)) % (144 * ten)
    tens, rest = divmod(total, ten)
    total += left_out * (9 * tens + max(0, (rest - left_out) // (60 * nominal - left_out)))
    seconds, number = divmod(total, nominal)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{found[4]}{number:02}"


def language_code(language: str, muxer: str) -> str:
    """Return the language code that `muxer` writes: 'pt-BR' is 'por' in mp4."""
    if muxer not in ("mp4", "mov"):
        return language
    main = language.replace("_", "-").partition("-")[0].lower()
    main = _SHORT.get(main, main)
    return _OTHER.get(main, main) if muxer == "mov" else main
