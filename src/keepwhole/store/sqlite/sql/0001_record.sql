-- The record. Bodies are bytes; nothing here is ever updated, and only a purge deletes.

CREATE TABLE sessions (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    agent      TEXT,
    workspace  TEXT,
    created_at INTEGER NOT NULL,
    ephemeral  INTEGER NOT NULL
) STRICT;

-- `stored` is the running total of the session's bytes; `previous` and `chain` make each row checkable by itself.
-- `format` and `key_id` are reserved for encrypted bodies. The body comes last so that lists never read it.
CREATE TABLE entries (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (id),
    seq         INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    trace_id    TEXT    NOT NULL,
    artifact_id TEXT,
    call_id     BLOB,
    at          INTEGER NOT NULL,
    stored      INTEGER NOT NULL,
    previous    BLOB    NOT NULL,
    header      BLOB    NOT NULL,
    digest      BLOB    NOT NULL,
    chain       BLOB    NOT NULL,
    format      INTEGER NOT NULL DEFAULT 0,
    key_id      TEXT,
    blob        TEXT,
    blocks      BLOB    NOT NULL,
    body        BLOB,
    UNIQUE (session, seq)
) STRICT;

CREATE UNIQUE INDEX result_by_trace ON entries (session, trace_id) WHERE kind = 'result';
CREATE INDEX decision_by_trace ON entries (session, trace_id, seq) WHERE kind = 'decision';
CREATE INDEX result_by_call ON entries (session, call_id) WHERE call_id IS NOT NULL;
CREATE INDEX entry_with_blob ON entries (blob) WHERE blob IS NOT NULL;

CREATE TABLE endings (
    session INTEGER PRIMARY KEY REFERENCES sessions (id),
    at      INTEGER NOT NULL
) STRICT;

CREATE TABLE tombstones (
    name    TEXT    PRIMARY KEY,
    seq     INTEGER NOT NULL,
    chain   BLOB    NOT NULL,
    at      INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    stored  INTEGER NOT NULL
) STRICT;

-- A session is in here only inside the transaction that purges it.
CREATE TABLE purging (
    session INTEGER PRIMARY KEY
) STRICT;

CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;
CREATE TRIGGER entries_only_purged BEFORE DELETE ON entries
WHEN NOT EXISTS (SELECT 1 FROM purging WHERE session = OLD.session)
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;

CREATE TRIGGER endings_never_change BEFORE UPDATE ON endings
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;
CREATE TRIGGER endings_only_purged BEFORE DELETE ON endings
WHEN NOT EXISTS (SELECT 1 FROM purging WHERE session = OLD.session)
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;

-- A tombstone gives way only to a later one of the same name, or to the session coming back from an archive.
CREATE TRIGGER tombstones_never_change BEFORE UPDATE ON tombstones
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;
CREATE TRIGGER tombstones_only_purged BEFORE DELETE ON tombstones
WHEN NOT EXISTS (SELECT 1 FROM purging)
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;

CREATE TRIGGER sessions_never_change BEFORE UPDATE ON sessions
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;
CREATE TRIGGER sessions_only_purged BEFORE DELETE ON sessions
WHEN NOT EXISTS (SELECT 1 FROM purging WHERE session = OLD.id)
BEGIN SELECT RAISE (ABORT, 'the record is append-only'); END;
