"""Settings: constructor over environment over file over default. The key is the field; unknown keys are refused.

Owns: where settings and the record are found, and what every value came from.
Must not know: what the settings are used for.
"""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from keepwhole import preferences
from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError
from keepwhole.policies.auto_settings import CAREFUL, PRESETS, AutoSettings
from keepwhole.proxy_settings import ProxySettings
from keepwhole.store.blobs.bucket_address import bucket_of, is_bucket
from keepwhole.store.postgres.address import Hidden, is_address, redacted
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.strategy import is_strategy, strategy_names

FILE = "keepwhole.yaml"
FOLDER = ".keepwhole"


class Settings(Value):
    """Everything a user can decide."""

    home: str
    """The folder of the record."""
    store: str = ""
    """The record on a server, for many machines: `postgresql://user@host/database`. If not set, it is in `home`."""
    blobs: str = ""
    """Where large bodies are: `s3://bucket/prefix`, or a folder. If not set, with the rest of the record."""
    retrieval_limit: int = 32_000
    """Most characters that one `get_artifact` answer returns. At least 1,000."""
    inline_body: int = 32_768
    """Bodies up to this many bytes are stored in the row, larger ones in files, or where `blobs` says."""
    session_quota: int = 5_368_709_120
    """Most bytes one session may store."""
    policy: str = "auto"
    """What is sent of a conversation: `auto`, `truncation`, `retention`, `rolling`, or a policy of others."""
    mode: str = "on"
    """`off` changes nothing, `shadow` changes nothing and says what would change, `on` does it."""
    recall: str = "tools"
    """How what is left out is read back: `tools` of ours, a file's `path` for agents that read files here, or `off`."""
    recall_reader: str = "Read"
    """With `recall: path`, in whose words: `Read`, `read` or `read_file` of a coding agent, or `sed` of a shell."""
    preset: str = "careful"
    """Where the settings under `auto` start from: `careful` or `lean`."""
    auto: AutoSettings = CAREFUL
    """The policy `auto`."""
    models: Mapping[str, Mapping[str, object]] = MappingProxyType({})
    """Windows and prices of models, by the beginning of their names, over the built-in table."""
    truncation: TruncationConfiguration = TruncationConfiguration()
    """How results are shortened, under `tools.truncation`."""
    proxy: ProxySettings = ProxySettings()
    """The proxy."""
    sources: Mapping[str, str] = MappingProxyType({})
    """Where each setting that is not a default came from."""


_CHOICES = {
    "mode": ("off", "shadow", "on"),
    "recall": ("tools", "path", "off"),
    "recall_reader": ("Read", "read", "read_file", "sed"),
    "preset": tuple(PRESETS),
}
_NAMES = ("store", "blobs", "policy", "mode", "recall", "recall_reader", "preset")
_AUTO = AutoSettings.fields
_LEAST = {"retrieval_limit": 1_000}
_PLAIN = ("retrieval_limit", "inline_body", "session_quota")
_TRUNCATION = tuple(name for name in TruncationConfiguration.fields if name != "overrides")


def load(
    path: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: str | None = None,
    home: str | None = None,
    store: str | None = None,
) -> Settings:
    """The settings that hold here: from `path`, the environment, the nearest file, and the defaults.

    `home` and `store` are over all of these; who names a folder means the record in it, with all its bodies.
    """
    environ = os.environ if environ is None else environ
    folder = os.getcwd() if folder is None else folder
    file = find_file(path, environ, folder)
    sources: dict[str, str] = {}
    plain, truncation = _from_file(file, sources) if file else ({}, {})
    auto, models, proxy = (_mapping(file or "", key, plain.pop(key, None) or {}) for key in ("auto", "models", "proxy"))
    _from_environment(environ, plain, truncation, sources)
    if preferences.load(preferences.path_of(environ)).rolling_context_enabled and "KEEPWHOLE_POLICY" not in environ:
        plain["policy"], sources["policy"] = "rolling", "keepwhole rolling-context"
    if store is not None or home is not None:
        plain["store"] = store or ""
        if store is None:
            plain["blobs"] = ""
    names = {key: _name(key, plain.pop(key)) for key in _NAMES if key in plain}
    return Settings(
        home=home or find_home(environ, folder),
        truncation=_truncation(truncation, file),
        sources=sources,
        auto=_auto(PRESETS[names.get("preset", "careful")], auto, file, sources),
        proxy=_proxy(proxy, file, sources),
        models={name: _mapping(file or "", f"models.{name}", given) for name, given in models.items()},
        **cast("dict[str, Any]", names),
        **cast("dict[str, Any]", {key: _positive(key, value) for key, value in plain.items()}),
    )


