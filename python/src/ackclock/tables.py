"""Tables with units, which any Arrow library reads without a copy."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _ackclock

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Value = str | int | float | None

#: Rows that a notebook shows.
_SHOWN = 20


class Table:
    """A table of named columns.

    It has Arrow's PyCapsule interface, so that ``polars.DataFrame(table)``,
    ``pyarrow.table(table)`` and DuckDB read it as it is, without a copy.

    >>> import ackclock as ac
    >>> table = ac.metrics()
    >>> "goodput" in table["name"]
    True
    """

    def __init__(self, inner: _ackclock.Table) -> None:
        self._inner = inner

    def __arrow_c_schema__(self) -> object:
        return self._inner.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return self._inner.columns

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column that has one."""
        return self._inner.metadata("unit")

    @property
    def descriptions(self) -> dict[str, str]:
        """Description of each column that has one."""
        return self._inner.metadata("description")

    @property
    def keys(self) -> list[str]:
        """Columns that are keys of the experiment, which vary or were set."""
        roles = self._inner.metadata("role")
        return [name for name in self.columns if name in roles]

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, column: str) -> list[Any]:
        """Values of a column; None where there is no value."""
        if column not in self.columns:
            message = f"no column {column!r}; columns: {', '.join(self.columns)}"
            raise KeyError(message)
        return self._inner.column(column)

    def __contains__(self, column: object) -> bool:
        """Whether there is a column with this name."""
        return column in self.columns

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the columns."""
        return iter(self.columns)

    def rows(self) -> Iterator[dict[str, Value]]:
        """Yield each row as a dict."""
        columns = [self[name] for name in self.columns]
        for values in zip(*columns, strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return all columns as lists."""
        return {name: self[name] for name in self.columns}

    def to_polars(self) -> polars.DataFrame:
        """Return a frame of polars, which must be installed."""
        frame: polars.DataFrame = _library("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame of pandas, which must be installed, with pyarrow before pandas 3."""
        read = getattr(_library("pandas").DataFrame, "from_arrow", None)
        frame: pandas.DataFrame = read(self) if read else self.to_pyarrow().to_pandas()
        return frame

    def to_pyarrow(self) -> pyarrow.Table:
        """Return a table of pyarrow, which must be installed."""
        table: pyarrow.Table = _library("pyarrow").table(self)
        return table

    def __repr__(self) -> str:
        return f"<ackclock.Table: {len(self)} rows, columns {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        units = self.units
        titles = [f"{name} [{units[name]}]" if name in units else name for name in self.columns]
        head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
        body = []
        for number, row in enumerate(self.rows()):
            if number == _SHOWN:
                body.append(f"<tr><td>and {len(self) - _SHOWN} more rows</td></tr>")
                break
            cells = "".join(f"<td>{_cell(value)}</td>" for value in row.values())
            body.append(f"<tr>{cells}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _cell(value: Value) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as why:
        message = f"{name} is not installed; install it with `pip install {name}`"
        raise ImportError(message, name=name) from why
