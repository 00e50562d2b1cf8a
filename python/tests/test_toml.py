"""A dict is a file, and back."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from ackclock import _toml

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st  # noqa: E402

if sys.version_info < (3, 11):
    pytest.skip("tomllib is in Python 3.11 and later", allow_module_level=True)
import tomllib  # noqa: E402

# TOML has no surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LEAVES = TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20
)


@hypothesis.given(st.dictionaries(TEXTS, VALUES))
def test_there_and_back(values: dict[str, Any]) -> None:
    text = _toml.text(values)
    back = tomllib.loads(text)
    assert back == values
    assert _types(back) == _types(values)
    assert _order(back) == _order(values)


@hypothesis.given(st.dictionaries(TEXTS, VALUES))
def test_an_inline_value(values: dict[str, Any]) -> None:
    assert tomllib.loads(f"x = {_toml.inline(values)}")["x"] == values


def _types(value: Any) -> Any:
    """Return the types inside a value: 1, 1.0 and True are equal otherwise."""
    if isinstance(value, dict):
        return {key: _types(item) for key, item in value.items()}
    return [_types(item) for item in value] if isinstance(value, list) else type(value)


def _order(value: Any) -> Any:
    """Return the keys in order, below the first level, where values come before tables."""
    if isinstance(value, dict):
        return sorted(
            (key, list(item) if isinstance(item, dict) else None) for key, item in value.items()
        )
    return None


@pytest.mark.parametrize("value", [None, {1: 2}, {"a": object()}, {"a": b"x"}, {"a": {2, 3}}])
def test_values_that_no_file_has(value: Any) -> None:
    with pytest.raises(TypeError, match="is no"):
        _toml.text({"x": value})


def test_numbers_without_an_end() -> None:
    assert tomllib.loads(_toml.text({"x": math.inf, "y": -math.inf}))["x"] == math.inf
    assert "nan" in _toml.text({"x": math.nan})
