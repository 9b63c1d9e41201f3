"""XMP of results: it claims nothing that is gone; sizes and places follow the pixels.

Names and namespaces are those of XMP Specification, parts 1 and 2, the Metadata Working Group's
regions, IPTC Photo Metadata, and Google's, Adobe's and Apple's pages on photo spheres, motion
photos, depth and gain maps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from snellen.frames.still_value import Mapping

if TYPE_CHECKING:
    from xml.dom.minidom import Element

_GONE = (
    "http://ns.adobe.com/hdr-gain-map/", "http://ns.apple.com/HDRGainMap/",
    "http://ns.apple.com/pixeldatainfo/", "http://ns.google.com/photos/1.0/container/",
    "http://ns.google.com/photos/dd/1.0/", "http://ns.xiaomi.com/photos/1.0/camera/",
    "http://ns.oplus.com/photos/1.0/camera/",
)  # fmt: skip
"""How namespaces begin of what tells of gain maps, films, depth and other parts of a file."""
_FILMS = "http://ns.google.com/photos/1.0/camera/", ("MotionPhoto", "MicroVideo")
"""The namespace of cameras' tags, and how those begin that tell of a film."""
_NOTE, _EXTENDED = "http://ns.adobe.com/xmp/note/", "HasExtendedXMP"
_IN_THE_SECOND_PART = tuple(
    f"http://ns.google.com/photos/1.0/{name}/" for name in ("depthmap", "image", "audio")
)
_TIFF, _EXIF = "http://ns.adobe.com/tiff/1.0/", "http://ns.adobe.com/exif/1.0/"
_PANORAMA = "http://ns.google.com/photos/1.0/panorama/"
_REGIONS = "http://www.metadataworkinggroup.com/schemas/regions/"
_REGION_AREA = "http://ns.adobe.com/xmp/sType/Area#"
_SIZE = "http://ns.adobe.com/xap/1.0/sType/Dimensions#"
_PERSON = "http://ns.microsoft.com/photo/1.2/t/Region#"
_IPTC = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
_RDF, _XMLNS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/xmlns/"
_CONCERNED = re.compile(
    b"|".join(
        re.escape(one.encode())
        for one in (*_GONE, *_FILMS[:1], _NOTE, _TIFF, _EXIF, _PANORAMA, _REGIONS, _PERSON, _IPTC)
    )
)
_LONGEST = 1 << 21
"""Bytes of a packet that is looked at."""
_GREATEST = 1e12
"""A limit for numbers of a packet: greater ones, infinity and NaN are none."""

_Change = Callable[[str, Mapping], "str | None"]


def mended(packet: bytes, mapping: Mapping) -> bytes:
    """Return an XMP packet that speaks of the result; what cannot be mended is removed.

    One that is no XML stays as it is.
    """
    if not _CONCERNED.search(packet) or b"<!DOCTYPE" in packet or len(packet) > _LONGEST:
        return packet
    from xml.dom.minidom import parseString
    from xml.parsers.expat import ExpatError

    try:
        document = parseString(packet.strip(b"\0 \t\r\n"))
        before = _text(document)
        _mend(document, mapping)
        after = _text(document)
    except (ExpatError, RecursionError, UnicodeError, ValueError):
        return packet
    return packet if after == before else after.encode()


def _text(document: Any) -> str:
    """Return a packet without the declaration that Python writes before it."""
    return "\n".join(node.toxml() for node in document.childNodes)


def _mend(document: Any, mapping: Mapping) -> None:
    elements = document.getElementsByTagName("*")
    beside = any(_named(node, _NOTE, _EXTENDED) for one in elements for node in (one, *_of(one)))
    for one in elements:
        for node in _of(one):
            declares = node.namespaceURI == _XMLNS and node.value.startswith(_GONE)
            if declares or _is_gone(node, beside):
                one.removeAttributeNode(node)
        kept = [
            child
            for child in one.childNodes
            if child.nodeType != child.ELEMENT_NODE or not _is_gone(child, beside)
        ]
        if len(kept) < len(one.childNodes):
            one.childNodes[:] = kept  # one by one would take long of very many
    for one in document.getElementsByTagName("*"):
        for node in (one, *_of(one)):
            change = _VALUES.get((node.namespaceURI, node.localName))
            if change is not None:
                _set(node, change(_value(node), mapping))
        if one.namespaceURI == _EXIF and one.localName in ("SubjectArea", "SubjectLocation"):
            _subject(one, mapping)
        elif _named(one, _REGIONS, "AppliedToDimensions"):
            _applied(one, mapping)
        elif not mapping.only_scales and _named(one, _REGIONS, "Area"):
            _area(one, mapping)
        elif _named(one, _IPTC, "RegionBoundary"):
            _boundary(one, mapping)


