"""Client of the Chain Metrics API."""

from .client import ChainMetrics
from .errors import (
    ApiError,
    ChainMetricsError,
    ConnectionFailed,
    InvalidParameters,
    Issue,
    RateLimited,
    Unauthorized,
    Unavailable,
    UnknownChain,
)
from .metrics import METRICS, Metric

__all__ = [
    "METRICS",
    "ApiError",
    "ChainMetrics",
    "ChainMetricsError",
    "ConnectionFailed",
    "InvalidParameters",
    "Issue",
    "Metric",
    "RateLimited",
    "Unauthorized",
    "Unavailable",
    "UnknownChain",
]
