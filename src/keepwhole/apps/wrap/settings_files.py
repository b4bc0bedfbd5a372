"""Clients' own settings files, as far as they say where requests go.

Owns: that a file that is not there, too large or not readable counts as empty; the client reports it itself.
"""

import json
from collections.abc import Mapping
from typing import Any

from keepwhole.apps.hooks.payload import Json, mapping
from keepwhole.store.regular_file import read_regular

_LARGEST = 4 * 1_048_576


def read_json(path: str) -> Json:
    """The object in a JSON file."""
    try:
        return mapping(json.loads(read_regular(path, _LARGEST)))
    except (OSError, ValueError, RecursionError):
        return {}


def read_yaml(path: str) -> Json:
    """The mapping in a YAML file."""
    import yaml  # most clients have no such file

    try:
        return mapping(yaml.safe_load(read_regular(path, _LARGEST)))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}


def read_variables(path: str) -> dict[str, str]:
    """The variables of a `.env` file: lines `NAME=value`, with or without `export` and quotation marks."""
    try:
        lines = read_regular(path, _LARGEST).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return {}
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, equals, value in pairs if equals}


def text_fields(values: Mapping[str, Any]) -> dict[str, str]:
    """Those fields of settings that are texts."""
    return {name: value for name, value in values.items() if isinstance(value, str) and value}
