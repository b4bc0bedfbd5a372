"""What the numbered scripts make in a schema, compared with what is in it: added, changed or missing.

Owns: what the functions, triggers, tables and indexes of an up-to-date record must be.
Must not know: what is in the tables.

Functions, tables and indexes are read from the scripts. Triggers, which a script makes in a loop, are listed here.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from keepwhole.store.postgres.schema import scripts

Select = Callable[[str], list[Any]]
_FUNCTION = re.compile(
    r"CREATE (?:OR REPLACE )?FUNCTION (\w+)\([^)]*\)\s+RETURNS (.*?) AS \$\$(.*?)\$\$", re.DOTALL | re.MULTILINE
)
_SETTING = re.compile(r"\bSET (search_path FROM CURRENT|\w+ = \w+)")
_RELATION = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
_INDEX = re.compile(r"^CREATE (UNIQUE )?INDEX (\w+)", re.MULTILINE)
_ROW, _BEFORE, _INSERT, _DELETE, _UPDATE, _TRUNCATE = 1, 2, 4, 8, 16, 32
"""The bits of `pg_trigger.tgtype`."""
_HERE = "current_schema()::regnamespace"

_FUNCTIONS = (
    "SELECT proname, prosrc, prosecdef, array_to_string(proconfig, ';') "
    f"FROM pg_proc WHERE pronamespace = {_HERE} ORDER BY proname"
)
_TRIGGERS = (
    "SELECT c.relname, t.tgname, p.proname, p.pronamespace = c.relnamespace, t.tgtype, "
    "coalesce(substring(replace(pg_get_triggerdef(t.oid), '\"', '') FROM 'WHEN [(](.*)[)] EXECUTE'), ''), "
    "t.tgattr::text, t.tgenabled::text FROM pg_trigger t "
    "JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid "
    f"WHERE c.relnamespace = {_HERE} AND (NOT t.tgisinternal OR t.tgenabled <> 'O') ORDER BY c.relname, t.tgname"
)
_RELATIONS = (
    "SELECT c.relname, c.relkind = 'r' AND NOT c.relrowsecurity "
    "AND NOT EXISTS (SELECT 1 FROM pg_rewrite w WHERE w.ev_class = c.oid) "
    "AND NOT EXISTS (SELECT 1 FROM pg_inherits h WHERE c.oid IN (h.inhparent, h.inhrelid)) "
    f"FROM pg_class c WHERE c.relnamespace = {_HERE} AND c.relkind IN ('r', 'v', 'm', 'f', 'p') ORDER BY c.relname"
)
_INDEXES = (
    "SELECT c.relname, i.indisunique, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    f"WHERE c.relnamespace = {_HERE} AND NOT EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = c.oid) "
    "ORDER BY c.relname"
)
_RIGHTS = (
    "SELECT c.relname, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END, "
    "string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type) FROM pg_class c, aclexplode(c.relacl) a "
    f"WHERE c.relnamespace = {_HERE} AND a.privilege_type <> 'SELECT' AND a.grantee <> c.relowner GROUP BY 1, 2 "
    "ORDER BY 1, 2"
)


class _Trigger(NamedTuple):
    """A trigger without its name and table."""

    function: str
    is_own: bool
    """Whether the function is in the record's schema."""
    events: int
    condition: str = ""
    columns: str = ""
    enabled: str = "O"


def strange_objects(select: Select) -> Iterator[str]:
    """Yield what in the schema of an up-to-date record is not what the scripts make."""
    script = "\n".join(scripts())
    yield from _compare("function", _expected_functions(script), _found_functions(select))
    found = {f"{name}` on `{table}": _Trigger(*rest) for table, name, *rest in select(_TRIGGERS)}
    yield from _compare("trigger", _expected_triggers(), found)
    tables = dict.fromkeys([*_RELATION.findall(script), "migrations"], True)
    yield from _compare("table", tables, dict(select(_RELATIONS)))
    indexes = {name: (bool(unique), True) for unique, name in _INDEX.findall(script)}
    yield from _compare("index", indexes, {name: tuple(rest) for name, *rest in select(_INDEXES)})
    for table, role, rights in select(_RIGHTS):
        yield f"`{role}` has the rights {rights} to the table `{table}`"


def _compare(kind: str, expected: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for name, value in found.items():
        if name not in expected:
            yield f"the {kind} `{name}` is not Keepwhole's"
        elif value != expected[name]:
            yield f"the {kind} `{name}` was changed"
    yield from (f"the {kind} `{name}` is missing" for name in expected if name not in found)


def _expected_functions(script: str) -> dict[str, Any]:
    return {
        name: (source, "SECURITY DEFINER" in about, _SETTING.findall(about))
        for name, about, source in _FUNCTION.findall(script)
    }


def _found_functions(select: Select) -> dict[str, Any]:
    """Return the functions of the schema; of several with one name, one that is not as expected if there is one."""
    ((schema,),) = select("SELECT current_schema()::text")
    own = f"search_path={schema}, pg_temp"
    found: dict[str, Any] = {}
    for name, source, is_definer, config in select(_FUNCTIONS):
        changed = (config or "").replace('"', "").replace(own, "search_path FROM CURRENT").replace("=", " = ")
        one = (source, is_definer, [setting for setting in changed.split(";") if setting])
        found[name] = one if name not in found else "several"
    return found


def _expected_triggers() -> dict[str, _Trigger]:
    found: dict[tuple[str, str], _Trigger] = {}
    for table in ("sessions", "entries", "pieces", "endings", "tombstones", "record", "condemned", "removals"):
        found[table, "never_changed"] = _Trigger("refuse_change", True, _ROW | _BEFORE | _UPDATE)
        found[table, "never_emptied"] = _Trigger("refuse_change", True, _BEFORE | _TRUNCATE)
    for table in ("sessions", "entries", "pieces", "endings", "tombstones"):
        found[table, "only_purged"] = _Trigger("refuse_unless_purged", True, _ROW | _BEFORE | _DELETE)
    for table in ("record", "condemned"):
        found[table, "never_deleted"] = _Trigger("refuse_change", True, _ROW | _BEFORE | _DELETE)
    found["removals", "never_changed"] = _Trigger("refuse_change", True, _ROW | _BEFORE | _UPDATE | _DELETE)
    condition = "(new.blob IS NOT NULL)"
    found["entries", "never_condemned"] = _Trigger("refuse_condemned", True, _ROW | _INSERT, condition)
    for table, events in {"entries": _INSERT, "sessions": _INSERT | _DELETE, "endings": _INSERT}.items():
        found[table, "seen_by_watchers"] = _Trigger("notify_watchers", True, events)
    return {f"{name}` on `{table}": trigger for (table, name), trigger in found.items()}
