"""Prints goodput by controller and link.queue, with pandas.

Usage: python goodput_pandas.py results/study/0123456789ab
"""
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

path = Path(sys.argv[1]) / "flows.parquet"
units = {key.decode(): value.decode() for key, value in pq.read_metadata(path).metadata.items()}
flows = pd.read_parquet(path)
table = flows.groupby(["algorithm", "link.queue"])["goodput"].mean()
print(f"goodput in {units['unit:goodput']}, link.queue in {units['unit:link.queue']}")
for (algorithm, queue), goodput in table.items():
    print(f"{algorithm} {queue:g} {goodput:.3f}")
