"""EXIF and XMP of results: sizes and places follow the pixels, and nothing claims what is gone."""

from __future__ import annotations

import io
import itertools
import re
import struct
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import ExifTags, Image, features
from PIL.TiffImagePlugin import IFDRational

import snellen
from snellen.errors import InputError
from snellen.frames.still_value import Mapping, Origin, oriented, origin_of
from snellen.stills import attached, exif_places, xmp
from snellen.stills.still import read, write, write_pages
from support.cli import run
from support.stills import heic

WIDTH, HEIGHT = 96, 64
SUFFIXES = [".jpg", ".png", ".webp", ".tif", ".avif"]
CHANGES = {40962: 192, 40963: 128, 37396: (48, 32, 20, 16), 41492: (14, 10)}
FACTS = {40962: 96, 40963: 64, 37396: (24, 16, 10, 8), 41492: (7, 5)}
NAMES = {
    "tiff": "http://ns.adobe.com/tiff/1.0/",
    "exif": "http://ns.adobe.com/exif/1.0/",
    "hdrgm": "http://ns.adobe.com/hdr-gain-map/1.0/",
    "AppleMap": "http://ns.apple.com/HDRGainMap/1.0/",
    "GCamera": "http://ns.google.com/photos/1.0/camera/",
    "GDepth": "http://ns.google.com/photos/1.0/depthmap/",
    "GPano": "http://ns.google.com/photos/1.0/panorama/",
    "Container": "http://ns.google.com/photos/1.0/container/",
    "Item": "http://ns.google.com/photos/1.0/container/item/",
    "xmpNote": "http://ns.adobe.com/xmp/note/",
    "MiCamera": "http://ns.xiaomi.com/photos/1.0/camera/",
    "mwg-rs": "http://www.metadataworkinggroup.com/schemas/regions/",
    "stArea": "http://ns.adobe.com/xmp/sType/Area#",
    "stDim": "http://ns.adobe.com/xap/1.0/sType/Dimensions#",
    "MPReg": "http://ns.microsoft.com/photo/1.2/t/Region#",
    "iptcExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
    "dc": "http://purl.org/dc/elements/1.1/",
}
GONE = {
    "hdrgm:Version": "1.0", "AppleMap:HDRGainMapVersion": "131072", "GCamera:MotionPhoto": "1",
    "GCamera:MicroVideoOffset": "4120", "xmpNote:HasExtendedXMP": "0123456789ABCDEF",
    "GDepth:Near": "1.5", "MiCamera:XMPMeta": "offset",
}  # fmt: skip
LISTED = """<Container:Directory><rdf:Seq><rdf:li rdf:parseType="Resource">
 <Container:Item Item:Semantic="Primary" Item:Mime="image/jpeg"/></rdf:li>
<rdf:li rdf:parseType="Resource"><Container:Item Item:Semantic="GainMap" Item:Length="900"/>
</rdf:li></rdf:Seq></Container:Directory>"""


def packet(values, more="", elements=False):
    """An XMP packet with these properties, as attributes or as elements."""
    if elements:
        more += "".join(f"<{name}>{value}</{name}>" for name, value in values.items())
    inside = "" if elements else " ".join(f'{name}="{one}"' for name, one in values.items())
    used = {name: uri for name, uri in NAMES.items() if f"{name}:" in inside + more}
    spaces = " ".join(f'xmlns:{name}="{uri}"' for name, uri in used.items())
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" {spaces}>'
        f'<rdf:Description rdf:about="" {inside}>{more}</rdf:Description></rdf:RDF></x:xmpmeta>'
        f'\n{" " * 200}\n<?xpacket end="w"?>'
    ).encode()


def twice(orientation=1, part=None, factor=2):
    """The mapping to a result of twice the size."""
    size = (HEIGHT, WIDTH) if orientation > 4 else (WIDTH, HEIGHT)
    shown = part or (0, 0, *size)
    return Mapping(Origin(*size, orientation, shown), factor * shown[2], factor * shown[3])


def value(data, name):
    """The value of a property, as an attribute or an element; None: there is none."""
    found = re.search(rf'{name}(?:="|>)([^"<]*)["<]', data.decode())
    return found and found[1].strip()


