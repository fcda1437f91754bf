"""Reads dashboards into the types that Grafana publishes, and prints each key and each value that these do not have."""

import enum
import json
import sys
import typing

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(given, kept, place):
    """Keys that the types dropped."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(kept, dict) or key not in kept:
                yield f"{place}/{key}: no such key"
            else:
                yield from lost(value, kept[key], f"{place}/{key}")
    elif isinstance(given, list):
        for i, value in enumerate(given):
            yield from lost(value, kept[i] if i < len(kept) else None, f"{place}/{i}")
    elif given != kept:
        yield f"{place}: {given!r} became {kept!r}"


def unlisted(value, hint, place):
    """Values that are none of those that their type lists."""
    for option in typing.get_args(hint) or [hint]:
        if isinstance(option, type) and issubclass(option, enum.Enum) and isinstance(value, (str, int)):
            if value not in [one.value for one in option]:
                yield f"{place}: {value!r} is no {option.__name__}"
    if isinstance(value, list):
        inner = next(iter(typing.get_args(hint)), None)
        for i, one in enumerate(value):
            yield from unlisted(one, inner, f"{place}/{i}")
    elif hasattr(value, "to_json"):
        hints = typing.get_type_hints(type(value))
        for name, one in vars(value).items():
            yield from unlisted(one, hints.get(name), f"{place}/{name}")


register_default_plugins()
faults = []
for path in sys.argv[1:]:
    with open(path) as file:
        given = json.load(file)
    dashboard = Dashboard.from_json(given)
    faults += lost(given, json.loads(JSONEncoder().encode(dashboard)), path)
    faults += unlisted(dashboard, Dashboard, path)
print("\n".join(faults) or f"{len(sys.argv) - 1} dashboards are as Grafana's schema has them")
sys.exit(1 if faults else 0)
