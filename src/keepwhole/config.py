"""Settings: constructor over environment over file over default. The key is the field; unknown keys are refused.

Owns: where settings and the record are found, where every value came from, and what a file that came with a folder may
decide (`trust.py` holds what the user approved).
Must not know: what the settings are used for.

Everything follows from the fields of `Settings` and of its sections (`settings_section.py`): the keys of the file, the
names of the variables, what each accepts, what `keepwhole config show` lists and what `docs/reference/settings.md`
says. A new setting is one annotated field.

    key in the file                  variable
    mode                             KEEPWHOLE_MODE
    tools.truncation.inline_limit    KEEPWHOLE_INLINE_LIMIT      this section's prefix is left out
    auto.start                       KEEPWHOLE_AUTO_START
    proxy.max_body                   KEEPWHOLE_PROXY_MAX_BODY
    auto.keep                        none: a map is given by the file alone
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, cast

from keepwhole import preferences
from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError
from keepwhole.models.thresholds import Thresholds
from keepwhole.policies.settings import (
    BUILT_IN,
    CAREFUL,
    PRESETS,
    REMOVED,
    AutoSettings,
    ImageSettings,
    RetentionSettings,
    RollingContext,
)
from keepwhole.proxy_settings import ProxySettings
from keepwhole.settings_section import (
    Count,
    Range,
    check_value,
    is_scalar,
    nearest,
    parse_text,
    refuse_unknown,
    suggestion,
    wanted,
)
from keepwhole.store.factory import check_folder, checked_blobs, checked_store, is_address, open_store
from keepwhole.store.postgres.address import redacted
from keepwhole.store.protocol import Store
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES
from keepwhole.trust import is_approved, is_of_another_user

if TYPE_CHECKING:
    from keepwhole.policies.arrival import ShowsArrivals
    from keepwhole.policies.policy import Policy
    from keepwhole.truncation.strategy import ITruncationStrategy

FILE = "keepwhole.yaml"
FOLDER = ".keepwhole"
RECORD = "record"
"""What is approved of a folder: that it holds the record."""
_APPROVE = "Look at it, then approve it with `keepwhole trust`."
_TUNING = frozenset(
    (
        *("auto", "images", "models", "policy", "preset", "recall_from", "recall_reader"),
        *("retention", "retrieval_limit", "rolling", "thresholds"),
    )
)
"""Settings and sections that a project file may give without approval, besides `tools.truncation`: limits, and the
names of built-in policies and strategies. Any other setting, also one that is added later, has to be approved."""


_OTHER_VARIABLES = (
    *("KEEPWHOLE_HOME", "KEEPWHOLE_CONFIG", "KEEPWHOLE_SESSION"),
    *("KEEPWHOLE_INSPECTOR_TOKEN", "KEEPWHOLE_MCP_TOKEN", "KEEPWHOLE_PROXY_TOKEN"),
)
"""Variables that are read and that give no setting."""


class Settings(Value):
    """Everything a user can decide. What a file or a variable gives is checked; sections check themselves."""

    home: str
    """The folder of the record."""
    store: str = ""
    """The record on a server, for many machines: `postgresql://user@host/database`. If not set, it is in `home`."""
    blobs: str = ""
    """Where large bodies are: `s3://bucket/prefix`, or a folder. If not set, with the rest of the record."""
    store_connections: Annotated[int, Range(2)] = 2
    """Maximum number of connections of one process to `store`, shared by its sessions; at least 2. Fifty workers with 2
    fit into a server that takes a hundred; give a proxy that many agents share 4. Those above the first are closed
    after some ten seconds without use."""
    retrieval_limit: Annotated[int, Range(1_000)] = 32_000
    """Maximum number of characters that one `get_artifact` answer returns. At least 1,000."""
    inline_body: Count = 32_768
    """Bodies up to this many bytes are stored in the row, larger ones in files, or where `blobs` says."""
    session_quota: Count = 5_368_709_120
    """Maximum number of bytes one session may store."""
    store_words: Literal["on", "off"] = "on"
    """Whether the words of users and models are stored: requests, answers, and the words in imported logs. With `off`,
    only tool results and how they are shown are stored, so a session has no window, cost or story."""
    policy: str = "auto"
    """What is sent of a conversation: `auto`, `truncation`, `retention`, `rolling`, a policy of another system, or one
    that an installed package offers."""
    mode: Literal["off", "shadow", "on"] = "on"
    """`off` changes nothing, `shadow` changes nothing and reports what would change, `on` does it."""
    recall: Literal["tools", "path", "off"] = "tools"
    """How what is left out is read back: Keepwhole's `tools`, a file's `path` for agents that read files, or `off`."""
    recall_reader: Literal["Read", "read", "read_file", "sed"] = "Read"
    """With `recall: path`, the tool that notices name: `Read`, `read` or `read_file` of a coding agent, or `sed` of a
    shell."""
    recall_from: Literal["need", "start"] = "need"
    """When a short conversation is offered the recall tools: from its `start`, or on `need`, once something is left
    out."""
    preset: Literal["careful", "lean"] = "careful"
    """Where the settings under `auto` start from: `careful` or `lean`."""
    auto: AutoSettings = CAREFUL
    """The policy `auto`."""
    rolling: RollingContext = RollingContext()
    """The policy `rolling`."""
    retention: RetentionSettings = RetentionSettings()
    """The policy `retention`."""
    images: ImageSettings = ImageSettings()
    """Images in results, whatever the policy."""
    thresholds: Thresholds = Thresholds()
    """The shares of the window at which the indicator warns, the oldest steps are summarized, a request is cut."""
    models: Mapping[str, Mapping[str, object]] = MappingProxyType({})
    """Windows and prices of models, by the beginning of their names, over the built-in table."""
    truncation: TruncationConfiguration = TruncationConfiguration()
    """How results are shortened, under `tools.truncation`."""
    proxy: ProxySettings = ProxySettings()
    """The proxy."""
    sources: Mapping[str, str] = MappingProxyType({})
    """Where each setting that is not a default came from."""


class Setting(NamedTuple):
    """One key of the settings."""

    key: str
    """As in the file: `auto.start`."""
    section: str
    """The field of `Settings` that it belongs to; nothing for a field of `Settings` itself."""
    name: str
    """The field of its section."""
    accepts: Any
    """Its annotation."""
    variable: str | None
    """The environment variable that gives it; None for a map."""


_KEYS = {"truncation": "tools.truncation"}
"""Sections that the file has under another key than their field."""
_Section = TypeVar("_Section", bound=Value)


def _sections() -> Iterator[tuple[str, type[Value]]]:
    for name, kind in Settings.__annotations__.items():
        if isinstance(kind, type) and issubclass(kind, Value):
            yield name, kind


@cache
def all_settings() -> tuple[Setting, ...]:
    """Return every key that a settings file may have, in the order of the fields."""
    sections = dict(_sections())
    found = [
        _setting("", name, hint)
        for name, hint in Settings.__annotations__.items()
        if name not in sections and name not in ("home", "sources")
    ]
    for section, kind in sections.items():
        found += [_setting(section, name, kind.__annotations__[name]) for name in kind.fields]
    return tuple(found)


def _setting(section: str, name: str, hint: Any) -> Setting:
    key = f"{_KEYS.get(section, section)}.{name}" if section else name
    return Setting(key, section, name, hint, variable_of(key) if is_scalar(hint) else None)


def variable_of(key: str) -> str:
    """Return the name that the variable of a key has, or would have.

    >>> variable_of("tools.truncation.inline_limit")
    'KEEPWHOLE_INLINE_LIMIT'
    """
    return "KEEPWHOLE_" + key.removeprefix("tools.truncation.").replace(".", "_").upper()


def load(
    path: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: str | None = None,
    home: str | None = None,
    store: str | None = None,
) -> Settings:
    """Return the settings that hold here: from `path`, the environment, the nearest file, and the defaults.

    `home` and `store` are over all of these; who names a folder means the record in it, with all its bodies.
    """
    environ = os.environ if environ is None else environ
    folder = os.getcwd() if folder is None else folder
    file = find_file(path, environ, folder)
    for message in unknown_variables(environ):
        _warn_once(message)
    given = _Given(file, environ, is_own=file is None or _is_own(file, path, environ))
    if preferences.load(preferences.path_of(environ)).rolling_context_enabled and "KEEPWHOLE_POLICY" not in environ:
        given.set("policy", "rolling", "keepwhole rolling-context")
    if store is not None or home is not None:
        given.set("store", store or "", "constructor")
        if store is None:
            given.set("blobs", "", "constructor")
    settings = given.section(Settings(home=home or find_home(environ, folder)), "")
    parts = {name: given.section(kind(), name) for name, kind in _sections() if name != "auto"}
    parts["auto"] = given.section(PRESETS[settings.preset], "auto")
    return settings.replace(**parts, sources=given.sources)


def load_for(place: str | None) -> Settings:
    """The settings that hold for a record at this folder or address; without one, for the record that they name."""
    if place and is_address(place):
        return load(store=place)
    check_folder(place or "")
    return load(home=place)


def open_record(settings: Settings, patience: float | None = None) -> Store:
    """Open the store that settings name."""
    address, home = settings.store, settings.home
    return open_store(
        address,
        home,
        blobs=settings.blobs,
        inline_body=settings.inline_body,
        patience=patience,
        connections=settings.store_connections,
    )


def find_home(environ: Mapping[str, str], folder: str) -> str:
    """Return the record's folder: `KEEPWHOLE_HOME`, else the nearest `.keepwhole/` upwards, else `~/.keepwhole/`."""
    named = environ.get("KEEPWHOLE_HOME")
    if named:
        check_folder(named)
        return os.path.abspath(os.path.expanduser(named))
    own = os.path.join(os.path.expanduser("~"), FOLDER)
    found = project_home(folder)
    if found is None:
        return own
    unused = f"`{ascii(found)[1:-1]}` is not used as the record"
    if is_of_another_user(found):
        _warn_once(f"{unused}, because it belongs to another user. Set `KEEPWHOLE_HOME` to a folder of your own.")
    elif is_approved(found, RECORD, environ):
        return found
    else:
        _warn_once(f"{unused}, because you have not approved it. {_APPROVE}")
    return own


