"""The errors and warnings of the client."""

from __future__ import annotations

from typing import Any, NamedTuple

import requests


class ChainMetricsError(Exception):
    """Base class of all errors of this package."""


class ConnectionFailed(ChainMetricsError):
    """The server could not be reached, or did not answer in time."""


class UnknownChain(UserWarning):
    """The requested chain does not exist on the server, so the answer has no rows."""


class Issue(NamedTuple):
    """An invalid parameter."""

    parameter: str
    type: str
    message: str


class ApiError(ChainMetricsError):
    """An error response of the server."""

    def __init__(self, status: int, code: str, message: str, issues: list[Issue], retry_after: float | None) -> None:
        super().__init__(message)
        self.status = status
        #: For example `too_many_requests`, `invalid_parameters` or `invalid_token`.
        self.code = code
        self.message = message
        #: The invalid parameters; empty for other errors.
        self.issues = issues
        #: Seconds to wait before the next request, from the header `Retry-After`.
        self.retry_after = retry_after


class InvalidParameters(ApiError):
    """422: a parameter is invalid."""


class Unauthorized(ApiError):
    """401: the API key or access token is invalid."""


class RateLimited(ApiError):
    """429: the rate limit is exceeded."""


class Unavailable(ApiError):
    """503: the server is busy, or a service that it needs is unavailable."""


_CLASSES = {401: Unauthorized, 422: InvalidParameters, 429: RateLimited, 503: Unavailable}
#: Codes of responses without an error code.
_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    422: "invalid_parameters",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}


def error_of(response: requests.Response, retry_after: float | None) -> ApiError:
    """Converts an error response."""
    status = response.status_code
    fields = _fields(response)
    detail = fields.get("detail")
    issues = [
        Issue(".".join(map(str, issue["loc"][1:])), issue["type"], issue["msg"])
        for issue in (detail if isinstance(detail, list) else [])
    ] or _issues_by_name(fields.get("errors"))
    texts = (detail, fields.get("message"), fields.get("error_description"))
    message = next((text for text in texts if isinstance(text, str)), None) or (
        "; ".join(f"{issue.parameter}: {issue.message}" for issue in issues) or f"The server answered {status}."
    )
    code = fields.get("error")
    return _CLASSES.get(status, ApiError)(
        status, code if isinstance(code, str) else _CODES.get(status, "error"), message, issues, retry_after
    )


def _issues_by_name(errors: object) -> list[Issue]:
    """Converts errors of `/api/v4`, which are lists of texts by parameter."""
    named = errors.items() if isinstance(errors, dict) else ()
    return [
        Issue(name, "value_error", str(text))
        for name, texts in named
        for text in (texts if isinstance(texts, list) else [texts])
    ]


def _fields(response: requests.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
