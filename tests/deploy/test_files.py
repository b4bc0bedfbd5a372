"""The units, alerts and dashboard of `deploy/` name commands and metrics that there are."""

import json
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.make_dashboard import FILE, dashboard
from keepwhole.apps.cli.main import GROUPS
from keepwhole.apps.cli.parser import parser_for
from keepwhole.apps.proxy.telemetry import Counters
from keepwhole.metrics import Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = DEPLOY / "keepwhole-proxy.service"
RULES: list[Any] = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
METRICS = set(re.findall(r"# TYPE (\S+)", Counters().text() + Metrics().prometheus()))
LABELS = {"instance", "outcome", "job"}
"""Those that Prometheus adds, and those of our counters that a query uses."""


def queries() -> list[str]:
    panels = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return panels + [rule["expr"] for rule in RULES]


def test_every_query_asks_for_metrics_and_labels_that_there_are() -> None:
    named = {name for query in queries() for name in re.findall(r"keepwhole_\w+", query)}
    assert named <= METRICS
    assert len(named) >= 12
    grouped = {label for query in queries() for label in re.findall(r"by \((\w+)\)", query)}
    assert grouped <= LABELS
    assert 'outcome="' in (Path(sys.modules[Counters.__module__].__file__ or "")).read_text(encoding="utf-8")


def test_the_dashboard_is_the_one_that_its_script_writes() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == dashboard()


def test_every_alert_says_what_happened_and_what_to_do() -> None:
    for rule in RULES:
        assert set(rule["annotations"]) == {"summary", "action"}
        assert rule["labels"]["severity"] in ("page", "ticket")


SERIES = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - name: {alert}
    interval: 1m
    input_series: [{series}]
    alert_rule_test:
      - {{eval_time: 3h, alertname: {alert}, exp_alerts: [{expected}]}}
"""
BAD: dict[str, dict[str, str]] = {
    "KeepwholeResultsNotStored": {'keepwhole_proxy_unstored_total{instance="a"}': "0+1x200"},
    "KeepwholeProxyDown": {'up{job="keepwhole", instance="a"}': "0+0x200"},
    "KeepwholeCacheLost": {
        "keepwhole_proxy_cached_tokens_total": "0+40x200",
        "keepwhole_proxy_foreseen_cached_tokens_total": "0+100x200",
    },
    "KeepwholeResultsMissing": {'keepwhole_tool_result_missing_rate{instance="a"}': "0.02+0x200"},
    "KeepwholeRepeatedCalls": {'keepwhole_tool_refetch_rate{instance="a"}': "0.2+0x200"},
}
GOOD: dict[str, dict[str, str]] = {
    "KeepwholeResultsNotStored": {'keepwhole_proxy_unstored_total{instance="a"}': "7+0x200"},
    "KeepwholeProxyDown": {'up{job="keepwhole", instance="a"}': "1+0x200"},
    "KeepwholeCacheLost": {
        "keepwhole_proxy_cached_tokens_total": "0+60x200",
        "keepwhole_proxy_foreseen_cached_tokens_total": "0+100x200",
    },
    "KeepwholeResultsMissing": {'keepwhole_tool_result_missing_rate{instance="a"}': "0.005+0x200"},
    "KeepwholeRepeatedCalls": {'keepwhole_tool_refetch_rate{instance="a"}': "0.05+0x200"},
}
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool of Prometheus")


@needs_promtool
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
@pytest.mark.parametrize("is_bad", [True, False])
def test_an_alert_fires_in_its_case_alone(rule: dict[str, Any], is_bad: bool, tmp_path: Path) -> None:
    series = (BAD if is_bad else GOOD)[rule["alert"]]
    labels = rule["labels"] | ({"instance": "a"} if any("instance" in name for name in series) else {})
    if rule["alert"] == "KeepwholeProxyDown":
        labels["job"] = "keepwhole"
    expected = json.dumps({"exp_labels": labels, "exp_annotations": rule["annotations"]}) if is_bad else ""
    given = ", ".join(json.dumps({"series": name, "values": values}) for name, values in series.items())
    file = tmp_path / "test.yaml"
    file.write_text(
        SERIES.format(rules=DEPLOY / "alerts.yaml", alert=rule["alert"], series=given, expected=expected),
        encoding="utf-8",
    )
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_prometheus_reads_the_page_of_metrics() -> None:
    asked = ["promtool", "check", "metrics"]
    page = Counters().text() + Metrics().prometheus()
    said = subprocess.run(asked, input=page, capture_output=True, text=True, check=False).stderr.splitlines()
    assert [line for line in said if "truncation_marker counter metrics should have" not in line] == []


def commands() -> list[list[str]]:
    (unit,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(encoding="utf-8"), re.M)
    plist = plistlib.loads((DEPLOY / "org.keepwhole.proxy.plist").read_bytes())
    return [unit.split(), plist["ProgramArguments"]]


@pytest.mark.parametrize("words", commands())
def test_a_unit_starts_a_command_there_is(words: list[str]) -> None:
    assert words[0] == "/usr/local/bin/keepwhole"
    assert parser_for(words[1], GROUPS).parse_args(words[1:]).act is not None


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("/usr/local/bin/keepwhole", shutil.which("true") or ""))
    checked = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (checked.returncode, [line for line in checked.stderr.splitlines() if unit.name in line]) == (0, [])
