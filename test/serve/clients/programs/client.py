"""What a user of the Python client writes. Runs the functions that it is given the names of, and prints their answers."""

import ast
import contextlib
import datetime
import decimal
import io
import json
import sys
import warnings

from chain_metrics import METRICS, ApiError, ChainMetrics, ConnectionFailed, InvalidParameters, RateLimited, Unauthorized, UnknownChain


def every_path(given):
    client = ChainMetrics(given["origin"], given["key"])
    return {one["path"]: list(client.rows(one["path"], **one["query"])) for one in given["asked"]}


def frames(given):
    """The rows of every path as frames have them, written as JSON has them."""
    client = ChainMetrics(given["origin"], given["key"])
    found = {}
    for name, path in METRICS.items():
        query = next(one["query"] for one in given["asked"] if one["path"] == path)
        found[path] = [
            {column: written(column, value) for column, value in row.items()}
            for row in client.frame(name, "pyarrow", **query).to_pylist()
        ]
    return found


def written(column, value):
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        assert column.endswith("_planck"), column
        return f"{value:f}"
    assert not column.endswith("_planck") or value is None, column
    return value


def libraries(given):
    """The same column in both libraries: its type, its values, and their exact sum."""
    client = ChainMetrics(given["origin"], given["key"])
    pandas = client.frame("daily-fees", chain="polkadot")
    polars = client.frame("daily-fees", "polars", chain="polkadot", limit=5)
    texts = [row["total_fees_planck"] for row in client.rows("daily-fees", chain="polkadot")]
    column = "total_fees_planck"
    return {
        "types": [str(pandas.dtypes[name]) for name in ("date", column)],
        "schema": [str(polars.schema["date"]), str(polars.schema[column])],
        "planck": [
            [str(value) for value in pandas[column].tolist()] == texts,
            [str(value) for value in polars[column].to_list()] == texts,
            int(pandas[column].sum()) == sum(map(int, texts)),
        ],
    }


def many_rows(given):
    client = ChainMetrics(given["origin"], given["key"])
    values = [row["num_blocks"] for row in client.rows("daily-tps", **given["many"])]
    return [len(values), sum(values)]


def anonymous(given):
    with ChainMetrics(given["origin"]) as client:
        return [len(client.get("/api/daily-tps", limit=1)) for _ in range(given["anonymousRequests"])]


def errors(given):
    client = ChainMetrics(given["origin"], given["key"])
    told = []
    for known, call in [
        (InvalidParameters, lambda: client.frame("daily-summary", start_date="2026-11-02", end_date="2026-11-01")),
        (Unauthorized, lambda: next(ChainMetrics(given["origin"], "cmk_wrong").rows("daily-tps"))),
        (ApiError, lambda: client.get("/api/nothing")),
        (ApiError, lambda: ChainMetrics(given["origin"], given["token"]).get("/api/v4/projects/1/alerts", order_by="x")),
    ]:
        try:
            call()
        except known as error:
            told.append([error.status, error.code, error.message, [issue.parameter for issue in error.issues]])
    return told


def unknown_chain(given):
    """A misspelt chain gives no rows and a warning; one that is known gives none."""
    client = ChainMetrics(given["origin"], given["key"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        client.frame("daily-tps", chain="polkadot", limit=1000)
        rows = [len(client.frame("daily-tps", chain="polkadott")), len(list(client.rows("daily-tps", chain="polkadott")))]
    assert all(one.category is UnknownChain for one in told)
    return [rows, [str(one.message) for one in told]]


def limits(given):
    """Without tries to come: what is refused, and what is not there."""
    told = []
    hasty = ChainMetrics(given["origin"], retry_seconds_max=0)
    try:
        for _ in range(given["anonymousRequests"]):
            hasty.get("/api/daily-tps", limit=1)
    except RateLimited as error:
        told.append([error.status, error.code, error.retry_after])
    try:
        ChainMetrics("http://127.0.0.1:1", tries_max=2).get("/api/status")
    except ConnectionFailed:
        told.append("not there")
    for wrong in (lambda: hasty.rows("daily-tp"), lambda: hasty.frame("daily-tps", "numpy")):
        try:
            list(wrong())
        except ValueError as error:
            told.append(str(error))
    return told


def code_samples(given):
    """Parses the samples of all operations, and runs those of metrics as they are."""
    for source in given["read"]:
        ast.parse(source)
    for source in given["run"]:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(source, {})
    return [len(given["read"]), len(given["run"])]


asked = json.load(sys.stdin)
json.dump({name: globals()[name](asked) for name in sys.argv[1:]}, sys.stdout)
