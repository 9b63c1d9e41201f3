"""Write the tables of docs/benchmarks/ and of the README: `python -m benchmarks.tables`.

They come from benchmarks/results/*.json, of either format; those of docs/scale.md from
benchmarks/scale_model.py. The README gets its table between
`<!-- results:begin -->` and `<!-- results:end -->`; without these markers it stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import mode
from textwrap import fill
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import calls, extras, scale_model
from benchmarks.results import OURS, Key, Result, Spread, Timed, read

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
TITLES = {
    "aplus": "A+: enlarging a luma plane",
    "cnn": "Compact networks: enlarging a luma plane",
    "mad": "MAD: scoring a pair of luma planes",
    "mia": "MIA: 200 iterations of deblurring",
    "fft": "Small Fourier transforms",
    "calls": "Whole calls",
    "scale": "Several workers",
    "quality": "Quality of enlarged pictures",
}
KINDS = {
    "aplus": "One luma plane of 8 bits, all seven steps. Of the stages, settle is a part of match.",
    "cnn": "One luma plane of 8 bits through the networks fine, which is the default, and fast. "
    "Weights are drawn by chance: no time depends on them.",
    "mad": "MAD, HI and LO of a pair of 8-bit planes, and each half of the work: the reference's, "
    "which can be kept, and the comparison.",
    "mia": "200 iterations of pictures on one period. “Poisson” is the default, whose PSF is not "
    "known; the others are its options. Of several pictures at once a CPU does 20 iterations, and "
    "the times are scaled to 200.",
    "fft": "Transforms of arrays on the GPU, many in one CUDA graph, so that no launch counts.",
    "calls": calls.TEXT,
    "scale": "Processes of one machine, each with a GPU or on the CPU: A+ on frames that are made "
    "in each worker and discarded; a film into a film (x264 ultrafast), the start of all included, "
    "beside as many encoders alone; MAD of two films a worker, beside their decoders alone.",
    "quality": "Luma, 8 bits, beside the original. Sets of pictures are shrunk by the authors' "
    "protocol. Clips are blurred where it is said (σ in pixels of the original), shrunk by bicubic "
    "and coded (preset medium); two frames of each are measured. Coding noise is the rms of what "
    "coding changes in the result, where it is flat (σ of 9×9 pixels under 4). Everywhere, what "
    "coding takes of the detail counts, too, and of that a method that shows more loses more. The "
    "clips are of pictures whose authors NOTICE names; bigbuckbunny is Big Buck Bunny, Blender "
    "Foundation, CC BY 3.0.",
}


CROPS = "Crops side by side; PSNR is that of the whole picture"
"""The legend of docs/benchmarks/quality.png, which benchmarks.quality_crops draws."""
HOW = (
    "`snellen bench aplus`, `cnn`, `mad`, `mia` and `fft` print our times for your machine, "
    "`snellen bench calls` those of whole calls, each in a fresh process; `python -m "
    "benchmarks.stock METHOD`, in a checkout, the stock libraries beside them in one run. Each "
    "result is checked first: what is wrong gets no time. The times are medians (least … greatest) "
    "of the computation alone, on a GPU between CUDA events, without transfers; those of a call go "
    "from host memory to host memory. These pages are generated from benchmarks/results by `python "
    "-m benchmarks.tables`."
)


class Highlight(NamedTuple):
    """A row of the README's table."""

    what: str
    key: Key
    stock: tuple[str, ...]
    """The stock lines that do the same work: ours is compared with the fastest of them."""
    alone: bool = False
    """True if the row is there without a stock line, too."""


OPERATORS = "cuFFT, CUDA graph", "PyTorch, CUDA graph"
"""MIA by operators of a library, those of CuPy or of PyTorch, whose transforms are cuFFT's."""
PLAIN = ("plain NumPy",)
CUDNN = "PyTorch, cuDNN", "PyTorch, cuDNN, as a graph"
HIGHLIGHTS = (
    Highlight("cnn-fine, the default, 1080p → 4K luma",
              Key("cnn", "cuda", "1920×1080 ×2", 1, "fine"), CUDNN, alone=True),
    Highlight("A+, 1080p → 4K luma", Key("aplus", "cuda", "1920×1080 ×2", 1, "luma"), ("PyTorch",)),
    Highlight("MAD, a pair of 1080p", Key("mad", "cuda", "1920×1080", 1, "pair"), ("PyTorch",)),
    Highlight("MIA, 200 blind iterations of 128×128",
              Key("mia", "cuda", "128×128", 1, "Poisson"), OPERATORS),
    Highlight("MIA, 132 pictures of 128×128 at once",
              Key("mia", "cuda", "128×128", 132, "Poisson"), OPERATORS),
    Highlight("A+, 1080p → 4K luma", Key("aplus", "cpu", "1920×1080 ×2", 1, "luma"), PLAIN),
    Highlight("MAD, a pair of 512×512", Key("mad", "cpu", "512×512", 1, "pair"), PLAIN),
)  # fmt: skip


