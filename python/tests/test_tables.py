"""Tables and charts."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ackclock as ac
from ackclock.plots import thinned

Dict = dict[str, Any]


@pytest.fixture(scope="module")
def run() -> ac.Run:
    return ac.Experiment(
        {
            "title": "t", "duration": "30 s", "series": "10 ms",
            "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP"},
            "flow": [{"controller": "cubic"}, {"controller": "bbr3"}],
        }
    ).simulate()  # fmt: skip


def test_frames_share_the_memory(run: ac.Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(run.series)
    assert table.num_rows == len(run.series) == 2 * 3000
    buffers = table.column("cwnd_bytes").chunk(0).buffers()
    assert buffers[-1].address == run.series._inner.address("cwnd_bytes")
    assert table.schema.field("cwnd_bytes").metadata[b"unit"] == b"bytes"


def test_frames(run: ac.Run) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(run.series)
    assert frame.columns == run.series.columns
    assert frame["cwnd_bytes"].to_list() == run.series["cwnd_bytes"]
    assert run.series.to_polars().equals(frame)
    pandas = pytest.importorskip("pandas")
    assert isinstance(run.flows.to_pandas(), pandas.DataFrame)
    assert list(run.flows.to_pandas()["goodput"]) == run.flows["goodput"]


def test_they_outlive_their_run() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ac.Experiment("lessons/1-slow-start").simulate().flows)
    assert frame.height > 0
    assert frame["goodput"].is_not_null().any()


def test_rows_and_columns(run: ac.Run) -> None:
    rows = list(run.flows.rows())
    assert [row["algorithm"] for row in rows] == ["cubic", "bbr3"]
    assert rows[0]["goodput"] == run.flows["goodput"][0]
    with pytest.raises(KeyError, match="nonsense"):
        run.flows["nonsense"]
    assert "Mbit/s" in run.flows._repr_html_()
    assert "<script" not in run.series._repr_html_()
    assert "more rows" in run.series._repr_html_()


def test_charts_are_small(run: ac.Run) -> None:
    pytest.importorskip("altair")
    chart = run.plot("cwnd_bytes", "smoothed_rtt_ms").to_dict()
    assert len(chart["vconcat"]) == 2
    for part in chart["vconcat"]:
        assert 100 < len(part["data"]["values"]) <= 2 * 402
        assert part["encoding"]["y"]["title"] in ("cwnd [bytes]", "smoothed rtt [ms]")
    assert len(json.dumps(chart)) < 400_000
    with pytest.raises(ac.AckclockError, match="no column x"):
        run.plot("x")


def test_charts_of_results(tmp_path: Any) -> None:
    pytest.importorskip("altair")
    results = ac.Experiment(
        {
            "title": "t", "duration": "1 s", "repetitions": 2,
            "link": {"rate": "10 Mbit/s", "delay": "10 ms", "queue": "1 BDP", "loss": "1 %"},
            "flow": [{"controller": "cubic"}],
            "vary": {"link.queue": ["0.5 BDP", "1 BDP", "2 BDP"], "flow.controller": ["cubic", "bbr3"]},
        }
    ).run(tmp_path)  # fmt: skip
    chart = results.plot("goodput").to_dict()
    rows = (
        chart["layer"][0]["data"]["values"]
        if "data" in chart["layer"][0]
        else chart["data"]["values"]
    )
    assert len(rows) == 6
    assert {row["kind"] for row in rows} == {"cubic", "bbr3"}
    assert all(row["low"] <= row["y"] <= row["high"] for row in rows)
    with pytest.raises(
        ac.AckclockError, match=r"other key that varies: link\.queue: \[0\.5, 1\.0, 2\.0\]"
    ):
        results.plot("goodput", "flow.controller", color="row")
    drawn = results.plot("goodput", "flow.controller", color="row", where={"link.queue": 1.0})
    runs = [row for row in results.runs.rows() if row["link.queue"] == 1.0]
    for name in ("cubic", "bbr3"):
        mean = sum(float(run["goodput"] or 0) for run in runs if run["flow.controller"] == name) / 2
        assert f"'kind': '{name}', 'y': {mean}," in str(drawn.to_dict())
    with pytest.raises(ac.AckclockError, match=r"link\.queue: \[0\.5, 1\.0, 2\.0\]"):
        results.plot("goodput", "flow.controller", color="row", where={"link.queue": "1 BDP"})
    assert "goodput" in results.runs
    assert list(results.runs) == results.runs.columns
    with pytest.raises(KeyError, match=r"no column 'goodputt'; columns: .*goodput"):
        results.runs["goodputt"]
    with pytest.raises(ac.AckclockError, match="no column goodputt"):
        results.plot("goodputt")
    with pytest.raises(ac.AckclockError, match="series"):
        ac.Experiment("lessons/1-slow-start").set("series", "off").simulate().plot()


def test_thinning_keeps_the_extremes() -> None:
    times = [i / 100 for i in range(10_000)]
    values: list[float | None] = [0.0] * 10_000
    values[4321], values[1234], values[17] = 99.0, -99.0, None
    thin = list(thinned(times, values, 100))
    assert len(thin) <= 100
    assert {(43.21, 99.0), (12.34, -99.0)} <= set(thin)
    assert thin == sorted(thin)
    assert list(thinned(times[:5], [1.0, None, float("nan"), 2.0, 3.0], 100)) == [
        (0.0, 1.0),
        (0.03, 2.0),
        (0.04, 3.0),
    ]
    assert list(thinned([1.0] * 1000, [2.0] * 1000, 10)) == [(1.0, 2.0)]
