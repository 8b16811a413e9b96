"""Figures to ratios, a table for people, JSON for programs, and the section of README.md that keeps the last run."""

import json
import platform
import re
import statistics
from dataclasses import asdict, dataclass
from datetime import date

BEGIN, END = "<!-- results begin -->", "<!-- results end -->"


@dataclass
class Row:
    """One comparison: our figure and the peer's over all pairs, or why there is none."""

    scenario: str
    title: str
    measure: str
    peer: str
    version: str
    bar: float
    ours: list
    theirs: list
    problem: str = None

    def ratios(self):
        return sorted(a / b for a, b in zip(self.ours, self.theirs))

    def value(self):
        """What the bar is held against: the median ratio, or our own figure where the bar is absolute."""
        if self.measure == "rss_mib":
            return statistics.median(self.theirs) if self.theirs else None
        return statistics.median(self.ratios()) if self.ratios() else None

    def verdict(self):
        if self.problem or self.value() is None:
            return "not measured"
        if self.bar is None:
            return ""
        return "met" if self.value() <= self.bar else "MISSED"


def cells(row):
    """The row's cells: scenario, peer, ours, theirs, ratio, spread, bar, verdict."""
    unit = {"cpu_us": "µs", "p99_ms": "ms", "rss_mib": "MiB"}[row.measure]
    bar = "" if row.bar is None else f"≤ {row.bar:.2f}"
    if row.problem:
        return [row.title, _peer(row), "", "", "", "", bar, f"not measured: {row.problem.splitlines()[0]}"]
    theirs = f"{statistics.median(row.theirs):.3g} {unit}"
    if row.measure == "rss_mib":
        return [row.title, _peer(row), "", theirs, "", "", f"{bar} MiB" if bar else "", row.verdict()]
    ratios = row.ratios()
    spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
    ours = f"{statistics.median(row.ours):.3g} {unit}"
    return [row.title, _peer(row), ours, theirs, f"{row.value():.2f}", spread, bar, row.verdict()]


def _peer(row):
    return f"{row.peer} {row.version}".strip()


def table(subject, rows):
    """The same, in columns for a terminal."""
    lines = [["scenario", "peer", subject, "peer's", "ratio", "min–max", "bar", ""], *(cells(row) for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(7)] + [0]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in lines)


def machine():
    """The machine in one line."""
    name = "unknown processor"
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    with open("/proc/cpuinfo") as info:
        cores = sum(line.startswith("processor") for line in info)
    return f"{cores} × {name}, Linux {platform.release()}"


def save(path, subject, rows, options):
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "subject": subject,
        "options": options,
        "rows": [{**asdict(row), "ratios": row.ratios(), "verdict": row.verdict()} for row in rows],
    }
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write(readme, subject, rows, options):
    """Replaces the rows that were measured in README.md; rows of other scenarios stay, with the day they are of and the
    machine of that day."""
    head, _, rest = readme.read_text().partition(BEGIN)
    kept, _, tail = rest.partition(END)
    today = date.today().isoformat()
    when = f"{today}, {options['pairs']} × {options['seconds']} s"
    machines = {**dict(MACHINE.findall(kept)), today: machine()}
    table = {}
    for line in kept.splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if len(row) == len(HEAD) and row[0] not in (HEAD[0], "---"):
            table[_key(row)] = row
    for row in rows:
        line = [*cells(row), when]
        table[_key(line)] = line
    lines = [[*HEAD[:2], subject, *HEAD[3:]], ["---"] * len(HEAD), *table.values()]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    days = {row[-1].partition(",")[0] for row in table.values()}
    where = "\n".join(f"- {day}: {what}." for day, what in sorted(machines.items()) if day in days)
    readme.write_text(f"{head}{BEGIN}\n{where}\n\n{text}\n{END}{tail}")


# The date of a measurement, and its machine.
MACHINE = re.compile(r"^- (\d{4}-\d\d-\d\d): (.*)\.$", re.MULTILINE)


HEAD = ["scenario", "peer", "steelyard", "peer's", "ratio", "min–max", "bar", "", "pairs"]


def _key(line):
    """A scenario and a peer whatever its version."""
    return line[0], line[1].split(" ")[0]
