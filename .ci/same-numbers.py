"""Compares two results folders: every number must be the same bit for bit; words may differ.

Usage: same-numbers.py OLD NEW. Exit status: 0 if the numbers are the same, else 1.
Columns of Parquet files are compared with pyarrow where it is installed, else as bytes.
"""

import csv
import json
import sys
from pathlib import Path

OLD, NEW = Path(sys.argv[1]), Path(sys.argv[2])
LEFT_OUT = {"manifest.toml", "SHA256SUMS"}
problems = []


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def walk(old, new, where):
    """Compares two JSON values: shape and numbers, not strings."""
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            problems.append(f"{where}: keys {sorted(set(old) ^ set(new))}")
            return
        for key in old:
            walk(old[key], new[key], f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            problems.append(f"{where}: {len(old)} and {len(new)} entries")
            return
        for index, (a, b) in enumerate(zip(old, new)):
            walk(a, b, f"{where}[{index}]")
    elif isinstance(old, str) and isinstance(new, str):
        pass
    elif old != new or type(old) is not type(new):
        problems.append(f"{where}: {old} and {new}")


def compare_csv(name):
    rows = [list(csv.reader(open(side / name, newline=""))) for side in (OLD, NEW)]
    if [len(r) for r in rows[0]] != [len(r) for r in rows[1]]:
        problems.append(f"{name}: rows or columns differ")
        return
    for line, (old, new) in enumerate(zip(*rows), 1):
        for column, (a, b) in enumerate(zip(old, new), 1):
            if a != b and (is_number(a) or is_number(b) or line == 1):
                problems.append(f"{name}:{line}:{column}: {a} and {b}")


def compare_parquet(name):
    old, new = (side / name for side in (OLD, NEW))
    if old.read_bytes() == new.read_bytes():
        return
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        problems.append(f"{name}: bytes differ (install pyarrow to compare the columns alone)")
        return
    tables = [parquet.read_table(path).replace_schema_metadata(None) for path in (old, new)]
    if tables[0].column_names != tables[1].column_names:
        problems.append(f"{name}: columns differ")
        return
    for column in tables[0].column_names:
        if not tables[0][column].combine_chunks().equals(tables[1][column].combine_chunks()):
            problems.append(f"{name}: column {column}")


def files(root):
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {str(path) for path in found if path.name not in LEFT_OUT}


for name in sorted(files(OLD) ^ files(NEW)):
    problems.append(f"{name}: in one folder only")
for name in sorted(files(OLD) & files(NEW)):
    if name.endswith(".json"):
        walk(*(json.loads((side / name).read_text()) for side in (OLD, NEW)), name)
    elif name.endswith(".csv"):
        compare_csv(name)
    elif name.endswith(".parquet"):
        compare_parquet(name)
    elif (OLD / name).read_bytes() != (NEW / name).read_bytes():
        problems.append(f"{name}: bytes differ")
for problem in problems[:20]:
    print(f"differs: {NEW}: {problem}")
sys.exit(1 if problems else 0)
