"""What the benches said over the months: rows in trend.csv, and a picture of them (trend.svg). Tested by test_trend.py."""

import csv
import html
import pathlib

FIELDS = ["date", "revision", "lane", "case", "value", "unit", "ratio", "verdict"]
# One panel a bench; a line a case. Told apart by position and label as well as by colour (Okabe and Ito's set).
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 960, 190, 60, 300, 34, 26


def append(path, rows):
    path = pathlib.Path(path)
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def panels(rows):
    """{(lane, bench): {case: [(run, value)]}}: runs are numbered by order of appearance; a value that is none is left out."""
    runs, found = {}, {}
    for row in rows:
        run = runs.setdefault((row["date"], row["revision"]), len(runs))
        bench, _, case = row["case"].partition("/")
        if row["value"]:
            found.setdefault((row["lane"], bench), {}).setdefault(case, []).append((run, float(row["value"])))
    return list(runs), found


def picture(rows):
    """Each case relative to its own first value, so that one scale fits all; 1.0 is where it began."""
    runs, found = panels(rows)
    parts, height = [], TOP
    for (lane, bench), cases in sorted(found.items()):
        parts.append(panel(f"{bench}: {lane}", cases, len(runs), height))
        height += HEIGHT + TOP
    dates = f"{runs[0][0]} … {runs[-1][0]}" if runs else "nothing yet"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="{LEFT}" y="18" font-size="14">{len(runs)} runs, {html.escape(dates)}; each case relative to its first</text>'
        + "".join(parts)
        + "</svg>\n"
    )


def panel(title, cases, runs, top):
    curves = {case: [(run, value / points[0][1]) for run, value in points] for case, points in cases.items() if points[0][1]}
    values = [value for points in curves.values() for _, value in points]
    low, high = min([0.9, *values]), max([1.1, *values])

    def x(run):
        return LEFT + (WIDTH - LEFT - RIGHT) * (run / (runs - 1) if runs > 1 else 0.5)

    def y(value):
        return top + TOP + (HEIGHT - BOTTOM) * (high - value) / (high - low)

    parts = [f'<text x="{LEFT}" y="{top + 22}" font-weight="bold">{html.escape(title)}</text>']
    for value in (low, 1.0, high):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ccc"/>'
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>'
        )
    # The cases that moved most are named; the rest are drawn thin and counted.
    moved = sorted(curves, key=lambda case: -abs(curves[case][-1][1] - 1))
    named = moved[: min(len(COLOURS), (HEIGHT - BOTTOM) // 16)]
    for case in reversed(moved):
        colour = COLOURS[named.index(case)] if case in named else "#bbb"
        points = " ".join(f"{x(run):.1f},{y(value):.1f}" for run, value in curves[case])
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{2 if case in named else 1}"/>')
        parts += [
            f'<circle cx="{x(run):.1f}" cy="{y(value):.1f}" r="2.5" fill="{colour}"><title>{html.escape(case)}: {value:.3f}</title></circle>'
            for run, value in curves[case]
        ]
    for index, case in enumerate(named):
        parts.append(
            f'<text x="{WIDTH - RIGHT + 12}" y="{top + TOP + 8 + 16 * index}" fill="{COLOURS[index]}">'
            f"{curves[case][-1][1]:.2f}  {html.escape(case)}</text>"
        )
    if len(moved) > len(named):
        parts.append(
            f'<text x="{WIDTH - RIGHT + 12}" y="{top + TOP + 8 + 16 * len(named)}" fill="#777">and {len(moved) - len(named)} more</text>'
        )
    return "".join(parts)


def draw(csv_path):
    """Writes the picture beside the rows."""
    csv_path = pathlib.Path(csv_path)
    csv_path.with_suffix(".svg").write_text(picture(read(csv_path)))
