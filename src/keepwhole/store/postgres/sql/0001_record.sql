-- The record. Bodies are bytes; nothing here is ever updated, and only a purge deletes. Names carry no schema: the
-- script runs with the record's own schema as its search path.

CREATE TABLE sessions (
    id         bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text    COLLATE "C" NOT NULL UNIQUE,
    agent      text,
    workspace  text,
    created_at bigint  NOT NULL,
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
    at          bigint   NOT NULL,
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
CREATE INDEX entry_with_blob ON entries (blob) WHERE blob IS NOT NULL;
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
    at      bigint NOT NULL
);

CREATE TABLE tombstones (
    name    text   COLLATE "C" PRIMARY KEY,
    seq     bigint NOT NULL,
    chain   bytea  NOT NULL,
    at      bigint NOT NULL,
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

-- The paths that delete. They run as the owner, so that who writes the record needs no right to delete.

CREATE FUNCTION purge(gone text, moment bigint) RETURNS SETOF tombstones
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    number bigint;
    stone  tombstones;
BEGIN
    SELECT id INTO number FROM sessions WHERE name = gone;
    IF number IS NULL THEN
        RETURN;
    END IF;
    SELECT gone, h.seq, h.chain, moment, 0, h.stored INTO stone FROM (
        (SELECT 1 AS choice, e.seq, e.chain, e.stored FROM entries e WHERE e.session = number ORDER BY e.seq DESC LIMIT 1)
        UNION ALL SELECT 2, t.seq, t.chain, 0 FROM tombstones t WHERE t.name = gone
        UNION ALL SELECT 3, 0, decode(repeat('00', 32), 'hex'), 0
        ORDER BY choice LIMIT 1
    ) h;
    SELECT count(*) INTO stone.entries FROM entries e WHERE e.session = number;
    INSERT INTO purging VALUES (gone);
    DELETE FROM pieces p USING entries e WHERE e.session = number AND p.blob = e.blob;
    DELETE FROM entries e WHERE e.session = number;
    DELETE FROM endings d WHERE d.session = number;
    DELETE FROM sessions s WHERE s.id = number;
    IF stone.seq > 0 THEN
        DELETE FROM tombstones t WHERE t.name = gone;
        INSERT INTO tombstones SELECT stone.*;
    END IF;
    DELETE FROM purging;
    RETURN NEXT stone;
END $$;

-- An empty session begins after this number and hash; whether it was empty.
CREATE FUNCTION restart(renewed text, last bigint, head bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM entries e JOIN sessions s ON s.id = e.session WHERE s.name = renewed) THEN
        RETURN false;
    END IF;
    INSERT INTO purging VALUES (renewed);
    DELETE FROM tombstones t WHERE t.name = renewed;
    IF last > 0 THEN
        INSERT INTO tombstones VALUES (renewed, last, head, 0, 0, 0);
    END IF;
    DELETE FROM purging;
    RETURN true;
END $$;

-- Drop a body that no entry refers to.
CREATE FUNCTION discard(unwanted text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO purging VALUES (unwanted);
    DELETE FROM pieces p WHERE p.blob = unwanted AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.blob = unwanted);
    DELETE FROM purging;
END $$;

-- Drop bodies that nothing has referred to for an hour; how many pieces they were.
CREATE FUNCTION collect_orphans() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    dropped bigint;
BEGIN
    INSERT INTO purging VALUES ('');
    DELETE FROM pieces p WHERE p.at < now() - interval '1 hour'
        AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.blob = p.blob);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    DELETE FROM purging;
    RETURN dropped;
END $$;