def photograph(path, packet=None, facts=FACTS, orientation=None):
    """Save a picture with EXIF and XMP."""
    exif = Image.Exif()
    exif[ExifTags.Base.Model] = "Camera"
    exif.get_ifd(ExifTags.IFD.Exif).update({**facts, 37500: b"maker's note"})
    if orientation:
        exif[ExifTags.Base.Orientation] = orientation
    ramp = np.add.outer(np.arange(HEIGHT), np.arange(WIDTH)).astype(np.uint8)
    more = {"xmp": packet} if packet else {}
    Image.fromarray(np.stack([ramp] * 3, -1)).save(path, exif=exif.tobytes(), **more)
    return path


def enlarged(path, target):
    """Read a picture, and write it at twice the size."""
    still = read(path)
    write(target, replace(still, pixels=still.pixels.repeat(2, 0).repeat(2, 1)))
    with Image.open(target) as image:
        image.load()
        return image.getexif(), image.info.get("xmp")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_exif_of_each_format(tmp_path, suffix):
    if suffix == ".avif" and not features.check("avif"):
        pytest.skip("this Pillow has no AVIF")
    exif, _ = enlarged(photograph(tmp_path / f"in{suffix}"), tmp_path / f"out{suffix}")
    details = exif.get_ifd(ExifTags.IFD.Exif)
    assert {tag: details.get(tag) for tag in CHANGES} == CHANGES
    assert (exif[ExifTags.Base.Model], details[37500]) == ("Camera", b"maker's note")


@pytest.mark.parametrize("elements", [False, True])
@pytest.mark.parametrize("suffix", [".jpg", ".webp", ".png", ".tif"])
def test_xmp_of_each_format(tmp_path, suffix, elements):
    sizes = {"tiff:ImageWidth": "96", "exif:PixelYDimension": "64"}
    given = packet(GONE | sizes | {"dc:source": "a, &amp; b"}, LISTED, elements)
    path = photograph(tmp_path / "in.jpg", given)
    write(tmp_path / f"in{suffix}", read(path), overwrite=True)
    still = read(tmp_path / f"in{suffix}")
    write(tmp_path / f"out{suffix}", replace(still, pixels=still.pixels.repeat(2, 0).repeat(2, 1)))
    made = read(tmp_path / f"out{suffix}").xmp
    assert (value(made, "tiff:ImageWidth"), value(made, "exif:PixelYDimension")) == ("192", "128")
    assert value(made, "dc:source") == "a, &amp; b"
    assert not re.search(rb"GainMap|MotionPhoto|MicroVideo|Extended|GDepth:|XMPMeta|Item:", made)


def test_a_packet_that_concerns_no_pixels_stays_to_the_byte():
    given = packet({"dc:source": "x"}, '<dc:title><rdf:Alt><rdf:li xml:lang="x-default">T</rdf:li>'
                                       "</rdf:Alt></dc:title>")  # fmt: skip
    assert xmp.mended(given, twice()) == given
    sized = packet({"tiff:ImageWidth": "96"})
    assert xmp.mended(sized, twice()) != sized
    for wrong in (
        sized[: len(sized) // 2],
        sized.replace(b"xmlns:tiff", b"xmlns:other"),
        b"<!DOCTYPE x>" + sized,
        b"<a xmlns:t='http://ns.adobe.com/tiff/1.0/'>" * 1500,
        b"<a xmlns:t='http://ns.adobe.com/tiff/1.0/'>" * 1500 + b"</a>" * 1500,
    ):
        assert xmp.mended(wrong, twice()) == wrong


@pytest.mark.parametrize("orientation", range(1, 9))
def test_points_of_each_orientation(orientation):
    """They follow the pixels that `oriented` moves."""
    stored = np.arange(12 * 8).reshape(8, 12)
    pixels = oriented(stored, orientation)
    mapping = Mapping(origin_of(pixels, orientation), *pixels.shape[::-1])
    for row, column in itertools.product(range(8), range(12)):
        x, y = mapping.point(column + 0.5, row + 0.5)
        assert pixels[int(y), int(x)] == stored[row, column]
    assert mapping.stored == (12, 8)
    assert mapping.only_scales == (orientation == 1)


@pytest.mark.parametrize("suffix", [".jpg", ".tif", ".png"])
def test_a_turned_photograph(tmp_path, suffix):
    """Places count from the corner of the stored picture, before it is turned (EXIF 3.0)."""
    exif, _ = enlarged(
        photograph(tmp_path / f"in{suffix}", orientation=6), tmp_path / f"out{suffix}"
    )
    details = exif.get_ifd(ExifTags.IFD.Exif)
    assert (details[40962], details[40963]) == (128, 192)
    assert details[37396] == (2 * (64 - 16), 2 * 24, 16, 20)
    assert exif.get(ExifTags.Base.Orientation, 1) == 1


def test_what_lies_outside_of_a_part_is_removed():
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.Exif).update(FACTS)
    made = Image.Exif()
    made.load(exif.tobytes())
    made.load(exif_places.mended(made.tobytes(), twice(part=(20, 10, 40, 30))))
    details = made.get_ifd(ExifTags.IFD.Exif)
    assert details[37396] == (8, 12, 20, 16) and details[40962] == 80
    assert 41492 not in details


