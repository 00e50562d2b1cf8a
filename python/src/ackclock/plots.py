"""Charts of Altair with few enough points to load."""

from __future__ import annotations

import importlib
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import AckclockError
from .tables import Table

if TYPE_CHECKING:
    import altair

#: Most points of a line. Altair refuses charts of more than 5000 rows.
_POINTS = 400
#: Most rows of a chart.
_MOST = 5000
_WIDTH, _HEIGHT = 560, 160


def _altair() -> Any:
    try:
        return importlib.import_module("altair")
    except ImportError as why:
        message = "altair is not installed; install it with `pip install ackclock[notebook]`"
        raise ImportError(message, name="altair") from why


def _title(table: Table, column: str) -> str:
    unit = table.units.get(column)
    words = column
    for ending in ("_bytes", "_ms", "_mbit_s", "_s", "_packets"):
        if unit and column.endswith(ending):
            words = column.removesuffix(ending)
            break
    words = words.replace("_", " ")
    return f"{words} [{unit}]" if unit else words


def thinned(
    times: Sequence[float], values: Sequence[float | None], most: int
) -> Iterator[tuple[float, float]]:
    """Yield few points of a line: the least and the greatest of each part of the time.

    A line of at most ``most`` points stays as it is. Points without a value are left out.
    """
    points = [
        (t, v) for t, v in zip(times, values, strict=True) if v is not None and math.isfinite(v)
    ]
    if len(points) <= most:
        yield from points
        return
    first, last = points[0][0], points[-1][0]
    parts: dict[int, list[tuple[float, float]]] = {}
    for time, value in points:
        part = int((time - first) / (last - first) * (most // 2 - 1)) if last > first else 0
        parts.setdefault(part, []).append((time, value))
    for own in parts.values():
        ends = {min(own, key=lambda point: point[1]), max(own, key=lambda point: point[1])}
        yield from sorted(ends)


def of_series(
    table: Table, columns: Sequence[str], names: Mapping[int, str]
) -> altair.VConcatChart:
    """Draw columns over time, one below the other. The legend has the names of the flows."""
    alt = _altair()
    if not len(table):
        message = "no time series: set `series`, as in study.set('series', '100 ms')"
        raise AckclockError(message)
    for column in columns:
        if column not in table.columns:
            message = f"no column {column}; columns: {', '.join(table.columns)}"
            raise AckclockError(message)
    flows, times = table["flow"], table["time_s"]
    kinds = sorted(set(flows))
    most = max(8, min(_POINTS, _MOST // max(1, len(kinds))))
    charts = []
    for column in columns:
        values, rows = table[column], []
        for flow in kinds:
            own = [i for i, f in enumerate(flows) if f == flow]
            line = thinned([times[i] for i in own], [values[i] for i in own], most)
            rows += [{"time": time, "value": value, "flow": names[flow]} for time, value in line]
        last = column == columns[-1]
        charts.append(
            alt.Chart(alt.Data(values=rows), width=_WIDTH, height=_HEIGHT)
            .mark_line()
            .encode(
                alt.X("time:Q", title="time [s]" if last else None),
                alt.Y("value:Q", title=_title(table, column)),
                alt.Color("flow:N", title=None, sort=None),
            )
        )
    chart: altair.VConcatChart = alt.vconcat(*charts)
    return chart


def of_runs(
    table: Table, y: str, x: str | None, color: str | None, where: Mapping[str, Any]
) -> altair.LayerChart:
    """Draw a metric over a key, with the mean and the deviation of its repetitions."""
    alt = _altair()
    keys = table.keys
    for name in (y, x, color, *where):
        if name is not None and name not in table.columns:
            message = f"no column {name}; columns: {', '.join(table.columns)}"
            raise AckclockError(message)
    numeric = [key for key in keys if any(isinstance(value, (int, float)) for value in table[key])]
    x = x or next(iter([*numeric, *keys]), "row")
    color = color or next((key for key in keys if key != x), "row")
    drawn = [all(row[key] == value for key, value in where.items()) for row in table.rows()]
    others = [key for key in keys if key not in (x, color, *where) and len(set(table[key])) > 1]
    if others or (where and not any(drawn)):
        names = others or list(where)
        there = "; ".join(f"{name}: {sorted(set(table[name]), key=str)}" for name in names)
        message = f"where: name one value of each other key that varies: {there}"
        raise AckclockError(message)
    groups: dict[tuple[Any, Any], list[float]] = {}
    for at, kind, value, is_drawn in zip(table[x], table[color], table[y], drawn, strict=True):
        if is_drawn and value is not None:
            groups.setdefault((at, kind), []).append(value)
    rows = []
    for (at, kind), values in groups.items():
        mean = statistics.fmean(values)
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        bounds = {"low": mean - deviation, "high": mean + deviation}
        rows.append({"x": at, "kind": str(kind), "y": mean, **bounds})
    if len(rows) > _MOST:
        message = (
            f"{len(rows)} points are too many for a chart; name `x` and `color`, or draw a frame"
        )
        raise AckclockError(message)
    is_number = all(isinstance(row["x"], (int, float)) for row in rows)
    horizontal = alt.X("x:Q" if is_number else "x:N", title=_title(table, x), sort=None)
    base = alt.Chart(alt.Data(values=rows), width=_WIDTH, height=2 * _HEIGHT).encode(
        horizontal, color=alt.Color("kind:N", title=color)
    )
    mark = base.mark_line(point=True) if is_number else base.mark_point(filled=True, size=60)
    chart: altair.LayerChart = alt.layer(
        base.mark_rule().encode(alt.Y("low:Q", title=_title(table, y)), alt.Y2("high:Q")),
        mark.encode(alt.Y("y:Q", title=_title(table, y))),
    )
    return chart
