"""Values of Python as TOML, with their order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any


def text(values: Mapping[str, Any]) -> str:
    """Return a dict as a file: values first, then tables."""
    lines, tables = [], []
    for key, value in values.items():
        if isinstance(value, Mapping):
            tables.append((f"[{_key(key)}]", value))
        elif (
            isinstance(value, (list, tuple))
            and value
            and all(isinstance(v, Mapping) for v in value)
        ):
            tables += [(f"[[{_key(key)}]]", item) for item in value]
        else:
            lines.append(f"{_key(key)} = {inline(value)}")
    for head, table in tables:
        # Tables inside are in one line, so that the order of keys is that of the dict.
        lines += ["", head, *(f"{_key(key)} = {inline(item)}" for key, item in table.items())]
    return "\n".join(lines).strip() + "\n"


def inline(value: Any) -> str:
    """Return a value in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    # Subclasses have texts of their own, such as np.float64(0.1).
    if isinstance(value, str):
        # A string of JSON is one of TOML, but for the character DEL.
        text = json.dumps(str.__str__(value), ensure_ascii=False)
        return text.replace("\x7f", "\\u007f")
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items()) + " }"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(inline, value)) + "]"
    if hasattr(value, "tolist"):
        # Numbers and arrays of other libraries, such as numpy.
        return inline(value.tolist())
    message = (
        f"{value!r:.80} is no value for an experiment; give a text, a number, a list or a dict"
    )
    raise TypeError(message)


def _key(key: object) -> str:
    if not isinstance(key, str):
        message = f"{key!r:.80} is no key; keys are texts"
        raise TypeError(message)
    is_bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if is_bare else inline(key)
