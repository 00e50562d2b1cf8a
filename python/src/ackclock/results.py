"""Results of experiments, from a folder or in memory."""

from __future__ import annotations

import functools
import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _ackclock, plots
from .errors import AckclockError
from .tables import Table

if TYPE_CHECKING:
    import altair


class Results:
    """Stored results of an experiment.

    Its tables are those of the folder: see docs/src/reference/results.md.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._inner = _ackclock.Results(Path(path))

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __reduce__(self) -> tuple[type[Results], tuple[Path]]:
        return type(self), (self.path,)

    @property
    def path(self) -> Path:
        """The results folder."""
        return Path(self._inner.path)

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self._inner.name

    @property
    def title(self) -> str:
        """Title of the experiment."""
        return self._inner.title

    @functools.cached_property
    def summary(self) -> Table:
        """The table of the report: means, deviations (``_sd``) and published values."""
        return Table(self._inner.table("summary"))

    @functools.cached_property
    def runs(self) -> Table:
        """A row for each run: keys, seed, and every metric."""
        return Table(self._inner.table("runs"))

    @functools.cached_property
    def flows(self) -> Table:
        """A row for each flow of each run."""
        return Table(self._inner.table("flows"))

    @functools.cached_property
    def series(self) -> Table:
        """Time series of every flow, if the experiment records them."""
        return Table(self._inner.table("series"))

    @functools.cached_property
    def rtt_cdf(self) -> Table:
        """Distribution of the RTT."""
        return Table(self._inner.table("rtt_cdf"))

    @functools.cached_property
    def claims(self) -> Table:
        """The claims of the source with their verdicts and the reasons of deviations."""
        return Table(self._inner.table("claims"))

    def report(self, folder: str | os.PathLike[str] | None = None) -> Path:
        """Write the report as HTML, by default beside the results. Return the path of its page."""
        if folder is None:
            folder = self.path.parent / f"report-{self.path.name}"
        return Path(self._inner.report(Path(folder)))

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as ``ackclock run --json`` prints it."""
        loaded: dict[str, Any] = json.loads(self._inner.json)
        return loaded

    def plot(
        self,
        y: str = "goodput",
        x: str | None = None,
        *,
        color: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> altair.Chart | altair.LayerChart:
        """Draw a metric over a key of the experiment, with means and deviations.

        Args:
            y: a metric.
            x: the key; by default the first that varies.
            color: the key that separates lines or bars; by default the second.
            where: values of all other keys that vary, as in ``{"link.loss": 0.0}``.
        """
        return plots.of_runs(self.runs, y, x, color, where or {})

    def __str__(self) -> str:
        return self._inner.text(False)

    def __repr__(self) -> str:
        return f"<ackclock.Results {self.name}: {self.path}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class Run(Results):
    """One run, in memory. Its tables are those of results.

    Attributes:
        metrics: the metrics of the run by their names, without those that have no value.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        # The folder is about to be removed.
        for table in ("summary", "runs", "flows", "series", "rtt_cdf"):
            getattr(self, table)
        units = set(self.runs.columns) - {
            "variant",
            "row",
            "repetition",
            "seed",
            "audit",
            *self.runs.keys,
        }
        values = {name: self.runs[name][0] for name in self.runs.columns if name in units}
        self.metrics: dict[str, float] = {
            name: value for name, value in values.items() if value is not None
        }

    @property
    def path(self) -> Path:
        """No folder: a run is in memory."""
        message = "a run in memory has no folder; use `Experiment.run` to store results"
        raise AckclockError(message)

    def report(self, folder: str | os.PathLike[str] | None = None) -> Path:
        """Write the report as HTML to a folder. Return the path of its page."""
        if folder is None:
            message = "a run in memory has no folder; name one for the report"
            raise AckclockError(message)
        return super().report(folder)

    def plot(  # type: ignore[override]
        self, *columns: str
    ) -> altair.VConcatChart:
        """Draw columns of the time series, one below the other, with a colour for each flow.

        Args:
            columns: names of columns; by default the window, the smoothed RTT and the goodput.
        """
        labels = self.flows["label"]
        names = {
            flow: f"{flow} {label}" for flow, label in zip(self.flows["flow"], labels, strict=True)
        }
        shown = columns or ("cwnd_bytes", "smoothed_rtt_ms", "goodput_mbit_s")
        return plots.of_series(self.series, shown, names)

    def __repr__(self) -> str:
        return f"<ackclock.Run of {self.name}>"


def read(path: str | os.PathLike[str]) -> Results:
    """Open stored results, and check their sums.

    Args:
        path: a results folder, or a folder with one below it: the newest is opened.
    """
    path = Path(path)
    if (path / "summary.json").is_file():
        return Results(path)
    found = _ackclock.stored(path)
    if not found:
        message = f"{path}: no results; create some with `Experiment.run` or `ackclock run`"
        raise AckclockError(message)
    return Results(found[-1])
