-- The record. Bodies are bytes; nothing here is ever updated, and only a purge deletes. Names carry no schema: the
-- script runs with the record's own schema as its search path. No text here has a backslash in it: what that means
-- depends on a setting.

-- Milliseconds since 1970, between the years 1653 and 9999: what every client can show.
CREATE DOMAIN moment AS bigint CHECK (VALUE BETWEEN -10000000000000 AND 253370764800000);

CREATE TABLE sessions (
    id         bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text    COLLATE "C" NOT NULL UNIQUE,
    agent      text,
    workspace  text,
    created_at moment  NOT NULL,
    ephemeral  boolean NOT NULL
);

-- `stored` is the running total of the session's bytes; `previous` and `chain` make each row checkable by itself.
-- `format` and `key_id` are reserved for encrypted bodies.
CREATE TABLE entries (
    session     bigint   NOT NULL REFERENCES sessions (id),
    seq         bigint   NOT NULL,
    kind        text     COLLATE "C" NOT NULL,
    trace_id    text     COLLATE "C" NOT NULL,
    artifact_id text     COLLATE "C",
    call_id     bytea,
    at          moment   NOT NULL,
    stored      bigint   NOT NULL,
    previous    bytea    NOT NULL,
    header      bytea    NOT NULL,
    digest      bytea    NOT NULL,
    chain       bytea    NOT NULL,
    format      smallint NOT NULL DEFAULT 0,
    key_id      text,
    blob        text     COLLATE "C",
    blocks      bytea    NOT NULL,
    body        bytea,
    PRIMARY KEY (session, seq)
);

-- A call's id is the provider's and may be of any length, an index row may not: only its digest is indexed.
CREATE UNIQUE INDEX result_by_trace ON entries (session, trace_id) WHERE kind = 'result';
CREATE INDEX entry_by_trace ON entries (session, kind, trace_id, seq) WHERE kind <> 'result';
CREATE INDEX result_by_artifact ON entries (session, artifact_id) WHERE artifact_id IS NOT NULL;
CREATE INDEX result_by_call ON entries (session, sha256(call_id)) WHERE call_id IS NOT NULL;
-- A body belongs to one entry: else a purge of one session would delete what another has.
CREATE UNIQUE INDEX entry_with_blob ON entries (blob) WHERE blob IS NOT NULL;
-- More than four blocks of 64 KB: what lies beyond them is not indexed.
CREATE INDEX result_that_goes_on ON entries (session, seq) WHERE kind = 'result' AND length(blocks) > 160;

-- Bodies too large for a row, in pieces that are durable before a row refers to them. They are read in ranges, so they
-- are not compressed.
CREATE TABLE pieces (
    blob  text   COLLATE "C" NOT NULL,
    piece bigint NOT NULL,
    data  bytea  NOT NULL,
    at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (blob, piece)
);
ALTER TABLE pieces ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE endings (
    session bigint PRIMARY KEY REFERENCES sessions (id),
    at      moment NOT NULL
);

CREATE TABLE tombstones (
    name    text   COLLATE "C" PRIMARY KEY,
    seq     bigint NOT NULL,
    chain   bytea  NOT NULL,
    at      moment NOT NULL,
    entries bigint NOT NULL,
    stored  bigint NOT NULL
);

-- Something is in here only inside the transaction that removes it.
CREATE TABLE purging (
    name text COLLATE "C" PRIMARY KEY
);

-- What follows is derived from the record and can be made again. It goes with its session, even where somebody was
-- indexing while it was purged.
CREATE TABLE passages (
    session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number  bigint NOT NULL,
    words   tsvector NOT NULL,
    PRIMARY KEY (session, number)
);
CREATE INDEX passages_by_word ON passages USING gin (words);

-- How far the index has come in each session. Numbers of entries are given in the order of commits only within one.
CREATE TABLE indexed (
    session bigint PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    up_to   bigint NOT NULL
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the record is append-only';
END $$;

CREATE FUNCTION refuse_unless_purged() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM purging) THEN
        RAISE EXCEPTION 'the record is append-only';
    END IF;
    RETURN OLD;
END $$;

DO $$
DECLARE
    kept text;
BEGIN
    FOREACH kept IN ARRAY ARRAY['sessions', 'entries', 'pieces', 'endings', 'tombstones'] LOOP
        EXECUTE format('CREATE TRIGGER never_changed BEFORE UPDATE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION refuse_change()', kept);
        EXECUTE format('CREATE TRIGGER never_emptied BEFORE TRUNCATE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', kept);
        EXECUTE format('CREATE TRIGGER only_purged BEFORE DELETE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION refuse_unless_purged()', kept);
    END LOOP;
END $$;
