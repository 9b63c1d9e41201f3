"""README's tables of MAD, made from the results that `snellen bench mad` wrote."""

from __future__ import annotations

from snellen.bench.mad import host, stock
from snellen.bench.table import Report, prose, rows, significant

PLACE = "mad", ("<!-- mad:begin -->", "<!-- mad:end -->")
"""Whose results, and between which markers of a page."""


def part(report: Report, link: str) -> str:
    """Return what README says of one run."""
    made = on_gpu(report) if "gpu_cases" in report else on_cpu(report)
    return "\n\n".join([made, checked(report), source(link)])


def on_cpu(report: Report) -> str:
    """Return the CPU's lines."""
    machine = report["machine"]
    head = ["a pair", "Snellen, float64: median (min … max)", "float32",
            "float64, the reference held", "plain NumPy port"]  # fmt: skip
    body = []
    for case in report["cases"]:
        lines = case["lines"]
        ours = lines[host.OURS]
        others = ("float32", f"{host.OURS}, the reference held", host.PORT)
        body.append([
            case["case"], f"{ours['median']:.2f} s ({ours['min']:.2f} … {ours['max']:.2f})",
            *(f"{significant(lines[name]['ratio'])} ×" for name in others),
        ])  # fmt: skip
    takes = [f"{row['peak_mb']:.0f} MB in {row['dtype']}" for row in report["memory"]]
    told = prose(
        f"MAD, HI and LO of a pair of 8-bit pictures, on {machine['cpu']} with "
        f"{machine['threads']} cores; ratios against the same run's time of Snellen in float64, so "
        f"the first column is only for scale. The port is float64, too. A pair of "
        f"{report['memory'][0]['case']} takes at most {' and '.join(takes)}, in a process of its "
        "own."
    )
    return "\n\n".join([told, rows(head, body)])


def on_gpu(report: Report) -> str:
    """Return the GPU's cases beside PyTorch's appearance stage, and its batch."""
    body = []
    for case in report["gpu_cases"]:
        best, lines = case["graph"], case.get("stock", {}).get("lines")
        theirs = lines and lines[stock.APPEARANCE]["median"]
        body.append([
            case["case"],
            f"{best['median']:.2f} ms ({best['min']:.2f} … {best['max']:.2f})",
            f"{case['against']['median']:.2f} ms", f"{1e3 / case['sustained']:.0f}",
            f"{theirs:.1f} ms" if theirs else "–",
            f"{theirs / best['median']:.1f} ×" if theirs else "–",
            f"{case['memory_mb']['pool']:.0f} MB",
        ])  # fmt: skip
    head = ["a pair", "Snellen: median (min … max)", "one more picture, the reference held",
            "pairs/s, back to back", "PyTorch's operators, appearance stage alone", "ratio",
            "GPU memory"]  # fmt: skip
    told = prose(
        f"MAD, HI and LO of a pair of 8-bit pictures that lie on {report['machine']['gpu'][0]}, as "
        "CUDA graphs; PyTorch's own operators (float32 FFTs, unfold) for the appearance stage "
        "alone in the same run:"
    )
    return "\n\n".join([told, rows(head, body), batch(report)])


def batch(report: Report) -> str:
    """Return one sentence on a batch."""
    found = report["batch"]
    rates = found["rates"]
    return prose(
        f"{found['pairs']} pairs of {found['case']}, every score told to the host: "
        f"{rates['pairs']:.0f} pairs/s by a prepared Scorer, {rates['one reference']:.0f} where "
        f"all have one reference, {rates['snellen.score']:.0f} by one call of `snellen.score`, "
        "which prepares first."
    )


def checked(report: Report) -> str:
    """Return one sentence on what was checked before."""
    kinds: dict[str, list[Report]] = {}
    for row in report["exactness"]:
        name = f"in {row['dtype']}" if report["device"] == "cpu" else f"on the {row['device'][:4]}"
        kinds.setdefault(name.replace("cpu", "CPU").replace("cuda", "GPU"), []).append(row)
    told = [
        f"{max(row['scores'] for row in found):.1e} {name} (maps "
        f"{max(max(row['detection'], row['appearance']) for row in found):.1e} of their greatest "
        "value)" for name, found in kinds.items()
    ]  # fmt: skip
    return prose(
        f"Checked before, in {len(report['exactness'])} comparisons with float64 (the port; for "
        f"large pictures our CPU arm): scores differ by at most {' and '.join(told)}."
    )


def source(link: str) -> str:
    """Return where the figures come from."""
    return prose(
        f"[{link.rpartition('/')[2]}]({link}) is this run of `snellen bench mad`, with versions, "
        "date and commit."
    )
