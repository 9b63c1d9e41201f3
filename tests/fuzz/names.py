"""Names of files that a shell script, a telephone or an attacker makes."""

from __future__ import annotations

from fuzz.case import Random

_NAMES = (
    "http:host:9?x", "http:127.0.0.1:9", "tcp:127.0.0.1:9", "concat:a|b", "file:plain",
    "subfile,,start,0,end,9,,:plain", "pipe:0", "data:text", "crypto:plain", "x%03d", "x%d", "%s",
    "x%03d%n", "x[0-9]", "x*", "x?", "a\nerror: forged", "a\x1b[31mred", "a\x1b]0;title\x07",
    "a\rb", "a\u202egnp", "a\u2028b", "[bold]x[/bold]", "[/red]", "a\udcffb", "\udc80",
    "-leading", "--help", " leading", "trailing ", "a'b", 'a"b', "a;b", "a$b", "a`b`", "a\\b",
    "~", "a&b", "n" * 240, "é" * 120, "日本", "a\x7fb", "a\x9bb", "con", ".hidden.more", "a..b",
    "a.png.exe", "{}", "{0}", "${HOME}", "`source`", "a\tb", "a:b",
)  # fmt: skip
"""Stems: a suffix follows."""


def hostile(random: Random) -> str:
    """Return a stem."""
    return random.choice(_NAMES)


def decoys(stem: str, suffix: str) -> list[str]:
    """Return names that a pattern in a stem could take instead, in the same folder."""
    if "%" in stem or any(sign in stem for sign in "[*?"):
        return [f"x{number}{suffix}" for number in ("000", "001", "0", "1", "s", "9", "5")]
    return ["plain" + suffix, "plain", "a", "b"]