def project_home(folder: str) -> str | None:
    """Return the nearest `.keepwhole/` upwards that is not the user's own; None where there is none."""
    found = _nearest(folder, FOLDER, os.path.isdir)
    return None if found is None or _is_in_home(found) else found


def project_file(folder: str) -> str | None:
    """Return the nearest settings file upwards that is not the user's own; None where there is none."""
    found = _nearest(folder, FILE, os.path.isfile)
    return None if found is None or _is_in_home(found) else found


def settings_to_approve(path: str) -> dict[str, object]:
    """Return what a project file gives that counts only once the user has approved it, by key."""
    return {key: value for key, value in _read_file(path) if not _may_tune(key, value)}


def _may_tune(key: str, value: object) -> bool:
    """Return whether a project file may give this setting without approval."""
    if key == "policy":
        return value in BUILT_IN
    if key == "tools.truncation.default_strategy":
        return value in STRATEGIES
    if key == "tools.truncation.overrides":
        tools = _mapping(key, value).values()
        named = {cast("dict[str, object]", own).get("strategy") for own in tools if isinstance(own, dict)}
        return named <= {*STRATEGIES, None}
    return key.partition(".")[0] in _TUNING or key.startswith("tools.truncation.")


def _is_own(file: str, path: str | None, environ: Mapping[str, str]) -> bool:
    """Return whether the user named a settings file, or has it in their home folder."""
    return bool(path or environ.get("KEEPWHOLE_CONFIG")) or _is_in_home(file)


