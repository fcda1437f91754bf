"""Builds data frames from pages in Parquet. Amounts in planck become decimals, so no value loses digits."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable
from typing import Any


def arrow_table(pages: Iterable[bytes], planck: Collection[str]) -> Any:
    """A `pyarrow.Table`. Amounts in planck are `decimal256(76, 0)`, which is wide enough for every amount."""
    arrow = _package("pyarrow", "pyarrow")
    parquet = _package("pyarrow.parquet", "pyarrow")
    table = arrow.concat_tables([parquet.read_table(io.BytesIO(page)) for page in pages])
    exact = arrow.decimal256(76, 0)
    for name in planck:
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table.column(at).cast(exact))
    return table


def pandas_frame(pages: Iterable[bytes], planck: Collection[str]) -> Any:
    """A `pandas.DataFrame` with Arrow types, so that integers with missing values stay integers."""
    pandas = _package("pandas", "pandas")
    _package("pyarrow", "pandas")
    return arrow_table(pages, planck).to_pandas(types_mapper=pandas.ArrowDtype)


def polars_frame(pages: Iterable[bytes], planck: Collection[str]) -> Any:
    """A `polars.DataFrame`. Its decimals have 38 digits; a longer amount raises an error."""
    polars = _package("polars", "polars")
    frame = polars.concat([polars.read_parquet(io.BytesIO(page)) for page in pages])
    return frame.with_columns(polars.col(name).cast(polars.Decimal(38, 0)) for name in planck)


LIBRARIES = {"pandas": pandas_frame, "polars": polars_frame, "pyarrow": arrow_table}


def _package(name: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}; install it with: pip install 'chain-metrics[{extra}]'") from error
