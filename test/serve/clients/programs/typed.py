"""What a type checker knows of the Python client. Never run."""

from datetime import date

from chain_metrics import ChainMetrics

client = ChainMetrics("https://metrics.example.org")

for row in client.rows("daily-fees", chain="polkadot", start_date=date(2025, 1, 1)):
    day: str = row["date"]
    fees: float | None = row["total_fees"]
    row["nothing"]  # type: ignore[typeddict-item]
client.rows("/api/contracts-search", addresses=["0x" + "1" * 40], limit=10)

client.rows("daily-tp")  # type: ignore[call-overload]
client.rows("daily-tps", accounts=["x"])  # type: ignore[call-overload]
client.rows("daily-summary", start_date="2025-01-01")  # type: ignore[call-overload]
client.frame("daily-tps", "polars").with_columns()
client.frame("daily-tp")  # type: ignore[call-overload]