def test_a_wrong_place_is_removed():
    for wrong in ((5,), "here", (1, 2, 3, 4, 5), (40_000, 1)):
        exif = Image.Exif()
        exif.get_ifd(ExifTags.IFD.Exif).update({37396: wrong, 40962: 96})
        made = Image.Exif()
        made.load(exif_places.mended(exif.tobytes(), twice()))
        assert dict(made.get_ifd(ExifTags.IFD.Exif)) == {40962: 192}


def test_the_sensor_has_as_many_more_pixels():
    exif = Image.Exif()
    densities = {41486: IFDRational(5728177, 1024), 41487: IFDRational(1000, 3)}
    exif.get_ifd(ExifTags.IFD.Exif).update(densities)
    for orientation in (1, 6):
        made = Image.Exif()
        made.load(exif_places.mended(exif.tobytes(), twice(orientation)))
        details = made.get_ifd(ExifTags.IFD.Exif)
        across, down = (41486, 41487) if orientation == 1 else (41487, 41486)
        assert float(details[across]) == pytest.approx(2 * 5728177 / 1024, rel=1e-6)
        assert float(details[down]) == pytest.approx(2000 / 3, rel=1e-6)
        assert isinstance(details[across], IFDRational)


@pytest.mark.parametrize(("raster", "shift"), [(1, 0.0), (2, 0.5)])
def test_a_map_stays_where_it_is_on_the_ground(raster, shift):
    """By the size of its pixels and a point, and by a matrix (GeoTIFF, OGC 19-008)."""
    mapping = twice(part=(4, 2, 80, 50))
    exif = Image.Exif()
    exif[33550], exif[33922] = (10.0, 5.0, 0.0), (3.0, 4.0, 0.0, 1000.0, 2000.0, 0.0)
    exif[34264] = (10.0, 0.5, 0.0, 970.0, 0.25, -5.0, 0.0, 2020.0, *[0.0] * 4, 0.0, 0.0, 0.0, 1.0)
    exif[34735] = (1, 1, 0, 1, 1025, 0, 1, raster)
    made = Image.Exif()
    made.load(exif_places.mended(exif.tobytes(), mapping))
    assert made[33550] == (5.0, 2.5, 0.0)

    def ground(tags, i, j):
        scale, (at_i, at_j, _, x, y, _) = tags[33550], tags[33922]
        one = (x + (i - at_i) * scale[0], y - (j - at_j) * scale[1])
        rows = [tags[34264][n : n + 4] for n in (0, 4)]
        return one, tuple(row[0] * i + row[1] * j + row[3] for row in rows)

    for i, j in ((4.0, 2.0), (30.0, 20.0)):
        x, y = mapping.point(i + shift, j + shift)
        for before, after in zip(
            ground(exif, i, j), ground(made, x - shift, y - shift), strict=True
        ):
            assert after == pytest.approx(before)  # fmt: skip


def test_one_key_of_a_map_says_nothing():
    exif = Image.Exif()
    exif[33550], exif[34735] = (10.0, 5.0, 0.0), 1
    made = Image.Exif()
    made.load(exif_places.mended(exif.tobytes(), twice()))
    assert made[33550] == (5.0, 2.5, 0.0)


