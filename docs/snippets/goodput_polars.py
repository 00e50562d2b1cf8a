"""Prints goodput by controller and link.queue, with polars.

Usage: python goodput_polars.py results/study/0123456789ab
"""
import json
import sys
from pathlib import Path

import polars as pl

folder = Path(sys.argv[1])
units = {c["name"]: c["unit"] for c in json.loads((folder / "columns.json").read_text())["flows.parquet"]}
flows = pl.read_parquet(folder / "flows.parquet")
table = flows.group_by("algorithm", "link.queue").agg(pl.col("goodput").mean()).sort("algorithm", "link.queue")
print(f"goodput in {units['goodput']}, link.queue in {units['link.queue']}")
for row in table.iter_rows():
    print("%s %g %.3f" % row)
