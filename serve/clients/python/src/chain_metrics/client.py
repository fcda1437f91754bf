"""The client of the Chain Metrics API."""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, overload
from urllib.parse import parse_qs, urlsplit

import requests

from .errors import ChainMetricsError, ConnectionFailed, UnknownChain, error_of
from .frames import LIBRARIES
from .metrics import METRICS, PLANCK

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from .metrics import Metric, Rows

#: With these statuses the server has not started to process the request.
_RETRIABLE = (429, 503)
_NETWORK_FAILURES = (
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
)
_FIRST_WAIT_SECONDS = 0.5
_WAIT_SECONDS_MAX = 8.0


class ChainMetrics:
    """A client of a Chain Metrics server.

    :param base_url: URL of the server, such as `https://metrics.example.org`
    :param api_key: API key or access token; without it the limits for anonymous callers apply
    :param timeout: seconds to wait for a connection, and for each read of a response
    :param tries_max: maximum number of requests for one page, including the first
    :param retry_seconds_max: maximum seconds from the first request to the start of the last; if `Retry-After`
        is longer, the client does not retry
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        tries_max: int = 5,
        retry_seconds_max: float = 120.0,
    ) -> None:
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ValueError(f"invalid base_url {base_url!r}: it must start with https:// or http://")
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._tries_max = tries_max
        self._retry_seconds_max = retry_seconds_max
        self._session = requests.Session()
        self._session.headers["User-Agent"] = f"chain-metrics/{version('chain-metrics')}"
        if api_key is not None:
            self._session.auth = _Bearer(api_key)

    def __enter__(self) -> ChainMetrics:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.close()

    if TYPE_CHECKING:

        @property
        def rows(self) -> Rows:
            """Iterates over all rows of a metric, page by page.

            `metric` is its path (`"/api/daily-tps"`) or the path without `/api/` (`"daily-tps"`). The parameters are
            those of the path; `limit` is the maximum number of rows of one page.
            """

    else:

        def rows(self, metric: str, **parameters: Any) -> Iterator[dict[str, Any]]:
            for page in self._pages(_path_of(metric), {**parameters, "format": "json"}):
                yield from page.json()

    @overload
    def frame(self, metric: Metric, library: Literal["pandas"] = ..., **parameters: Any) -> pandas.DataFrame: ...
    @overload
    def frame(self, metric: Metric, library: Literal["polars"], **parameters: Any) -> polars.DataFrame: ...
    @overload
    def frame(self, metric: Metric, library: Literal["pyarrow"], **parameters: Any) -> pyarrow.Table: ...

    def frame(self, metric: str, library: str = "pandas", **parameters: Any) -> Any:
        """Returns all rows of a metric as a data frame with typed columns: dates, times, integers.

        Amounts in planck are exact decimals.
        """
        if library not in LIBRARIES:
            raise ValueError(f"unknown library {library!r}: use one of {', '.join(LIBRARIES)}")
        path = _path_of(metric)
        pages = self._pages(path, {**parameters, "format": "parquet"})
        return LIBRARIES[library]((page.content for page in pages), PLANCK.get(path, ()))

    def get(self, path: str, **parameters: Any) -> Any:
        """Returns the JSON of any path, such as `get("/api/status")`."""
        return self._answer(path, parameters).json()

    def _pages(self, path: str, parameters: Mapping[str, Any]) -> Iterator[requests.Response]:
        cursor: dict[str, str] = {}
        while True:
            page = self._answer(path, {**parameters, **cursor})
            yield page
            link = page.links.get("next")
            if link is None:
                return
            cursor = {"cursor": parse_qs(urlsplit(link["url"]).query)["cursor"][0]}

    def _answer(self, path: str, parameters: Mapping[str, Any]) -> requests.Response:
        """Sends a request, and retries it after 429, 503 and network failures."""
        end = time.monotonic() + self._retry_seconds_max
        for tries in range(1, self._tries_max + 1):
            failure: ChainMetricsError
            try:
                response = self._session.get(self._base_url + path, params=parameters, timeout=self._timeout)
            except _NETWORK_FAILURES as error:
                failure, wait = ConnectionFailed(f"{self._base_url}{path}: {error}"), None
            else:
                if response.ok:
                    _warn_of_unknown_chain(response, parameters)
                    return response
                wait = _retry_after(response)
                failure = error_of(response, wait)
                if response.status_code not in _RETRIABLE:
                    raise failure
            if wait is None:
                wait = _back_off(tries)
            if tries >= self._tries_max or time.monotonic() + wait > end:
                raise failure
            time.sleep(wait)
        raise ValueError("tries_max must be at least 1")


class _Bearer(requests.auth.AuthBase):
    """Sends the key. Without it, requests would send the credentials that a netrc file has for the server."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def _path_of(metric: str) -> str:
    """Accepts any path, because a newer server may have paths that this package does not list."""
    if metric.startswith("/"):
        return metric
    if metric in METRICS:
        return METRICS[metric]
    near = get_close_matches(metric, METRICS, 1)
    raise ValueError(f"there is no metric {metric!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def _warn_of_unknown_chain(response: requests.Response, parameters: Mapping[str, Any]) -> None:
    """Warns of an unknown chain, for which the server returns no rows instead of an error."""
    hint = response.headers.get("X-Unknown-Chain")
    if hint is not None:
        warnings.warn(f"{parameters.get('chain')}: {hint}", UnknownChain, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The stack level of the caller of this package. Python shows a warning once per line of that level."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level += 1
        frame = frame.f_back
    return level


def _retry_after(response: requests.Response) -> float | None:
    """Seconds to wait, from `Retry-After` in seconds or as a date (RFC 9110 §10.2.3)."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return None


def _back_off(tries: int) -> float:
    """Doubles with each try, with jitter, so that clients do not retry at the same time."""
    return min(_WAIT_SECONDS_MAX, _FIRST_WAIT_SECONDS * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)
