"""Prints the share of time that BBRv3 spends in each state, by queue, with polars.

Usage: python time_in_state_polars.py results/study/0123456789ab
"""

import sys
from pathlib import Path

import polars as pl

folder = Path(sys.argv[1])
flow = ["variant", "row", "repetition", "flow"]
algorithms = pl.read_parquet(folder / "flows.parquet").select(*flow, "algorithm")
series = pl.read_parquet(folder / "series.parquet").join(algorithms, on=flow)
states = series.filter(pl.col("algorithm") == "bbr3").drop_nulls("state")
shares = states.group_by("link.queue", "state").len().with_columns(share=pl.col("len") / pl.sum("len").over("link.queue"))
for queue, state, _, share in shares.sort("link.queue", "state").iter_rows():
    print(f"{queue:g} BDP {state} {share:.3f}")