@pytest.mark.parametrize("number", ["1e999", "-inf", "nan", "1e999999999", "1" * 400])
def test_numbers_that_cannot_be_meant_are_removed(number):
    given = packet(
        {"GPano:FullPanoWidthPixels": number, "exif:FocalPlaneXResolution": number,
         "MPReg:Rectangle": f"{number}, 0, 1, 1", "tiff:ImageWidth": "96"},
        f"<exif:SubjectArea><rdf:Seq><rdf:li>{number}</rdf:li><rdf:li>16</rdf:li></rdf:Seq>"
        "</exif:SubjectArea>",
    )  # fmt: skip
    made = xmp.mended(given, twice())
    for name in ("GPano:FullPanoWidthPixels", "exif:FocalPlaneXResolution"):
        assert value(made, name) is None
    assert value(made, "tiff:ImageWidth") == "192"
    assert b"<rdf:li>" not in made


def test_places_of_xmp():
    given = packet(
        {"GPano:FullPanoWidthPixels": "192", "GPano:CroppedAreaImageWidthPixels": "96",
         "GPano:CroppedAreaLeftPixels": "11", "exif:FocalPlaneXResolution": "1000/3"},
        "<exif:SubjectArea><rdf:Seq><rdf:li>24</rdf:li><rdf:li>16</rdf:li><rdf:li>10</rdf:li>"
        "<rdf:li>8</rdf:li></rdf:Seq></exif:SubjectArea>",
    )  # fmt: skip
    made = xmp.mended(given, twice())
    assert re.findall(r"<rdf:li>(\d+)<", made.decode()) == ["48", "32", "20", "16"]
    assert value(made, "GPano:FullPanoWidthPixels") == "384"
    assert value(made, "GPano:CroppedAreaImageWidthPixels") == "192"
    assert value(made, "GPano:CroppedAreaLeftPixels") == "22"
    assert value(made, "exif:FocalPlaneXResolution") == "2000/3"
    assert value(xmp.mended(given, twice(6)), "GPano:FullPanoWidthPixels") is None


REGIONS = """<mwg-rs:Regions rdf:parseType="Resource">
<mwg-rs:AppliedToDimensions stDim:w="96" stDim:h="64" stDim:unit="pixel"/>
<mwg-rs:RegionList><rdf:Bag><rdf:li><rdf:Description mwg-rs:Name="Ann">
<mwg-rs:Area stArea:x="0.25" stArea:y="0.5" stArea:w="0.125" stArea:h="0.25"/>
</rdf:Description></rdf:li></rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions>"""


@pytest.mark.parametrize("elements", [False, True])
def test_faces(elements):
    """Regions are in parts of the stored picture: they turn with it (MWG, 5.9)."""
    regions = REGIONS
    if elements:
        for name in ("AppliedToDimensions", "Area"):
            found = re.search(rf"<mwg-rs:{name} ([^>]*)/>", regions)
            inner = re.sub(r'(\S+)="([^"]*)"', r"<\1>\2</\1>", found[1])
            regions = regions.replace(
                found[0], f'<mwg-rs:{name} rdf:parseType="Resource">{inner}</mwg-rs:{name}>'
            )
    given = packet({"MPReg:Rectangle": "0.25, 0.5, 0.125, 0.25"}, regions)

    def area(data):
        return [float(value(data, f"stArea:{name}")) for name in "xywh"]

    made = xmp.mended(given, twice())
    assert (value(made, "stDim:w"), value(made, "stDim:h")) == ("192", "128")
    assert area(made) == [0.25, 0.5, 0.125, 0.25]
    assert value(made, "MPReg:Rectangle") == "0.25, 0.5, 0.125, 0.25"
    turned = xmp.mended(given, twice(6))  # rows from above become columns from the right
    assert (value(turned, "stDim:w"), value(turned, "stDim:h")) == ("128", "192")
    assert area(turned) == pytest.approx([0.5, 0.25, 0.25, 0.125])
    assert value(turned, "MPReg:Rectangle") == "0.25, 0.25, 0.25, 0.125"
    part = xmp.mended(given, twice(part=(0, 16, 48, 32)))
    assert area(part) == pytest.approx([0.5, 0.5, 0.25, 0.5])
    assert 'Name="Ann"' in part.decode()