def _is_in_home(path: str) -> bool:
    """Return whether a file or folder is in the user's home folder itself, or in `~/.keepwhole/`."""
    home = os.path.realpath(os.path.expanduser("~"))
    return os.path.realpath(os.path.dirname(path)) in (home, os.path.join(home, FOLDER))


@cache
def _warn_once(message: str) -> None:
    """Log something about the folder or the environment once in a process."""
    import logging  # most commands have nothing to warn of

    logging.getLogger("keepwhole").warning("%s", message)


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return a sentence about each variable that is named like one of Keepwhole's and that nothing reads.

    >>> unknown_variables({"KEEPWHOLE_MOOD": "on"})
    ['`KEEPWHOLE_MOOD` is not a setting and is ignored. Did you mean `KEEPWHOLE_MODE`?']
    """
    given = [name for name in environ if name.startswith("KEEPWHOLE_")]
    if not given:
        return []
    known = (*_OTHER_VARIABLES, *(setting.variable for setting in all_settings() if setting.variable))
    in_file = {variable_of(setting.key): setting.key for setting in all_settings() if not setting.variable}
    unread = sorted(name for name in given if name not in known)
    return [
        f"`{name}` is ignored: a variable cannot give `{in_file[name]}`. Set it in a settings file."
        if name in in_file
        else f"`{name}` is not a setting and is ignored. {_meant(name, known)}"
        for name in unread
    ]


def _meant(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    return f"Did you mean `{near}`?" if near else "`keepwhole config show` lists the settings."


def find_file(path: str | None, environ: Mapping[str, str], folder: str) -> str | None:
    """Return the settings file: the one named, else the nearest upwards, else the one in the home folder."""
    named = path or environ.get("KEEPWHOLE_CONFIG")
    if named:
        if os.path.isdir(named):
            raise ConfigError(f"`{named}` is a folder. Name the settings file in it, such as `{FILE}`.")
        if not os.path.isfile(named):
            raise ConfigError(f"There is no settings file `{named}`. Check `--config` and `KEEPWHOLE_CONFIG`.")
        return named
    own = os.path.join(os.path.expanduser("~"), FOLDER, FILE)
    return _nearest(folder, FILE, os.path.isfile) or (own if os.path.isfile(own) else None)


def _nearest(folder: str, name: str, exists: Callable[[str], bool]) -> str | None:
    folder = os.path.abspath(folder)
    while True:
        candidate = os.path.join(folder, name)
        if exists(candidate):
            return candidate
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


class _Given:
    """What a file and the environment give, by key, and where each value came from."""

    def __init__(self, file: str | None, environ: Mapping[str, str], is_own: bool = True) -> None:
        self._values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        if file is not None:
            self._set_from_file(file, environ, is_own)
        for setting in all_settings():
            if setting.variable is not None and setting.variable in environ:
                self._set_from_text(setting, setting.variable, environ[setting.variable])

    def _set_from_file(self, file: str, environ: Mapping[str, str], is_own: bool) -> None:
        """Take what a file gives; of one that came with a folder, what the user approved and what is only tuning."""
        if not is_own and is_of_another_user(file):
            unread = f"`{ascii(file)[1:-1]}` is not read, because it belongs to another user"
            _warn_once(f"{unread}. To use it, name it with `--config` or `KEEPWHOLE_CONFIG`.")
            return
        values = dict(_read_file(file))
        wanted = {} if is_own else {key: value for key, value in values.items() if not _may_tune(key, value)}
        if wanted and not is_approved(file, wanted, environ):
            keys = ", ".join(f"`{key}`" for key in wanted)
            _warn_once(f"`{ascii(file)[1:-1]}` sets {keys}: ignored, because you have not approved this. {_APPROVE}")
            values = {key: value for key, value in values.items() if key not in wanted}
        for key, value in values.items():
            self.set(key, value, file)

    def set(self, key: str, value: object, source: str) -> None:
        """Give a key its value, over the one it has."""
        self._values[key], self.sources[key] = value, source

    def _set_from_text(self, setting: Setting, variable: str, text: str) -> None:
        try:
            self.set(setting.key, parse_text(text, setting.accepts), variable)
        except ValueError:
            raise ConfigError(f"`{variable}` is {text!r}; give {wanted(setting.accepts)}.") from None

    def section(self, start: _Section, name: str) -> _Section:
        """Return a section with the values given over `start`; an error names the file or variable that is wrong.

        Maps are merged with those of `start`, so that a file which names one kind keeps the others.
        """
        own = [setting for setting in all_settings() if setting.section == name and setting.key in self._values]
        if not own:
            return start
        try:
            return start.replace(**{setting.name: self._converted(setting, start) for setting in own})
        except ConfigError as error:
            raise ConfigError(f"`{self._source_of(str(error), own)}`: {error}") from error

    def _converted(self, setting: Setting, start: Value) -> object:
        value, before = self._values[setting.key], getattr(start, setting.name)
        if setting.key in _CONVERTERS:
            value = _CONVERTERS[setting.key](value)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = {**cast("Mapping[str, object]", before), **cast("Mapping[str, object]", value)}
        return value if setting.section else check_value(setting.key, value, setting.accepts)

    def _source_of(self, message: str, own: Sequence[Setting]) -> str:
        """Return where the key came from that a message names."""
        named = (one.key for one in own if f"`{one.key}`" in message or f"`{one.key}." in message)
        return self.sources[next(named, own[0].key)]


def _read_file(path: str) -> Iterator[tuple[str, object]]:
    """Yield every key of a settings file with its value; refuse keys that there are not."""
    from keepwhole.settings_file import read_tree  # most commands have no file to read

    tree = read_tree(path)
    try:
        if tree is not None and not isinstance(tree, dict):
            raise ConfigError("The file needs a line `KEY: VALUE` for each setting, such as `mode: shadow`.")
        yield from _flattened(cast(object, tree), _tree_of_keys(), "")
    except ConfigError as error:
        raise ConfigError(f"`{path}`: {error}") from error


def _tree_of_keys() -> dict[str, Any]:
    """Return all settings in the shape of a settings file."""
    tree: dict[str, Any] = {}
    for setting in all_settings():
        *sections, name = setting.key.split(".")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})
        branch[name] = setting
    return tree


def _flattened(raw: object, known: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    given = {} if raw is None else _mapping(prefix.rstrip("."), raw)
    refuse_unknown(prefix, given, known, REMOVED, _elsewhere)
    for name, value in given.items():
        here = known[name]
        if not isinstance(here, Setting):
            yield from _flattened(value, here, f"{prefix}{name}.")
        elif value is not None or here.variable is not None:  # a map without entries says nothing
            yield here.key, value


def _elsewhere(name: str) -> str | None:
    """Return the key in full of the setting or section that ends in this name, where only one does.

    >>> _elsewhere("inline_limit"), _elsewhere("truncation")
    ('tools.truncation.inline_limit', 'tools.truncation')
    """
    keys = {setting.key for setting in all_settings()}
    keys |= {key.rpartition(".")[0] for key in keys}
    found = [key for key in keys if key == name or key.endswith(f".{name}")]
    return found[0] if len(found) == 1 else None


def _mapping(key: str, raw: object) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ConfigError(f"`{key}` needs lines `KEY: VALUE` indented below it, not one value.")
    return {str(name): value for name, value in cast("dict[Any, Any]", raw).items()}


def _policy(value: object) -> object:
    """Return the name of a policy; those of other systems and packages are imported only to look one up."""
    if isinstance(value, str) and value not in BUILT_IN:
        from keepwhole.policies.catalog import known_policies

        _refuse_name("policy", "policy", value, known_policies())
    return value


def _default_strategy(value: object) -> object:
    return _strategy("tools.truncation.default_strategy", value)


def _strategy(key: str, value: object) -> object:
    if isinstance(value, str) and value not in STRATEGIES:
        from keepwhole import plugins

        _refuse_name(key, "strategy", value, (*STRATEGIES, *plugins.names("strategies")))
    return value


def _refuse_name(key: str, what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise ConfigError(f"`{key}` is `{name[:120]}`; there is no such {what}. {suggestion(name, known)}")


def _overrides(value: object) -> object:
    """Return the settings of each tool that a file gives some."""
    key = "tools.truncation.overrides"
    found: dict[str, ToolOverride] = {}
    for tool, raw in _mapping(key, value).items():
        own = _mapping(f"{key}.{tool}", raw)
        refuse_unknown(f"{key}.{tool}.", own, ToolOverride.fields)
        _strategy(f"{key}.{tool}.strategy", own.get("strategy"))
        found[tool] = ToolOverride(**own)
    return found


def _models(value: object) -> object:
    from keepwhole.models.profiles import check_overrides  # its table is large, and few settings need it

    check_overrides(_mapping("models", value))
    return value


_CONVERTERS: dict[str, Callable[[object], object]] = {
    "store": checked_store,
    "blobs": checked_blobs,
    "policy": _policy,
    "models": _models,
    "tools.truncation.default_strategy": _default_strategy,
    "tools.truncation.overrides": _overrides,
}
"""Settings that need more than their annotation says."""


def flattened(settings: Settings) -> list[tuple[str, object, str]]:
    """Return every setting by its key, its value, and where it came from."""
    rows: list[tuple[str, object, str]] = [("home", settings.home, "")]
    for setting in all_settings():
        value = getattr(getattr(settings, setting.section) if setting.section else settings, setting.name)
        source = settings.sources.get(setting.key, "default")
        if setting.key in ("models", "tools.truncation.overrides"):
            rows += [(f"{setting.key}.{key}", one, source) for key, one in _entries(value)]
        elif isinstance(value, Mapping):
            rows.append((setting.key, dict(cast("Mapping[str, object]", value)), source))
        else:
            rows.append((setting.key, redacted(value) if isinstance(value, str) else value, source))
    return rows


def _entries(groups: Mapping[str, Mapping[str, object] | ToolOverride]) -> Iterator[tuple[str, object]]:
    """Yield what the settings of each model or tool say."""
    for name, group in groups.items():
        fields = group.as_dict() if isinstance(group, Value) else group
        yield from ((f"{name}.{key}", value) for key, value in fields.items() if value is not None)


def policy_of(
    settings: Settings,
    name: str | None = None,
    *,
    strategies: "Mapping[str, ITruncationStrategy] | None" = None,
    question: str | None = None,
) -> "Policy":
    """Make the policy called `name`, or the one that the settings name, under these settings."""
    from keepwhole.policies.catalog import policy_named
    from keepwhole.truncation.strategy import STRATEGIES

    return policy_named(
        name or settings.policy,
        auto=settings.auto,
        rolling=settings.rolling,
        retention=settings.retention,
        truncation=settings.truncation,
        strategies=STRATEGIES if strategies is None else strategies,
        question=question,
    )


def shows_arrivals(settings: Settings, strategies: "Mapping[str, ITruncationStrategy]") -> "Policy | ShowsArrivals":
    """Make what shows one new result under these settings: a part of their policy, or all of it."""
    from keepwhole.policies import catalog

    rule = catalog.shows_arrivals(settings.policy, settings.auto, settings.truncation, strategies)
    return rule or policy_of(settings, strategies=strategies)
