"""Lists of pairs that are scored."""

from __future__ import annotations

from fuzz import commands, films, kinds, names, pictures
from fuzz.case import FOLDER, Case, Random
from fuzz.kinds import kind, perhaps

_ODD = ("", " ", "in", ".", "..", "/", "/dev/null", "/dev/stdin", "-", "a.png ", "=cmd|' /C x'!A0",
        "none.png", "list.csv", "../in/a.png", "../out/table.csv", "../out/table.csv.unfinished",
        "http://127.0.0.1:9/a.png", "http:127.0.0.1:9", "concat:a.png|b.png", "file:a.png",
        "%03d.png", "x*.png", "~", "$HOME", "a.png\0", "\x1b[31m", "\u2028", "a" * 5000, "\udcff",
        "é" * 300, '"', "'", "a\rb", "a\tb", "\ufeff", "reference", "CON", "--help")  # fmt: skip
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "utf-32-be", "cp037")


@kind(2)
def pairs(random: Random) -> Case:
    """A list of pairs with odd names, fields and encodings."""
    files = {"in/x.y4m": films.y4m(random, *commands.SCORED, 2)}
    for name in ("a", "b", "x000"):
        files[f"in/{name}.png"] = pictures.grey(random, *commands.SCORED)
    if random.random() < 0.3:
        stem = names.hostile(random)[:200]
        files[f"in/{stem}.png"] = files["in/a.png"]
    own = [name.removeprefix("in/") for name in files]
    rows = [[random.choice(own), random.choice(own)] for _ in range(random.choice((1, 2, 4)))]
    note = "whole" if random.random() < max(0.1, kinds.WHOLE) else "odd fields"
    if note == "whole":
        rows = [["a.png", "b.png"], ["b.png", "b.png"], ["x.y4m", "x.y4m"]]
    elif random.random() < 0.8:
        row = random.choice(rows)
        row[random.randrange(2)] = random.choice(_ODD)
    elif random.random() < 0.5:
        random.choice(rows)[1:1] = ["x"] * random.choice((1, 3000, 100_000))
    else:
        rows *= random.choice((30, 50))
    if random.random() < 0.3:
        rows = [[FOLDER.decode() + "/in/" + one for one in row] for row in rows]
    sign = "," if note == "whole" else random.choice((",", ",", ",", ", ", ";", "\t", ",,"))
    end = random.choice(("\n", "\r\n", "\n\n")) if note == "whole" else random.choice("\n\r\v")
    texts = [sign.join(f'"{one}"' if random.random() < 0.3 else one for one in row) for row in rows]
    if random.random() < 0.3:
        texts.insert(0, "reference,distorted")
    encoding = "utf-8" if note == "whole" else random.choice(_ENCODINGS)
    errors = "surrogateescape" if encoding.startswith("utf-8") else "replace"
    data = end.join(texts).encode(encoding, errors)
    if note != "whole" and random.random() < 0.4:
        data, note = perhaps(random, data)
        note = "unharmed" if note == "whole" else note
    files["in/list.csv"] = data
    table = random.choice(("out/table.csv", "out/table.csv", "-"))
    words = ["score", "--pairs", "in/list.csv", "--csv", table, "--device", "cpu", "--metrics",
             random.choice(("psnr", "psnr,ssim", "mad")), *commands.LIMIT]  # fmt: skip
    words += random.choice(([], ["--json"] if table != "-" else [], ["--overwrite"]))
    if random.random() < 0.05:
        words += ["--workers", "2"]
    if random.random() < 0.3 and note != "whole":
        left = random.choice(("out/table.csv", "out/table.csv.unfinished"))
        files[left] = random.choice((
            b"", b"[1]", b"snellen pairs", b'{"snellen pairs": 1, "list": "", "job": {}}',
            b"[" * 100_000,
            b"reference,distorted\n", bytes(5000), b'{"snellen pairs": 1e999}',
        ))  # fmt: skip
    outputs = () if table == "-" else (table, table + ".unfinished")
    return Case(words, files, outputs, f"list: {note}", whole=note == "whole", judged=False)