def test_regions_of_iptc_in_pixels_and_in_parts():
    def boundary(unit, x, y, w, h, more=""):
        return packet(
            {},
            f"""<iptcExt:ImageRegion><rdf:Bag><rdf:li rdf:parseType="Resource">
<iptcExt:RegionBoundary iptcExt:rbUnit="{unit}" iptcExt:rbX="{x}" iptcExt:rbY="{y}"
 iptcExt:rbW="{w}" iptcExt:rbH="{h}">{more}</iptcExt:RegionBoundary>
</rdf:li></rdf:Bag></iptcExt:ImageRegion>""",
        )

    def found(data):
        return [float(value(data, f"iptcExt:rb{name}")) for name in "XYWH"]

    pixels, parts = boundary("pixel", 24, 16, 12, 8), boundary("relative", 0.25, 0.25, 0.125, 0.125)
    assert found(xmp.mended(pixels, twice())) == [48, 32, 24, 16]
    assert found(xmp.mended(parts, twice())) == [0.25, 0.25, 0.125, 0.125]
    assert found(xmp.mended(pixels, twice(3))) == [192 - 72, 128 - 48, 24, 16]
    assert found(xmp.mended(parts, twice(3))) == pytest.approx([0.625, 0.625, 0.125, 0.125])
    corner = '<rdf:Seq><rdf:li iptcExt:rbX="7" iptcExt:rbY="9"/></rdf:Seq>'
    corner = f"<iptcExt:rbVertices>{corner}</iptcExt:rbVertices>"
    made = xmp.mended(boundary("pixel", 24, 16, 12, 8, corner), twice())
    assert 'rbX="14"' in made.decode() and 'rbY="18"' in made.decode()
    circle = packet({}, '<iptcExt:RegionBoundary iptcExt:rbUnit="pixel" iptcExt:rbX="7" '
                        'iptcExt:rbY="9" iptcExt:rbRx="5"/>')  # fmt: skip
    assert value(xmp.mended(circle, twice()), "iptcExt:rbRx") == "10"


# What is behind the picture, or beside it.


def coded(size=(48, 32), **how):
    buffer = io.BytesIO()
    Image.new("L", size, 90).save(buffer, "JPEG", **how)
    return buffer.getvalue()


MOVIE = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\0\0\x10\0mdat" + bytes(4088)
GAIN = "its gain map, which makes it HDR, is left out"
FILM = "its short film (a motion photo) is left out"
DEPTH = "its depth map is left out"


@pytest.mark.parametrize(
    ("behind", "claims", "said"),
    [
        (coded(), {"hdrgm:Version": "1.0"}, [GAIN]),
        (coded(xmp=packet({"hdrgm:Version": "1.0"})), {}, [GAIN]),
        (coded(xmp=packet({"AppleMap:HDRGainMapVersion": "1"})) + MOVIE, {}, [GAIN, FILM]),
        (MOVIE, {"GCamera:MotionPhoto": "1"}, [FILM]),
        (b"\0\0\x30\x0a\x10\0\0\0MotionPhoto_Data" + bytes(30), {}, [FILM]),
        (coded(), {"GDepth:Near": "1"}, [DEPTH]),
        (coded(), {}, ["another picture behind it is left out"]),
        (b"SEFH" + bytes(96), {}, ["100 bytes behind its picture are left out"]),
        (bytes(1000), {}, []),
        (b"", {"hdrgm:Version": "1.0", "GCamera:MotionPhoto": "1"}, []),
    ],
)
def test_what_is_behind_a_jpeg(tmp_path, behind, claims, said):
    path = photograph(tmp_path / "a.jpg", packet(claims) if claims else None)
    path.write_bytes(path.read_bytes() + behind)
    assert list(read(path).lost) == said


def test_a_jpeg_whose_rest_was_never_written_is_looked_through_once():
    """As of a memory card, whose empty blocks have all bits set."""
    begin = time.process_time()
    assert attached._behind(coded()[:-2] + b"\xff" * 40_000) == b""
    assert attached._behind(coded()[:-2] + b"\xff" * 40_000 + b"\xd9rest") == b"rest"
    assert time.process_time() - begin < 2


def test_pictures_of_the_multi_picture_format(tmp_path):
    """A smaller version of the picture is no loss."""
    one, other = Image.new("RGB", (64, 48), (9, 9, 9)), Image.new("RGB", (32, 24), (9, 9, 9))
    one.save(tmp_path / "a.mpo", save_all=True, append_images=[other])
    assert list(read(tmp_path / "a.mpo").lost) == ["another picture behind it is left out"]
    data = (tmp_path / "a.mpo").read_bytes()
    with Image.open(tmp_path / "a.mpo") as image:
        size = struct.pack("<L", image.mpinfo[0xB002][1]["Size"])
    at = data.index(size, data.index(b"MPF")) - 4
    (tmp_path / "a.mpo").write_bytes(data[:at] + struct.pack("<L", 0x010001) + data[at + 4 :])
    assert list(read(tmp_path / "a.mpo").lost) == []


