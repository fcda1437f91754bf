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

#: What the server answers to a request that it did not begin to work on.
_NOT_BEGUN = (429, 503)
_NETWORK_FAILURES = (
    requests.exceptions.ConnectionError,
    requests.exceptions.Timeout,
    requests.exceptions.ChunkedEncodingError,
)
_FIRST_WAIT_SECONDS = 0.5
_WAIT_SECONDS_MAX = 8.0


class ChainMetrics:
    """A server of the Chain Metrics API.

    :param base_url: address of the server, as `https://metrics.example.org`
    :param api_key: API key or access token; without one the limits for anonymous callers apply
    :param timeout: seconds that the server may take to connect, and from byte to byte of an answer
    :param tries_max: most requests for one page, the first included
    :param retry_seconds_max: longest time from the first request to the beginning of the last; a longer
        `Retry-After` is not waited for
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
            raise ValueError(f"no address of a server: {base_url!r}; it begins with https:// or http://")
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

            The metric is named by its path (`"/api/daily-tps"`) or the end of it (`"daily-tps"`); parameters are
            those of the path, and `limit` is the most rows of one page.
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
        """All rows of a metric as a data frame, with the types that the server stores: days, times, whole numbers.

        Amounts in planck are decimals and exact.
        """
        if library not in LIBRARIES:
            raise ValueError(f"no library for data frames: {library!r}; one of {', '.join(LIBRARIES)}")
        path = _path_of(metric)
        pages = self._pages(path, {**parameters, "format": "parquet"})
        return LIBRARIES[library]((page.content for page in pages), PLANCK.get(path, ()))

    def get(self, path: str, **parameters: Any) -> Any:
        """The answer of any path in JSON, as `get("/api/status")`."""
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
        """Sends a request again that a busy server refused or the network lost."""
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
                if response.status_code not in _NOT_BEGUN:
                    raise failure
            if wait is None:
                wait = _back_off(tries)
            if tries >= self._tries_max or time.monotonic() + wait > end:
                raise failure
            time.sleep(wait)
        raise ValueError("tries_max is at least 1")


class _Bearer(requests.auth.AuthBase):
    """Sends the key, and keeps requests from sending what a file of passwords has for the server."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


def _path_of(metric: str) -> str:
    """A path is taken as it is, so that a newer server can have paths that this package does not know."""
    if metric.startswith("/"):
        return metric
    if metric in METRICS:
        return METRICS[metric]
    near = get_close_matches(metric, METRICS, 1)
    raise ValueError(f"no metric is named {metric!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def _warn_of_unknown_chain(response: requests.Response, parameters: Mapping[str, Any]) -> None:
    """Rows of no chain are none, which is no error to the server and mostly a typo of the caller."""
    told = response.headers.get("X-Unknown-Chain")
    if told is not None:
        warnings.warn(f"{parameters.get('chain')}: {told}", UnknownChain, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The stack level of the line outside of this package, by which Python shows a warning once for each such line."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level += 1
        frame = frame.f_back
    return level


def _retry_after(response: requests.Response) -> float | None:
    """Seconds until the time that the server names, in seconds or as a date (RFC 9110 §10.2.3)."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return None


def _back_off(tries: int) -> float:
    """Doubles with each try, and is random so that clients do not return all at once."""
    return min(_WAIT_SECONDS_MAX, _FIRST_WAIT_SECONDS * 2.0 ** (tries - 1)) * random.uniform(0.5, 1.0)
