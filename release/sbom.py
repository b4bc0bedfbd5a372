"""The bill of materials of a release in the format of CycloneDX 1.6: what it needs, what it was tried with, what is
copied into it. The same tree gives the same bytes."""

import base64
import json
import re
import tomllib
import uuid
from pathlib import Path
from typing import Any

from release.vendor import parts

ROOT = Path(__file__).parents[1]
_PIN = re.compile(r"(?m)^([\w.-]+)(?:\[[\w,]+\])?==(\S+)[^\n]*\\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\\n|\n|$))+)")
_FILES = ("requirements/run.txt", "requirements/server.txt")


def pins() -> dict[str, tuple[str, list[str]]]:
    """Return every pinned package by name, with its version and the digests of its files."""
    found: dict[str, tuple[str, list[str]]] = {}
    for name in _FILES:
        for package, version, hashes in _PIN.findall((ROOT / name).read_text(encoding="utf-8")):
            found[package.lower()] = (version, re.findall(r"sha256:([0-9a-f]+)", hashes))
    return found


def _needed() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[\[>=<]", need)[0].lower() for need in project["dependencies"]]


def _python_component(name: str, version: str, hashes: list[str], is_needed: bool) -> dict[str, Any]:
    properties = [{"name": "keepwhole:sha256-of-a-file", "value": digest} for digest in hashes]
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "scope": "required" if is_needed else "optional",
        "properties": properties,
    }


def _copied_components() -> list[dict[str, Any]]:
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{part['name']}@{part['version']}",
            "name": part["name"],
            "version": part["version"],
            "purl": f"pkg:npm/{part['name']}@{part['version']}",
            "scope": "required",
            "licenses": [{"license": {"id": part["license"]}}],
            "hashes": [{"alg": "SHA-512", "content": base64.b64decode(part["integrity"][7:]).hex()}],
            "properties": [{"name": "keepwhole:how", "value": "copied into the wheel by release/vendor.py"}],
        }
        for part in parts()
    ]


def sbom(wheel_digest: str) -> str:
    """Return the bill of materials of the wheel with this SHA-256."""
    source = (ROOT / "src/keepwhole/version.py").read_text(encoding="utf-8")
    version = re.findall(r'VERSION = "([^"]+)"', source)[0]
    needed = _needed()
    components = [_python_component(name, *pin, name in needed) for name, pin in sorted(pins().items())]
    copied = _copied_components()
    own = f"pkg:pypi/keepwhole@{version}"
    depends = [each["bom-ref"] for each in components if each["name"] in needed] + [each["bom-ref"] for each in copied]
    whole: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, wheel_digest)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "keepwhole",
                "version": version,
                "purl": own,
                "licenses": [{"expression": "Apache-2.0 AND MIT"}],
                "hashes": [{"alg": "SHA-256", "content": wheel_digest}],
            }
        },
        "components": components + copied,
        "dependencies": [{"ref": own, "dependsOn": depends}],
    }
    return json.dumps(whole, indent=2) + "\n"