def main() -> int:
    """Write the pages; return the exit status."""
    paths = [Path(name) for name in sys.argv[1:]] or sorted(
        (ROOT / "benchmarks" / "results").glob("*.json")
    )
    for page, text in pages([read(path) for path in paths]).items():
        before = page.read_text(encoding="utf-8") if page.is_file() else ""
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {'as it was' if before == text else 'written'}")
    return 0


def pages(results: list[Result], root: Path = ROOT) -> dict[Path, str]:
    """Return the text of each page."""
    folder = root / "docs" / "benchmarks"
    found = {folder / "index.md": index(results)}
    for method, title in TITLES.items():
        own = [result for result in results if result.method == method]
        if own:
            parts = [f"# {title}", prose(KINDS[method])]
            if (folder / f"{method}.png").is_file():
                parts.append(f"![{CROPS}]({method}.png)")
            parts += [section(result) for result in own]
            found[folder / f"{method}.md"] = "\n\n".join(parts) + "\n"
    scale = root / "docs" / "scale.md"
    if scale.is_file():
        tables = "\n\n".join(rows(*table) for table in scale_model.tables())
        found[scale] = between(scale.read_text(encoding="utf-8"), tables)
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if BEGIN in text:
        found[readme] = between(text, highlights(results))
    return found


def index(results: list[Result]) -> str:
    """Return the first page: the table of highlights and the list of pages."""
    made = [method for method in TITLES if any(one.method == method for one in results)]
    tree = "\n".join(["```{toctree}", ":maxdepth: 1", "", *made, "```"])
    parts = ["# Benchmarks", highlights(results, ""), prose(HOW), tree]
    return "\n\n".join(parts) + "\n"


def highlights(results: list[Result], folder: str = "docs/benchmarks/") -> str:
    """Return the README's table: what, ours, the stock library, the ratio, a link."""
    chosen = [(row, found) for row in HIGHLIGHTS if (found := newest(row, results))]
    every = [(place(row.key), result.device) for row, result in chosen]
    devices = {where: mode(device for one, device in every if one == where) for where, _ in every}
    body = [highlight(row, result, folder, devices) for row, result in chosen]
    devices_text = "; ".join(f"{where}: {device}" for where, device in devices.items())
    table = rows(["what", "Snellen", "stock library", "ratio", "more"], body)
    text = prose(f"Medians without transfers, each result checked first. {devices_text}.")
    return "\n\n".join([*whole_calls(results, folder), text, table])


def newest(row: Highlight, results: list[Result]) -> Result | None:
    """Return the newest file with a row's stock lines; without these one with its cell, if any."""
    key, stock = row.key, set(row.stock)
    found = [one for one in results if one.comparisons.get(key, {}).keys() & stock]
    if not found and row.alone:
        found = [one for one in results if key in one.cells]
    return max(found, key=lambda one: str(one.report["date"]), default=None)


def highlight(row: Highlight, result: Result, folder: str, devices: dict[str, str]) -> list[str]:
    """Return a row of the README's table; it names its device where the text below has another."""
    what, key, stock, _ = row
    where, lines = place(key), result.comparisons.get(key, {})
    name = where if result.device == devices[where] else result.device
    link = f"[all]({folder}{key.method}.md)"
    if not lines.keys() & set(stock):
        ours = milliseconds(result.cells[key].ms["median"])
        return [f"{what}, {name}", ours, "–", "–", link]
    best = min(lines.keys() & set(stock), key=lambda name: lines[name].ms["median"])
    return [
        f"{what}, {name}", milliseconds(lines[OURS].ms["median"]),
        f"{milliseconds(lines[best].ms['median'])} ({best.partition(',')[0]})",
        ratio(lines[best].ratio), link,
    ]  # fmt: skip


def place(key: Key) -> str:
    """Return what tables call the kind of device of a cell."""
    return "GPU" if key.where == "cuda" else "CPU"


