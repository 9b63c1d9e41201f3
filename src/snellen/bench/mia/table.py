"""README's tables of MIA, made from the results that `snellen bench mia` wrote."""

from __future__ import annotations

from typing import Any

from snellen.bench.mia import gpu, host
from snellen.bench.mia.exact import PAPER
from snellen.bench.table import Report, Rows, prose, rows, significant

PLACE = "mia", ("<!-- mia:begin -->", "<!-- mia:end -->")
"""Whose results, and between which markers of a page."""
TOLD = (128, 256)
"""Periods of the paper's first table."""


def part(report: Report, link: str) -> str:
    """Return what README says of one run."""
    if "gpu_cases" in report:
        made = [on_gpu(report), first_table(report), latency(report)]
    else:
        made = [on_cpu(report), checked(report), latency(report)]
    if "levin" in report:
        made.append(levin(report))
    return "\n\n".join([*made, source(link)])


def on_cpu(report: Report) -> str:
    """Return the CPU's lines."""
    machine, body = report["machine"], []
    for case in report["cpu_cases"]:
        lines = case["lines"]
        ours = lines[host.OURS]
        others = (lines.get(name, {}).get("ratio") for name in (host.DOUBLE, host.PORT))
        body.append([
            case["case"], str(case["batch"]), _ms(ours), _each(ours, case["batch"]),
            *("–" if ratio is None else f"{significant(ratio['median'])} ×" for ratio in others),
        ])  # fmt: skip
    head = ["period", "at once", "Snellen, float32, ms: median (min … max)", "ms an image",
            "float64", "plain NumPy port"]  # fmt: skip
    told = prose(
        f"200 iterations, blind, Poisson, on {machine['cpu']} with {machine['threads']} cores; "
        "ratios against the same run's time of Snellen in float32. The port is float64. Of several "
        f"pictures at once {host.SHORT} iterations were measured, and are told as 200."
    )
    return "\n\n".join([told, rows(head, body)])


def on_gpu(report: Report) -> str:
    """Return the paper's second table: the CPU, cuFFT and ours, with others beside."""
    machine = report["machine"]
    cpu = {(case["side"], case["batch"]): case["lines"][host.OURS] for case in report["cpu_cases"]}
    body = []
    for case in report["gpu_cases"]:
        lines, batch = case["lines"], case["batch"]
        ours, stock = lines[gpu.OURS], lines.get(gpu.STOCK)
        there = cpu.get((case["side"], batch))
        ratios = (lines.get(name, {}).get("ratio") for name in (gpu.HAND, gpu.TORCH, gpu.EAGER))
        body.append([
            case["case"], str(batch), _ms(ours), _each(ours, batch),
            f"{there['median']:.0f} ms" if there else "–",
            f"{stock['median']:.1f} ms" if stock else "–",
            f"**{significant(stock['ratio']['median'])} ×**" if stock else "–",
            *(f"{significant(ratio['median'])} ×" if ratio else "–" for ratio in ratios),
        ])  # fmt: skip
    head = ["period", "at once", "Snellen, ms: median (min … max)", "ms an image",
            f"CPU, {machine['threads']} cores", "cuFFT", "ratio", "cuFFT by hand", "PyTorch, graph",
            "PyTorch, eager"]  # fmt: skip
    told = prose(
        f"200 iterations, blind, Poisson, on {machine['gpu'][0]}: one kernel, pictures that lie "
        "there, times between events. cuFFT is the loop in the operators of CuPy (real transforms, "
        "batched) as a CUDA graph, in turns with ours; “by hand” has the least calls of cuFFT and "
        "fused kernels between them; PyTorch is the same loop in its operators. Ratios are theirs "
        f"to ours. Of several pictures at once the CPU did {host.SHORT} iterations, told as 200."
    )
    return "\n\n".join([told, rows(head, body)])


def first_table(report: Report) -> str:
    """Return the paper's first table: differences from float64, of the peak."""
    names = [gpu.OURS, host.OURS, gpu.STOCK]
    found = {(row["arm"], row["case"]): row for row in report["exactness"]
             if row["option"] == "Poisson" and row["batch"] == 1}  # fmt: skip
    body: Rows = []
    for side in TOLD:
        case = f"{side}×{side}"
        of_case = [found.get((name, case)) for name in names]
        if any(of_case):
            body.append([case, *(_percent(row) for row in of_case), f"{PAPER} % at most"])
    head = ["off float64 after 200 iterations, of the peak: at most / on average",
            "Snellen, GPU", "Snellen, CPU", "cuFFT's loop", "the paper"]  # fmt: skip
    return rows(head, body) + "\n\n" + checked(report)


def checked(report: Report) -> str:
    """Return one sentence on what was checked before."""
    ours = [row for row in report["exactness"] if row["arm"] in (gpu.OURS, host.OURS)]
    cases = {(row["case"], row["batch"], row["option"]) for row in ours}
    return prose(
        f"Checked before, against plain NumPy in float64: {len(cases)} sorts of periods, batches "
        f"and options, every picture of each batch; our float32 is off by at most "
        f"{100 * max(row['max'] for row in ours):.1e} % of the peak, PSFs by "
        f"{100 * max(row['psf'] for row in ours):.1e} %."
    )


def latency(report: Report) -> str:
    """Return one sentence on a stream of frames."""
    found = report["latency"]
    told = [f"{name}: {row['p50']:.2f} ms (p99 {row['p99']:.2f})"
            for name, row in found["lines"].items()]  # fmt: skip
    return prose(
        f"Latency of {found['frames']:,} frames of {found['case']}, 8 bit, one after another, "
        f"edges “{found['edges']}”, {found['iterations']} iterations, from host memory to host "
        f"memory, transfers and fit counted: {'; '.join(told)}."
    )


def levin(report: Report) -> str:
    """Return what became of Levin's pictures: each row a way to restore them."""
    found = report["levin"]
    body = [
        [row["name"], f"{row['psnr_db']:.2f} dB",
         f"{row['ratio']:.2f}" if row.get("ratio") is not None else "–",
         f"{row['within']} of {found['pictures']}" if row.get("within") is not None else "–"]
        for row in found["rows"]
    ]  # fmt: skip
    head = [f"{found['pictures']} pictures of Levin et al. 2009", "PSNR, mean",
            "error ratio, mean", "error ratio ≤ 2"]  # fmt: skip
    return rows(head, body)


def source(link: str) -> str:
    """Return where the figures come from."""
    return prose(
        f"[{link.rpartition('/')[2]}]({link}) is this run of `snellen bench mia`, with versions, "
        "date and commit."
    )


def _ms(line: dict[str, Any]) -> str:
    digits = 3 if line["median"] < 10 else 1
    return f"{line['median']:.{digits}f} ({line['min']:.{digits}f} … {line['max']:.{digits}f})"


def _each(line: dict[str, Any], batch: int) -> str:
    return "–" if batch == 1 else f"{line['median'] / batch:.4f}"


def _percent(row: dict[str, Any] | None) -> str:
    return "–" if row is None else f"{100 * row['max']:.1e} % / {100 * row['mean']:.1e} %"
