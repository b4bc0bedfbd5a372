"""Scenarios of small functions that do no I/O: what each gives for many odd values, or which error it raises.

Arguments are drawn by the types that a function declares: all values of the first, in turn with those of the others.
"""

import inspect
import types
import typing
from array import array
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from pkgutil import walk_packages
from random import Random
from typing import Any

from tests.golden import doors
from tests.golden.odd_values import LISTS, LONG, NAMES, NUMBERS, OBJECTS, OWN, STRINGS
from tests.golden.recorder import Recorder

_FUNCTIONS = """
apps.cli.parser: module_of
apps.cli.replay_screen: format_count
apps.cli.screen: safe line plural
apps.hooks.payload: mapping text read_blocks
apps.inspector.headers: attachment
apps.inspector.raw: parse_range
apps.inspector.routes: find_route
apps.window_contents: parts_of_request
apps.json_file: parse parts member indent
apps.listener: probe_of parse_address is_same
apps.mcp.line_reader: answered_id
apps.mcp.pins: pin_key digest
apps.mcp.routes: parsed_cursor
apps.proxy.answer_buffer: can_unpack
apps.proxy.connection: error_body
apps.proxy.credentials: credentials_of
apps.redaction: redacted has_key_shape
apps.wrap.clients: client_for
canonical.arguments: string_values are_equal
canonical.body: measure digest_of_bytes
canonical.entry: arguments_text next_chain chain_without_header
canonical.guard: is_blank is_cleared truncation_mark
canonical.ids: trace_of is_session_id trace_id session_id artifact_id
canonical.json_members: root_span members members_from
canonical.json_steps: skip_space expect value_stop key_stop
canonical.json_text: find_strings read_key read_in_large_text
canonical.manifest: spelling_of spelled decode_manifest
canonical.media: media_type media_of image_size page_count
canonical.message: base64_in
canonical.utf8: encode showable lowered count_unfinished as_bytes count_chars contains_any words_in
clients.table: facts_of
exchange.fork: owner_of
exchange.manifest_writer: split strings as_text string_of as_bytes
install: requirements_of install_hint
logs.claude_code: recognizes
logs.codex: recognizes
logs.gemini_cli: recognizes
logs.lines: repaired_characters
logs.message_order: epoch_seconds
logs.opencode: recognizes
logs.own_format: recognizes run_of
logs.provider: recognizes
logs.provider_exchange: is_messages unwrapped is_message
logs.reader: is_log
logs.run: length_of
logs.swe_agent: recognizes
logs.unnamed_results: decode_logged
models.ledger: last_end
models.profiles: profile_for input_price
models.token_reserve: reserve_of
models.tokens: estimate estimate_from_length classify content_of reserve measure upper_bound
policies.arrival: named_in
policies.call_outcomes: one_line
policies.failures: is_error_text error_line
policies.kinds: kind_of works_on_files target_of
policies.near_repeats: differing_spans unchanged_lines
policies.policy: rule_meaning
policies.references: argument_texts
policies.retention: notice end_of_lines
proxy_settings: check_upstream
recall.answer: read_id
recall.get_artifact: asks_for_arguments
recall.grep: parse_grep
recall.json_path: parse_path children
recall.names: is_recall
recall.ranges: parse_lines parse_chars range_of number_of
recall.scorer: terms idf
recall.search_artifacts: query_of
record.arrival: flags_of
record.journal: digest_of_text
record.session_reader: check_name
policies.atoms: atoms is_atom is_rare atom_parts long_lines words argument_text positions occurs occurrences_in_context
replay.client_compaction: threshold
replay.evidence: is_recorded_under_masking
replay.missed_evidence: brings_back answer_to text_around lines_around
replay.page.figures: part parts items_in number words verdict interval all_in in_context share count tokens dollars
replay.page.figures: plural
replay.page.markup: visible short
replay.prices: parse_tokens
replay.search: pieces
settings_section: suggestion wanted refuse_unknown
standalone.contexts.arguments: check_text check_mapping check_id check_limit check_paths check_size
standalone.contexts.context: hash_args hash_query file_stem subject_of get_tool_description as_json size_of plain
standalone.contexts.context: read_back
standalone.rolling: truncate_tool_result
store.blobs.bucket_address: is_bucket bucket_of redacted
store.blobs.s3: summarize_error
store.passages: tokens marks
store.postgres.address: is_address address_of redacted
store.regular_file: is_file_name
store.sql_store: is_after as_bytes
store.sqlite.schema: statements
transfer.archive: checked_number parse_hash checked_text parse_beginning
transfer.json_lines: line_of piece_of
truncation.arguments: mark has_mark long_arguments is_cut_of
truncation.client_cut: is_client_cut readings
truncation.code: definitions is_among definition_bounds
truncation.configuration: job_of
truncation.cut: decode_cut
truncation.diff: hunk_bounds
truncation.edges: joined whole_before
truncation.imitation: imitations
truncation.lines: line_bounds split_after after_ends
truncation.log: error_lines
truncation.notice: omitted remainder_omitted beginning_omitted items_omitted rows_omitted size_text reference binary
truncation.notice: keys_omitted elements_omitted text_omitted similar_lines unchanged before quoted imitates
truncation.paragraphs: bounds_of
truncation.present: summarize
truncation.question: terms literals fold hits_of
truncation.result: estimated_tokens
truncation.rows: record_bounds
truncation.sniff: preface
truncation.strategy: strategy_for is_strategy
truncation.unit_bounds: unit_bounds
truncation.units: unit_at longest_unit split_long
truncation.words: words runs spelled joined stem
truncation.xml_element: is_xml
wire.cache_markers: unmarked
wire.content: json_text spoken size_of
wire.declarations: declarations_in server_of
wire.dialect: end_reason
wire.dialects: dialect_named conversation_dialect endpoint_of decode_message parse_call
wire.edits: alike copied
wire.embedded_media: read_data_url
wire.fields: fields_of field_of parts_of text_of
wire.frames: split_frame
wire.identity: session_id
wire.media: decoded encoded
wire.pairs: texts_in
wire.sse: last_event is_event_stream is_between_events written
wire.summary: marked
wire.usage: streamed_body
"""
_MOST = 220
"""Calls of one function."""