def test_a_progressive_jpeg_ends_at_its_end(tmp_path):
    """It has several scans, with tables between them."""
    rows = np.random.default_rng(1).integers(0, 256, (48, 64, 3), np.uint8)
    Image.fromarray(rows).save(tmp_path / "a.jpg", progressive=True, quality=95)
    data = (tmp_path / "a.jpg").read_bytes()
    assert list(read(tmp_path / "a.jpg").lost) == []
    (tmp_path / "a.jpg").write_bytes(data + MOVIE)
    assert list(read(tmp_path / "a.jpg").lost) == [FILM]


def box(kind, *parts):
    body = b"".join(parts)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def test_what_is_beside_a_heic(tmp_path):
    pytest.importorskip("pi_heif")
    path = tmp_path / "a.heic"
    plain = heic(np.full((96, 128, 3), 90, np.uint8))
    path.write_bytes(plain)
    assert list(read(path).lost) == []
    path.write_bytes(plain + box(b"mpvd", MOVIE))
    assert list(read(path).lost) == [FILM]
    for mark, said in (
        (b"urn:com.apple.photo:2020:aux:hdrgainmap\0", GAIN),
        (b"urn:mpeg:hevc:2015:auxid:2\0", DEPTH),
        (b"infetmap", GAIN),
    ):
        whole = box(b"ftyp", b"heic", bytes(4)) + box(b"meta", bytes(4), mark)
        assert attached.of_boxes(io.BytesIO(whole)) == [said]
    assert attached.of_boxes(io.BytesIO(box(b"ftyp", b"jxl ") + box(b"jhgm", b"x"))) == [GAIN]


@pytest.fixture
def phone(tmp_path):
    """A photograph with a gain map behind it."""
    path = photograph(tmp_path / "a.jpg", packet({"hdrgm:Version": "1.0", "tiff:ImageWidth": "96"}))
    path.write_bytes(path.read_bytes() + coded())
    return path


def test_upscale_says_it(phone, tmp_path, capsys):
    how = ["--method", "cnn-fast", "--device", "cpu"]
    assert run("upscale", phone, "-o", tmp_path / "b.jpg", *how) == 0
    assert GAIN in capsys.readouterr().err
    assert run("upscale", phone, "-o", tmp_path / "c.jpg", "--strict", *how) == 2
    assert GAIN in capsys.readouterr().err and not (tmp_path / "c.jpg").exists()
    made = read(tmp_path / "b.jpg")
    assert value(made.xmp, "tiff:ImageWidth") == "192" and b"hdrgm" not in made.xmp


def test_deblur_says_it_and_places_count_from_its_region(phone, tmp_path):
    quick = {"psf": np.ones((3, 3)), "iterations": 1, "device": "cpu"}
    with pytest.raises(InputError, match="gain map"):
        snellen.deblur_file(phone, tmp_path / "d.jpg", strict=True, **quick)
    found = snellen.deblur_file(phone, tmp_path / "d.jpg", region="16,8,40,32", **quick)
    assert GAIN in found.warnings
    with Image.open(tmp_path / "d.jpg") as image:
        details = image.getexif().get_ifd(ExifTags.IFD.Exif)
    assert (details[40962], details[40963]) == (40, 32)
    assert details[37396] == (8, 8, 10, 8) and 41492 not in details
    snellen.deblur_file(phone, tmp_path / "e.jpg", region="16,8,40,32", paste_back=True, **quick)
    with Image.open(tmp_path / "e.jpg") as image:
        assert image.getexif().get_ifd(ExifTags.IFD.Exif)[37396] == (24, 16, 10, 8)


def test_each_page_of_a_tiff_has_its_size(tmp_path):
    stills = [read(photograph(tmp_path / "in.tif"))] * 2
    made = [replace(one, pixels=one.pixels.repeat(2, 0).repeat(2, 1)) for one in stills]
    write_pages(tmp_path / "out.tif", made, 2)
    with Image.open(tmp_path / "out.tif") as image:
        for number in range(2):
            image.seek(number)
            assert image.getexif().get_ifd(ExifTags.IFD.Exif)[40962] == 192
