"""Writes `grafana.json`, the dashboard of the metrics of Keepwhole proxies: `python -m deploy.make_dashboard`."""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "grafana.json"
_WIDTH, _HEIGHT = 8, 8
_PANELS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("Requests a second", "reqps", {"{{outcome}}": "sum by (outcome) (rate(keepwhole_proxy_requests_total[5m]))"}),
    ("Being answered now", "short", {"{{instance}}": "keepwhole_proxy_active"}),
    (
        "Seconds to the first byte, on average",
        "s",
        {
            "first byte": "sum(rate(keepwhole_proxy_first_byte_seconds_total[5m]))"
            " / sum(rate(keepwhole_proxy_requests_total[5m]))",
            "last byte": "sum(rate(keepwhole_proxy_request_seconds_total[5m]))"
            " / sum(rate(keepwhole_proxy_requests_total[5m]))",
        },
    ),
    (
        "Tokens a second, about",
        "short",
        {
            "meant by clients": "sum(rate(keepwhole_proxy_tokens_whole_total[5m]))",
            "sent": "sum(rate(keepwhole_proxy_tokens_sent_total[5m]))",
        },
    ),
    (
        "Billed input tokens a second",
        "short",
        {
            "all": "sum(rate(keepwhole_proxy_input_tokens_total[5m]))",
            "from caches": "sum(rate(keepwhole_proxy_cached_tokens_total[5m]))",
            "expected from caches": "sum(rate(keepwhole_proxy_foreseen_cached_tokens_total[5m]))",
        },
    ),
    (
        "Results that are shown otherwise from now on, a minute",
        "short",
        {"decisions": "60 * sum(rate(keepwhole_proxy_decisions_total[5m]))"},
    ),
    (
        "Read back by models, rounds a minute",
        "short",
        {"rounds": "60 * sum(rate(keepwhole_proxy_recall_rounds_total[5m]))"},
    ),
    (
        "Not stored, sent in full",
        "short",
        {"{{instance}}": "sum by (instance) (increase(keepwhole_proxy_unstored_total[5m]))"},
    ),
    ("Turned away", "short", {"{{instance}}": "increase(keepwhole_proxy_turned_away_total[5m])"}),
    ("Share of results shown in part", "percentunit", {"{{instance}}": "keepwhole_truncation_rate"}),
    ("Share of calls without a stored result", "percentunit", {"{{instance}}": "keepwhole_tool_result_missing_rate"}),
    ("Share of calls made again while hidden", "percentunit", {"{{instance}}": "keepwhole_tool_refetch_rate"}),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it; the data source is asked for then."""
    return {
        "__inputs": [{"name": "DS", "label": "Prometheus", "type": "datasource", "pluginId": "prometheus"}],
        "title": "Keepwhole",
        "uid": "keepwhole",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "panels": [_panel(number, *panel) for number, panel in enumerate(_PANELS)],
    }


def _panel(number: int, title: str, unit: str, queries: dict[str, str]) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${DS}"}
    place = {"x": number % 3 * _WIDTH, "y": number // 3 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": source,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(65 + at), "expr": query, "legendFormat": legend, "datasource": source}
            for at, (legend, query) in enumerate(queries.items())
        ],
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(dashboard(), indent=2) + "\n", encoding="utf-8")