def _name(key: str, value: object) -> str:
    """A setting that is a word; YAML reads `on` and `off` as true and false."""
    if key in ("store", "blobs"):
        return _store(value) if key == "store" else _blobs(value)
    word = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
    known = _CHOICES.get(key)
    if not isinstance(word, str) or (known is not None and word not in known):
        raise ConfigError(f"`{key}` is {value!r}; give {'one of ' + ', '.join(known) if known else 'a name'}.")
    return word


def _store(value: object) -> str:
    """The address of a server; what was given instead is not repeated, since a password may be in it."""
    if not isinstance(value, str) or (value and not is_address(value)):
        raise ConfigError(
            "`store` is no address. Give `postgresql://user@host/database`; for a folder, set `KEEPWHOLE_HOME`."
        )
    return Hidden(value)


def _blobs(value: object) -> str:
    """The address of a bucket, or a folder; what was given instead is not repeated, since a key may be in it."""
    if isinstance(value, str) and is_bucket(value):
        bucket_of(value)
        return Hidden(value)
    folder = os.path.expanduser(value) if isinstance(value, str) else ""
    if not isinstance(value, str) or "://" in value or (value and not os.path.isabs(folder)):
        raise ConfigError("`blobs` is neither `s3://bucket/prefix` nor the whole path of a folder. Give one of these.")
    return folder


def _auto(start: AutoSettings, given: dict[str, Any], path: str | None, sources: dict[str, str]) -> AutoSettings:
    _refuse_unknown(path or "", "auto.", given, _AUTO)
    for key in ("arrival_cap", "keep"):
        if key in given:
            given[key] = {**getattr(start, key), **_mapping(path or "", f"auto.{key}", given[key])}
    sources.update({f"auto.{key}": path or "" for key in given})
    return start.replace(**given)


def _proxy(given: dict[str, Any], path: str | None, sources: dict[str, str]) -> ProxySettings:
    _refuse_unknown(path or "", "proxy.", given, ProxySettings.fields)
    sources.update({f"proxy.{key}": path or "" for key in given})
    return ProxySettings(**given)


def find_home(environ: Mapping[str, str], folder: str) -> str:
    """The record: `KEEPWHOLE_HOME`, else the nearest `.keepwhole/` upwards, else `~/.keepwhole/`."""
    named = environ.get("KEEPWHOLE_HOME")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    return _upwards(folder, FOLDER, os.path.isdir) or os.path.join(os.path.expanduser("~"), FOLDER)


def find_file(path: str | None, environ: Mapping[str, str], folder: str) -> str | None:
    """The settings file: the one named, else the nearest upwards, else the one in the home folder."""
    named = path or environ.get("KEEPWHOLE_CONFIG")
    if named:
        if not os.path.isfile(named):
            raise ConfigError(f"There is no settings file `{named}`. Check `--config` and `KEEPWHOLE_CONFIG`.")
        return named
    own = os.path.join(os.path.expanduser("~"), FOLDER, FILE)
    return _upwards(folder, FILE, os.path.isfile) or (own if os.path.isfile(own) else None)


def _upwards(folder: str, name: str, exists: Any) -> str | None:
    folder = os.path.abspath(folder)
    while True:
        candidate = os.path.join(folder, name)
        if exists(candidate):
            return candidate
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _from_file(path: str, sources: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    import yaml

    try:
        with open(path, encoding="utf-8") as file:
            raw: Any = yaml.safe_load(file) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"`{path}` cannot be read: {error}. Check it with `keepwhole config check`.") from error
    top = _mapping(path, "", raw)
    _refuse_unknown(path, "", top, (*_PLAIN, *_NAMES, "auto", "models", "proxy", "tools"))
    tools = _mapping(path, "tools", top.pop("tools", None) or {})
    _refuse_unknown(path, "tools.", tools, ("truncation",))
    truncation = _mapping(path, "tools.truncation", tools.get("truncation") or {})
    _refuse_unknown(path, "tools.truncation.", truncation, (*_TRUNCATION, "overrides"))
    sources.update(dict.fromkeys(top, path))
    sources.update({f"tools.truncation.{key}": path for key in truncation})
    return top, truncation


