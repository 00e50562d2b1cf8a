"""Prints goodput by controller and link.queue, with DuckDB.

Usage: python goodput_duckdb.py results/study/0123456789ab
"""
import sys
from pathlib import Path

import duckdb

path = str(Path(sys.argv[1]) / "flows.parquet")
metadata = duckdb.execute("SELECT key, value FROM parquet_kv_metadata(?)", [path]).fetchall()
units = {key.decode(): value.decode() for key, value in metadata}
table = duckdb.execute(
    """
    SELECT algorithm, "link.queue", avg(goodput)
    FROM read_parquet(?)
    GROUP BY ALL
    ORDER BY ALL
    """,
    [path],
).fetchall()
print(f"goodput in {units['unit:goodput']}, link.queue in {units['unit:link.queue']}")
for row in table:
    print("%s %g %.3f" % row)