def _pool(hint: Any) -> tuple[Any, ...]:
    if isinstance(hint, types.UnionType):
        return tuple(value for each in typing.get_args(hint) for value in _pool(each))
    if hint is type(None):
        return (None,)
    if hint is bool:
        return (False, True)
    if hint in (int, float):
        return NUMBERS if hint is int else (*NUMBERS, 0.5, 2.25)
    if hint is str or isinstance(hint, typing.TypeVar):
        return STRINGS + LONG
    if hint in (bytes, bytearray, memoryview):
        return tuple(text.encode("utf-8", "surrogatepass") for text in STRINGS + LONG)
    if hint is Any or hint is object:
        return OBJECTS + STRINGS[:30]
    inner = typing.get_args(hint)
    if inner and inner[0] is int:
        return LISTS
    if inner and inner[-1] is Any:
        return tuple(value for value in OBJECTS if isinstance(value, dict))
    return NAMES


def _calls(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    hints = typing.get_type_hints(function)
    wanted = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    pools = [_pool(hints[each.name]) for each in wanted]
    if len(pools) == 1:
        return [(value,) for value in pools[0]][:_MOST]
    chance = Random(function.__name__)
    return [tuple(chance.choice(pool) for pool in pools) for _ in range(_MOST)]


def _given(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        found = function(*arguments)
        return _plain(found)
    except Exception as error:
        return f"{type(error).__name__}"


def _plain(found: Any) -> Any:
    """A value as JSON can have it, also one that is read once, or an array of numbers."""
    if isinstance(found, array) or inspect.isgenerator(found):
        return doors.plain(list(islice(found, 200)))
    return [_plain(each) for each in found] if type(found) is tuple else doors.plain(found)


def functions(out: Recorder) -> None:
    """Every function of the table."""
    for line in _FUNCTIONS.split("\n")[1:-1]:
        module, _, names = line.partition(": ")
        for name in names.split():
            function = getattr(import_module(f"keepwhole.{module}"), name)
            calls = [*_calls(function), *OWN.get(f"{module}.{name}", ())]
            out.add(f"small/{module}.{name}", [_given(function, arguments) for arguments in calls])


_PACKAGES = "canonical conversation exchange models policies recall record standalone truncation wire"


def defaults(out: Recorder) -> None:
    """The fields of every public value, with what each is where it is not given."""
    for package in _PACKAGES.split():
        found = import_module(f"keepwhole.{package}")
        modules = sorted(each.name for each in walk_packages(found.__path__, f"keepwhole.{package}."))
        for name in modules:
            for kind in vars(import_module(name)).values():
                if inspect.isclass(kind) and kind.__module__ == name and not kind.__name__.startswith("_"):
                    fields = getattr(kind, "_fields", None) or getattr(kind, "fields", None)
                    if isinstance(fields, tuple) and fields:
                        given = getattr(kind, "_field_defaults", None) or vars(kind)
                        own = [[field, doors.plain(given[field]) if field in given else "required"] for field in fields]
                        out.add(f"small/fields/{name.removeprefix('keepwhole.')}.{kind.__name__}", own)


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {"small": [functions, defaults]}