def whole_calls(results: list[Result], folder: str) -> list[str]:
    """Return the tables of whole calls for the README, where such were measured."""
    parts = [
        rows([f"{what}, {result.device}", *rest], calls.highlights(result))
        for what, *rest in [calls.README_HEAD]
        for result in calls.newest(results)
    ]
    return [prose(f"{calls.TEXT} [All]({folder}calls.md)."), *parts] if parts else []


def section(result: Result) -> str:
    """Return all tables of one file."""
    report = result.report
    commit = report.get("commit")
    source = f"commit {commit}" if commit else f"source digest {report.get('digest')}"
    origin = f"`benchmarks/results/{result.path.name}`, {str(report['date'])[:10]}, {source}."
    parts = [f"## {result.path.stem}: {result.device}", origin]
    if result.method == "calls":
        parts.append(rows(calls.HEAD, calls.table(report)))
    elif result.cells and "comparison" not in report:
        parts += [times(result), stages(result)]
    parts.append(comparisons(result))
    parts += [rows(*table) for table in extras.tables(report)]
    return "\n\n".join(part for part in parts if part)


def times(result: Result) -> str:
    """Return our times."""
    calls = any(cell.call for cell in result.cells.values())
    memory = any(cell.memory for cell in result.cells.values())
    body = []
    for key, cell in result.cells.items():
        line = [label(key, result), spread(cell.ms)]
        if calls:
            call = cell.call
            line += [spread(call["warm"]), milliseconds(call["cold"])] if call else ["–", "–"]
        if memory:
            line.append(f"{cell.memory:.0f} MB" if cell.memory else "–")
        body.append(line)
    head = ["size, kind", "computation"] + ["a call, from host to host", "the first call"] * calls
    return rows(head + ["GPU memory"] * memory, body)


def stages(result: Result) -> str:
    """Return the times of stages, where there are any."""
    own = {key: cell.stages for key, cell in result.cells.items() if cell.stages}
    names = list(dict.fromkeys(name for stages in own.values() for name in stages))
    body = [
        [label(key, result), *(
            milliseconds(stages[name]["median"]) if name in stages else "–" for name in names
        )] for key, stages in own.items()
    ]  # fmt: skip
    head = "stages" if result.where == "cuda" else "stages, all threads together"
    return rows([head, *names], body) if body else ""


def comparisons(result: Result) -> str:
    """Return stock lines beside ours, where there are any; a table for each kind of device."""
    parts = []
    for where in ("cuda", "cpu"):
        own = {key: lines for key, lines in result.comparisons.items() if key.where == where}
        names = list(dict.fromkeys(name for lines in own.values() for name in lines))
        body = [
            [label(key, result), *(compared(lines.get(name), name) for name in names)]
            for key, lines in own.items()
        ]
        if body:
            parts.append(rows(["in one run, times as long as ours", *names], body))
    return "\n\n".join(parts)


def compared(line: Timed | None, name: str) -> str:
    """Return one line of a comparison: its time, and its ratio to ours."""
    if line is None:
        return "–"
    time = milliseconds(line.ms["median"])
    return time if name == OURS else f"{time} ({ratio(line.ratio)})"


def label(key: Key, result: Result) -> str:
    """Return the name of a cell in the tables of a file."""
    many = f", {key.batch} at once" if key.batch > 1 else ""
    where = "" if key.where == result.where else ", CPU"
    return f"{key.size}{many}, {key.kind}{where}"


def rows(head: list[str], body: Iterable[list[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(ms: Spread) -> str:
    """Return median, least and greatest."""
    least, most = milliseconds(ms["min"]), milliseconds(ms["max"])
    return f"{milliseconds(ms['median'])} ({least} … {most})"


def milliseconds(ms: float) -> str:
    """Return a time with three digits, in its unit."""
    for unit, size in (("s", 1e3), ("ms", 1.0)):
        if ms >= size:
            return f"{digits(ms / size)} {unit}"
    return f"{digits(1e3 * ms)} µs"


def ratio(value: float) -> str:
    """Return a ratio."""
    return f"{digits(value)} ×"


def digits(value: float) -> str:
    """Return a number with three digits, or all of an integer part that has more."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def prose(text: str) -> str:
    """Return a paragraph in lines."""
    return fill(text, 100, break_long_words=False, break_on_hyphens=False)


def between(text: str, table: str) -> str:
    """Return a text with a table between the markers.

    Raises
    ------
    ValueError
        The second marker is missing.
    """
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"the marker {END} is missing")
    return "\n".join([before + BEGIN, table, END + after])


if __name__ == "__main__":
    sys.exit(main())