# Nodes: attributes and elements alike hold values.


def _of(one: Element) -> list[Any]:
    """Return the attributes of an element."""
    return list(one.attributes.values())


def _named(node: Any, namespace: str, name: str) -> bool:
    return bool(node.namespaceURI == namespace and node.localName == name)


def _is_gone(node: Any, beside: bool) -> bool:
    """Return whether a property tells of what a result has not; `beside`: of a second packet."""
    namespace, name = node.namespaceURI or "", node.localName or ""
    if namespace.startswith(_GONE) or (beside and namespace in _IN_THE_SECOND_PART):
        return True
    return (namespace == _FILMS[0] and name.startswith(_FILMS[1])) or (
        namespace == _NOTE and name == _EXTENDED
    )


def _value(node: Any) -> str:
    if node.nodeType == node.ATTRIBUTE_NODE:
        return str(node.value).strip()
    return "".join(one.data for one in node.childNodes if one.nodeType == one.TEXT_NODE).strip()


def _set(node: Any, value: str | None) -> None:
    """Set a value, or remove the property (None)."""
    attribute = node.nodeType == node.ATTRIBUTE_NODE
    if value is None:
        if attribute:
            node.ownerElement.removeAttributeNode(node)
        elif node.parentNode is not None:
            node.parentNode.removeChild(node)
    elif attribute:
        node.value = value
    elif value != _value(node):
        for one in list(node.childNodes):
            node.removeChild(one)
        node.appendChild(node.ownerDocument.createTextNode(value))


def _fields(one: Element, namespace: str) -> dict[str, Any]:
    """Return the fields of a structure by name, whether attributes or elements."""
    inner = [node for node in one.childNodes if node.nodeType == node.ELEMENT_NODE]
    inner += [node for child in inner if _named(child, _RDF, "Description")
              for node in (*_of(child), *child.childNodes)]  # fmt: skip
    return {
        node.localName: node
        for node in (*_of(one), *inner)
        if getattr(node, "namespaceURI", None) == namespace
    }


def _number(text: str) -> float:
    """Return a number (ValueError: it is none that can be meant)."""
    value = float(text)
    if not abs(value) < _GREATEST:
        raise ValueError(f"{text} is too large")
    return value


def _numbers(fields: dict[str, Any], *names: str) -> list[float] | None:
    try:
        return [_number(_value(fields[name])) for name in names]
    except (KeyError, ValueError):
        return None


def _put(fields: dict[str, Any], names: tuple[str, ...], values: tuple[float, ...]) -> None:
    for name, value in zip(names, values, strict=True):
        _set(fields[name], f"{value:.10g}")


# Values: of each a function of the text and the mapping; None: it is removed.


def _times(text: str, axis: int, mapping: Mapping) -> str | None:
    if mapping.transposes:
        return None
    above, _, below = text.partition("/")
    try:
        value = _number(f"{_number(above) / _number(below or '1') * mapping.factors[axis]}")
    except (ValueError, ZeroDivisionError):
        return None
    return "{}/{}".format(*Fraction(value).limit_denominator(10_000).as_integer_ratio())


def _scaled(axis: int, offset: bool = False) -> _Change:
    """Return what scales pixels of a panorama; `offset`: places, which move with a part."""

    def change(text: str, mapping: Mapping) -> str | None:
        if mapping.origin.orientation != 1:
            return None
        try:
            value = _number(text) + (mapping.origin.part[axis] if offset else 0)
        except ValueError:
            return None
        return f"{round(value * mapping.factors[axis])}"

    return change


def _person(text: str, mapping: Mapping) -> str | None:
    """Return a rectangle "x, y, width, height" in parts of the picture."""
    try:
        x, y, width, height = (_number(one) for one in text.split(","))
    except ValueError:
        return text
    if mapping.only_scales:
        return text
    return ", ".join(f"{one:.6g}" for one in _rectangle(x, y, width, height, mapping))


