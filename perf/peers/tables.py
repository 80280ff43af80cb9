"""Markdown tables of the race: a column for each client, medians with the smallest and the largest."""

import statistics

US = "driftless"

# key, what it says, whether the smaller (-1), the larger (1) or the nearer to 0 (0) is better
COMMON = [("requests", "requests that arrived", None), ("cpu_s", "CPU, s", -1),
          ("yielding_s", "further CPU that only yields, s", None),
          ("resident_mb", "resident memory, MB", -1), ("first_s", "from start to first request, s", -1),
          ("wall_s", "wall time, s", -1), ("server_cpu_s", "server's CPU, s", None)]
ANSWERS = [("ttft_error_mean", "TTFT error, mean, ms", 0), ("ttft_error_p99", "TTFT error, p99, ms", 0),
           ("itl_p99_error", "ITL p99 minus the true p99, ms", 0),
           ("gap_error_p99", "error of one gap, p99, ms", 0)]
ROWS = {
    "burst": ANSWERS + [("burst_width", "first to last arrival, ms", -1)] + COMMON,
    "trace": ANSWERS + [("drift_p50", "arrival against schedule, p50, ms", -1),
                        ("drift_p99", "arrival against schedule, p99, ms", -1)] + COMMON,
    "closed": [("rate", "requests/s", 1), ("turn_p50", "end of an answer to next request, p50, us", -1),
               ("turn_p99", "the same, p99, us", -1), ("cpu_us", "CPU a request, us", -1)] +
    [(key, label, None) for key, label, _ in COMMON if key != "first_s"],  # clients send unequal numbers
}


def number(value):
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"


class Cell:
    """The values of one figure of one client, a value a round."""

    def __init__(self, values):
        self.values = sorted(values)
        self.median = statistics.median(self.values)

    def __str__(self):
        if self.values[0] == self.values[-1]:
            return number(self.median)
        return f"{number(self.median)} ({number(self.values[0])}..{number(self.values[-1])})"

    def costs(self, better):
        """The values as costs: the smaller, the better."""
        return sorted(abs(value) if better == 0 else -better * value for value in self.values)


def cells_of(runs, key):
    """Cells by client; no cell where no round has the figure."""
    cells = {}
    for client in dict.fromkeys(run["client"] for run in runs):
        values = [run[key] for run in runs if run["client"] == client and key in run]
        if values:
            cells[client] = Cell(values)
    return cells


def ahead(cells, better):
    """Peers whose median is better than ours, as texts."""
    if better is None or US not in cells:
        return []
    ours = cells[US].costs(better)
    found = []
    for client, cell in cells.items():
        costs = cell.costs(better)
        if client != US and statistics.median(costs) < statistics.median(ours):
            apart = ", within the spread" if costs[-1] >= ours[0] else ""
            found.append(f"{client} ({number(cell.median)} to {number(cells[US].median)}{apart})")
    return found


def table(work, runs, versions):
    """The table of a work and the lines about columns in which a peer is ahead."""
    clients = sorted({run["client"] for run in runs}, key=lambda name: (name != US, name))
    rounds = {client: sum(run["client"] == client for run in runs) for client in clients}
    lines = [f"### {work.name}: {work.title}", "",
             "| | " + " | ".join(f"{client} {versions.get(client, '')}".strip() for client in clients) + " |",
             "|---|" + "---|" * len(clients)]
    leads = []
    for key, label, better in ROWS[work.kind]:
        cells = cells_of(runs, key)
        if not cells:
            continue
        lines.append(f"| {label} | " + " | ".join(str(cells.get(client, "-")) for client in clients) + " |")
        peers = ahead(cells, better)
        leads += [f"- {label}: ahead of us: {', '.join(peers)}"] if peers else []
    lines += ["", f"Rounds: {', '.join(f'{client} {rounds[client]}' for client in clients)}.", ""]
    return "\n".join(lines + (leads or ["No peer is ahead in any row."])) + "\n"