def _from_environment(
    environ: Mapping[str, str], plain: dict[str, Any], truncation: dict[str, Any], sources: dict[str, str]
) -> None:
    for names, values, prefix in (((*_PLAIN, *_NAMES), plain, ""), (_TRUNCATION, truncation, "tools.truncation.")):
        for name in names:
            variable = f"KEEPWHOLE_{name.upper()}"
            if variable in environ:
                values[name] = _scalar(name, variable, environ[variable])
                sources[prefix + name] = variable


def _scalar(name: str, variable: str, text: str) -> int | float | str:
    if name == "default_strategy" or name in _NAMES:
        return text
    try:
        return float(text) if name == "head_ratio" else int(text.replace("_", ""))
    except ValueError:
        raise ConfigError(f"`{variable}` is {text!r}; give a number.") from None


def _truncation(values: Mapping[str, Any], path: str | None) -> TruncationConfiguration:
    rest = dict(values)
    overrides: dict[str, ToolOverride] = {}
    for tool, raw in _mapping(path or "", "overrides", rest.pop("overrides", None) or {}).items():
        own = _mapping(path or "", f"overrides.{tool}", raw)
        _refuse_unknown(path or "", f"tools.truncation.overrides.{tool}.", own, ToolOverride.fields)
        overrides[tool] = ToolOverride(**own)
    configuration = TruncationConfiguration(overrides=overrides, **rest)
    for name in (configuration.default_strategy, *(own.strategy for own in overrides.values())):
        if name is not None and not is_strategy(name):
            raise ConfigError(f"There is no strategy `{name}`. {_suggest(str(name), strategy_names())}")
    return configuration


def _positive(key: str, value: Any) -> int:
    least = _LEAST.get(key, 1)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"`{key}` is {value!r}; give a whole number of at least {least:,}.")
    return value


def _mapping(path: str, where: str, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ConfigError(f"`{path}`: `{where or 'the file'}` must hold keys and values, not {type(raw).__name__}.")
    return {str(key): value for key, value in cast("dict[Any, Any]", raw).items()}


def _refuse_unknown(path: str, where: str, values: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in values:
        if key not in known:
            raise ConfigError(f"`{path}` has no setting `{where}{key}`. {_suggest(key, known)}")


def _suggest(name: str, known: tuple[str, ...]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, 1)
    return f"Did you mean `{near[0]}`?" if near else "Known: " + ", ".join(f"`{key}`" for key in known) + "."


def flattened(settings: Settings) -> list[tuple[str, object, str]]:
    """Every setting by its full name, its value, and where it came from."""
    rows: list[tuple[str, object, str]] = [("home", settings.home, "")]
    rows += [(key, getattr(settings, key), settings.sources.get(key, "default")) for key in _PLAIN]
    rows += [(key, redacted(getattr(settings, key)), settings.sources.get(key, "default")) for key in _NAMES]
    for key in _AUTO:
        value = getattr(settings.auto, key)
        plain = dict(cast("Mapping[str, int]", value)) if isinstance(value, Mapping) else value
        rows.append((f"auto.{key}", plain, settings.sources.get(f"auto.{key}", "default")))
    for key in ProxySettings.fields:
        value = getattr(settings.proxy, key)
        plain = dict(cast("Mapping[str, str]", value)) if isinstance(value, Mapping) else value
        rows.append((f"proxy.{key}", plain, settings.sources.get(f"proxy.{key}", "default")))
    for key in _TRUNCATION:
        name = f"tools.truncation.{key}"
        rows.append((name, getattr(settings.truncation, key), settings.sources.get(name, "default")))
    for tool, override in settings.truncation.overrides.items():
        for key, value in override.as_dict().items():
            if value is not None:
                rows.append((f"tools.truncation.overrides.{tool}.{key}", value, "override"))
    return rows
