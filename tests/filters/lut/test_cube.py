"""Files of colour tables: what they may say, and what is refused before memory is taken."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.filters.lut.cube import load
from support.lut import identity, text


@pytest.fixture
def read(tmp_path):
    def read(contents):
        path = tmp_path / "look.cube"
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return load(path)

    return read


def test_a_table_of_colours(read, random):
    table = random.random((4, 4, 4, 3)).astype(np.float32)
    cube = read(text(table, 'TITLE "LUT_3D_SIZE 9"', "DOMAIN_MIN -1 0 0.5", "DOMAIN_MAX 1 2 3"))
    np.testing.assert_array_equal(cube.table, table)
    assert (cube.dimensions, cube.size) == (3, 4)
    assert (cube.low, cube.high) == ((-1, 0, 0.5), (1, 2, 3))


def test_a_table_of_shades_by_resolve(read):
    cube = read("LUT_1D_SIZE 3\nLUT_1D_INPUT_RANGE -0.5 2\n0 0 0\n.5 5e-1 0.5\n1 1 1")
    np.testing.assert_array_equal(cube.table, np.outer([0, 0.5, 1], [1, 1, 1]))
    assert (cube.dimensions, cube.low, cube.high) == (1, (-0.5,) * 3, (2.0,) * 3)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_blank_lines_and_ends_of_lines(read, end):
    lines = ["\ufeff# made by hand", "", "TITLE Å", "lut_3d_size 2 # small", "\t", "# now colours"]
    rows = [" ".join(map(str, row)) for row in identity(2).reshape(-1, 3)]
    rows[3] += "\t# a comment after numbers"
    cube = read(end.join([*lines, *rows[:5], "", "# half", *rows[5:]]))
    np.testing.assert_array_equal(cube.table, identity(2))


def test_pieces_of_a_long_file(read, monkeypatch):
    """Rows that are cut anywhere by the end of a piece, with both kinds of reading."""
    from snellen.filters.lut import cube

    monkeypatch.setattr(cube, "_PIECE", 50)
    table = identity(5)
    for comment in ("", "# a comment in the middle\r\n"):
        lines = text(table).split("\n")
        lines[70] = comment + lines[70]
        np.testing.assert_allclose(read("\r\n".join(lines)).table, table, atol=1e-7)


@pytest.mark.cases
@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ("", "no LUT_1D_SIZE or LUT_3D_SIZE"),
        ("0 0 0\n", "no LUT_1D_SIZE or LUT_3D_SIZE"),
        ("# x\nLUT_3D_SIZE 257\n", "line 2: got 'LUT_3D_SIZE 257'; expected a size of 2 to 256"),
        ("LUT_3D_SIZE 1\n", "2 to 256"),
        ("LUT_3D_SIZE -3\n", "2 to 256"),
        ("LUT_3D_SIZE 2 2\n", "2 to 256"),
        ("LUT_3D_SIZE ²\n", "2 to 256"),
        ("LUT_3D_SIZE 99999999999999999999\n", "2 to 256"),
        ("LUT_1D_SIZE 65537\n", "2 to 65536"),
        ("LUT_3D_SIZE 2\nLUT_3D_SIZE 2\n", "line 2: a second LUT_3D_SIZE"),
        ("LUT_3D_SIZE 2\nLUT_1D_SIZE 2\n" + "0 0 0\n" * 10, "a 1D and a 3D table"),
        ("LUT_3D_SIZE 256\n0 0 0\n", "too short for the 16,777,216 rows"),
        ("LUT_3D_SIZE 2\n" + "0 0 0\n" * 7 + "# and no more\n", "ends after 7 of 8 rows"),
        ("LUT_3D_SIZE 2\n" + "0 0 0\n" * 9, "more than 8 rows"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 0\n# filled\n", "line 3: got '0 0'; expected three numbers"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 0 0 0\n", "line 3: .*three numbers"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 x 0\n", "line 3: .*three numbers"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 nan 0\n", "line 3: .*three numbers"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 1e999 0\n", "line 3: .*three numbers"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 1e9 0\n", "line 3: .*white being 1"),
        ("LUT_1D_SIZE 2\n0 0 0\n0 1_0 0\n", "line 3: .*three numbers"),
        ("LUT_1D_SIZE 2\n0 0 0\nDOMAIN_MIN 0 0 0\n", "line 3: .*three numbers"),
        ("LUT_1D_SIZE 2\nDOMAIN_MIN 0 0\n", "line 2: .*three numbers"),
        ("LUT_1D_SIZE 2\nDOMAIN_MAX 1 0 1\n0 0 0\n1 1 1\n", "domain's end is not above"),
        ("LUT_1D_SIZE 2\nLUT_1D_INPUT_RANGE 0 1 2\n", "expected two numbers"),
        ("MESH 2\n", "line 1: got 'MESH 2'; expected TITLE"),
        ("<html>\n", "got '<html>'|three numbers|no LUT"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "look.cube"),
        (b"LUT_1D_SIZE 2\n" + b"0" * 10_000 + b"\n", "line 2: .*more than 4096 bytes|numbers"),
        (b"#" * (3 << 20), "more than 4096 bytes"),
    ],
)  # fmt: skip
def test_what_is_no_table(read, contents, says):
    with pytest.raises(InputError, match=says) as error:
        read(contents)
    assert "look.cube" in str(error.value) and len(str(error.value)) < 400


def test_a_size_takes_no_memory_before_the_rows_can_be_there(read):
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            read("LUT_3D_SIZE 256\n" + "0 0 0\n" * 1000)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20  # the table has 201 MB
    finally:
        tracemalloc.stop()


def test_names_that_are_no_files(tmp_path):
    for path in (tmp_path, tmp_path / "missing.cube"):
        with pytest.raises(InputError):
            load(path)