_VALUES: dict[tuple[str, str], _Change] = {
    (_TIFF, "ImageWidth"): lambda text, mapping: str(mapping.width),
    (_TIFF, "ImageLength"): lambda text, mapping: str(mapping.height),
    (_EXIF, "PixelXDimension"): lambda text, mapping: str(mapping.width),
    (_EXIF, "PixelYDimension"): lambda text, mapping: str(mapping.height),
    (_EXIF, "FocalPlaneXResolution"): lambda text, mapping: _times(text, 0, mapping),
    (_EXIF, "FocalPlaneYResolution"): lambda text, mapping: _times(text, 1, mapping),
    (_PANORAMA, "FullPanoWidthPixels"): _scaled(0),
    (_PANORAMA, "FullPanoHeightPixels"): _scaled(1),
    (_PANORAMA, "CroppedAreaImageWidthPixels"): lambda text, mapping: str(mapping.width),
    (_PANORAMA, "CroppedAreaImageHeightPixels"): lambda text, mapping: str(mapping.height),
    (_PANORAMA, "CroppedAreaLeftPixels"): _scaled(0, offset=True),
    (_PANORAMA, "CroppedAreaTopPixels"): _scaled(1, offset=True),
    (_PANORAMA, "LargestValidInteriorRectLeft"): _scaled(0),
    (_PANORAMA, "LargestValidInteriorRectTop"): _scaled(1),
    (_PANORAMA, "LargestValidInteriorRectWidth"): _scaled(0),
    (_PANORAMA, "LargestValidInteriorRectHeight"): _scaled(1),
    (_PERSON, "Rectangle"): _person,
}


# Structures.


def _subject(one: Element, mapping: Mapping) -> None:
    """Mend a point, a circle or a rectangle around a point, in pixels."""
    items = one.getElementsByTagNameNS(_RDF, "li")
    try:
        x, y, *size = (_number(_value(item)) for item in items)
        found = *mapping.point(x, y), *mapping.extent(size)
    except ValueError:
        _set(one, None)
        return
    for item, value in zip(items, found, strict=True):
        _set(item, str(round(value)))


def _applied(one: Element, mapping: Mapping) -> None:
    """State the size to which regions apply."""
    fields = _fields(one, _SIZE)
    if _numbers(fields, "w", "h") is not None:
        _put(fields, ("w", "h"), (mapping.width, mapping.height))


def _relative(x: float, y: float, mapping: Mapping) -> tuple[float, float]:
    """Return a point in parts of the result, of one in parts of the stored picture."""
    width, height = mapping.stored
    x, y = mapping.point(x * width, y * height)
    return x / mapping.width, y / mapping.height


def _rectangle(
    x: float, y: float, width: float, height: float, mapping: Mapping
) -> tuple[float, float, float, float]:
    """Return a rectangle in parts of the picture, by its upper left corner."""
    corners = _relative(x, y, mapping), _relative(x + width, y + height, mapping)
    (left, right), (top, bottom) = (sorted(axis) for axis in zip(*corners, strict=True))
    return left, top, right - left, bottom - top


def _area(one: Element, mapping: Mapping) -> None:
    """Mend a region around a point, in parts of the picture."""
    fields = _fields(one, _REGION_AREA)
    centre, size = _numbers(fields, "x", "y"), _numbers(fields, "w", "h")
    if centre is None:
        return
    _put(fields, ("x", "y"), _relative(centre[0], centre[1], mapping))
    width, height = mapping.stored
    if size is not None:
        across, down = mapping.span(size[0] * width, size[1] * height)
        _put(fields, ("w", "h"), (across / mapping.width, down / mapping.height))
    elif (diameter := _numbers(fields, "d")) is not None:
        shown = mapping.length(diameter[0] * min(width, height))
        _put(fields, ("d",), (shown / min(mapping.width, mapping.height),))


def _boundary(one: Element, mapping: Mapping) -> None:
    """Mend a rectangle, a circle or the vertices of IPTC's regions, in pixels or in parts."""
    unit = _fields(one, _IPTC).get("rbUnit")
    in_pixels = unit is not None and _value(unit) == "pixel"
    if mapping.only_scales and not in_pixels:
        return
    width, height = mapping.stored if in_pixels else (1, 1)
    out = (mapping.width, mapping.height) if in_pixels else (1, 1)
    for part in (one, *one.getElementsByTagNameNS(_RDF, "li")):
        fields = _fields(part, _IPTC)
        point = _numbers(fields, "rbX", "rbY")
        if point is None:
            continue
        x, y = point[0] / width, point[1] / height
        size, radius = _numbers(fields, "rbW", "rbH"), _numbers(fields, "rbRx")
        if size is not None:
            found = _rectangle(x, y, size[0] / width, size[1] / height, mapping)
            _put(fields, ("rbX", "rbY", "rbW", "rbH"),
                 tuple(value * out[n % 2] for n, value in enumerate(found)))  # fmt: skip
            continue
        _put(fields, ("rbX", "rbY"),
             tuple(value * out[n] for n, value in enumerate(_relative(x, y, mapping))))  # fmt: skip
        if radius is not None:  # in parts of the width
            shown = mapping.length(radius[0] / width * mapping.stored[0]) / mapping.width
            _put(fields, ("rbRx",), (shown * out[0],))
