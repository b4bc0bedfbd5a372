-- Adding to a session in one round trip: the lock, the head, the chain and the rows.

-- Which call of `append` wrote a row, so that a call that comes twice adds nothing the second time.
ALTER TABLE entries ADD COLUMN attempt bytea;

-- The minute of an entry, where the one before it in its session is of another: enough to tell which sessions were
-- written to last, and far less to keep in order than every entry.
ALTER TABLE entries ADD COLUMN minute bigint;
ALTER TABLE entries DISABLE TRIGGER never_changed;
UPDATE entries e SET minute = e.at / 60000 FROM (SELECT session, max(seq) AS seq FROM entries GROUP BY session) l
    WHERE e.session = l.session AND e.seq = l.seq;
ALTER TABLE entries ENABLE TRIGGER never_changed;
CREATE INDEX entry_by_minute ON entries (minute, session) WHERE minute IS NOT NULL;
CREATE INDEX session_by_time ON sessions (created_at, id);

-- Rows are added by `append` alone, which locks the session's row as a purge does. To look it up for every row would
-- cost more than the rest of an append.
ALTER TABLE entries DROP CONSTRAINT entries_session_fkey;

-- In the order that is asked for: else, while there are no statistics yet, the server reads the whole session instead.
DROP INDEX result_by_call;
CREATE INDEX result_by_call ON entries (session, sha256(call_id), seq) WHERE call_id IS NOT NULL;

-- An artifact's id ends in the letters of its result's, by which it is found; in an archive it may have its own.
DROP INDEX result_by_artifact;
CREATE INDEX result_by_artifact ON entries (session, artifact_id) WHERE right(artifact_id, 22) <> right(trace_id, 22);

CREATE TYPE draft AS (
    kind        text,
    trace_id    text,
    artifact_id text,
    call_id     bytea,
    at          moment,
    size        bigint,
    header      bytea,
    digest      bytea,
    blocks      bytea,
    blob        text,
    body        bytea
);

-- What became of a draft: its row, or the row on record that it is again, which is told in full.
CREATE TYPE appended AS (
    place       integer,
    seq         bigint,
    previous    bytea,
    chain       bytea,
    kind        text,
    trace_id    text,
    artifact_id text,
    header      bytea,
    digest      bytea,
    blocks      bytea
);

CREATE FUNCTION next_chain(previous bytea, header bytea, digest bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(decode('686631', 'hex') || previous || sha256(header) || digest)
$$;

-- Functions that write run as the owner. Their rules hold only where each statement sees what was committed before it
-- began: in a transaction with one snapshot for all, a lock that was waited for shows nothing new.
CREATE FUNCTION refuse_old_snapshot() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the record is written in transactions that are read committed'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
END $$;

-- A draft that could hurt more than itself: one that names no body of ours, or whose numbers leave no room for others.
CREATE FUNCTION refuse_malformed(d draft) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF (d.kind IN ('result', 'decision', 'request', 'response') AND d.trace_id <> '' AND d.at IS NOT NULL
        AND length(d.digest) = 32 AND length(d.header) > 0 AND d.blocks IS NOT NULL
        AND d.size BETWEEN 0 AND (1::bigint << 50)
        AND (d.body IS NULL OR length(d.body) = d.size)
        AND CASE WHEN d.blob IS NULL THEN d.body IS NOT NULL
                 WHEN d.body IS NULL THEN d.blob ~ '^@?[0-9a-f]{32}$'
                 ELSE d.blob ~ '^[0-9a-f]{32}$' END
    ) IS NOT TRUE THEN
        RAISE EXCEPTION 'an entry is malformed' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- The only way to add entries. It runs as the owner, so that who writes the record can neither choose the number of an
-- entry nor leave the chain. The session's row is locked until the commit, by appends one after another and by a purge;
-- the head is read after that lock was waited for. A call may reach the server late, after its sender gave it up and
-- sent it again over another connection: rows with its own mark are therefore looked for first, and it is told of them.
-- A result that comes late needs no look: its id is there once, and nothing of the call would be added.
--
-- Nothing is added where another than this call put a result or a decision after the number `decided`, or where the
-- session does not stand at the hash `place`.
CREATE FUNCTION append(named text, mark bytea, sent_before boolean, once boolean, quota bigint, decided bigint,
                       place bytea, drafts draft[])
RETURNS SETOF appended LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    number  bigint;
    last    bigint;
    head    bytea;
    total   bigint;
    moment  bigint;
    since   bigint := 0;
    before  bigint;
    own     bytea;
    again   text[] := '{}';
    d       draft;
    told    appended;
BEGIN
    PERFORM refuse_old_snapshot();
    SELECT s.id INTO number FROM sessions s WHERE s.name = named FOR NO KEY UPDATE;
    IF number IS NULL THEN
        RAISE EXCEPTION 'there is no such session' USING ERRCODE = 'HF001';
    END IF;
    SELECT e.seq, e.chain, e.stored, e.at / 60000 INTO last, head, total, moment
        FROM entries e WHERE e.session = number ORDER BY e.seq DESC LIMIT 1;
    IF last IS NULL THEN
        SELECT t.seq, t.chain INTO last, head FROM tombstones t WHERE t.name = named;
        last := coalesce(last, 0);
        head := coalesce(head, decode(repeat('00', 32), 'hex'));
        total := 0;
    END IF;
    before := last;
    own := substring(mark FOR 12);
    -- A condition with a query in it is asked of the executor, whatever comes of the rest: so each is asked by itself.
    IF decided < last THEN
        IF EXISTS (
            SELECT 1 FROM entries e WHERE e.session = number AND e.seq > decided AND e.kind IN ('result', 'decision')
                AND substring(e.attempt FOR 12) IS DISTINCT FROM own
        ) THEN
            RAISE EXCEPTION 'somebody else decided first' USING ERRCODE = 'HF003';
        END IF;
    END IF;
    IF place <> head THEN
        IF NOT EXISTS (
            SELECT 1 FROM entries e WHERE e.session = number AND e.seq = last AND substring(e.attempt FOR 12) = own
        ) THEN
            RAISE EXCEPTION 'somebody else adds to it' USING ERRCODE = 'HF004';
        END IF;
    END IF;
    FOR nth IN 1 .. cardinality(drafts) LOOP
        d := drafts[nth];
        told := NULL;
        IF d.kind <> 'result' THEN
            SELECT e.seq, e.previous, e.chain INTO told.seq, told.previous, told.chain FROM entries e
                WHERE e.session = number AND e.kind <> 'result' AND e.kind = d.kind AND e.trace_id = d.trace_id
                AND e.seq > since AND e.seq <= before AND e.attempt = mark ORDER BY e.seq LIMIT 1;
        ELSIF sent_before THEN
            SELECT e.seq, e.previous, e.chain INTO told.seq, told.previous, told.chain FROM entries e
                WHERE e.session = number AND e.kind = 'result' AND e.trace_id = d.trace_id AND e.attempt = mark;
        END IF;
        IF told.seq IS NOT NULL THEN
            since := told.seq;
            told.place := nth;
            RETURN NEXT told;
            CONTINUE;
        END IF;
        IF once AND d.call_id IS NOT NULL THEN
            SELECT nth, e.seq, e.previous, e.chain, e.kind, e.trace_id, e.artifact_id, e.header, e.digest, e.blocks
                INTO told FROM entries e
                WHERE e.session = number AND e.call_id IS NOT NULL AND sha256(e.call_id) = sha256(d.call_id)
                AND e.call_id = d.call_id AND e.digest = d.digest ORDER BY e.seq LIMIT 1;
            IF FOUND THEN
                again := again || d.trace_id;
                RETURN NEXT told;
                CONTINUE;
            END IF;
        END IF;
        CONTINUE WHEN d.trace_id = ANY (again);
        PERFORM refuse_malformed(d);
        total := least(total + d.size, (1::bigint << 62));
        IF total > quota THEN
            RAISE EXCEPTION 'the quota is used up' USING ERRCODE = 'HF002';
        END IF;
        told.place := nth;
        told.seq := last + 1;
        told.previous := head;
        told.chain := next_chain(head, d.header, d.digest);
        IF d.blob IS NOT NULL AND d.body IS NOT NULL THEN
            INSERT INTO pieces (blob, piece, data) VALUES (d.blob, 0, d.body);
            d.body := NULL;
        END IF;
        INSERT INTO entries (session, seq, kind, trace_id, artifact_id, call_id, at, stored, previous, header, digest,
                             chain, blob, blocks, body, attempt, minute)
            VALUES (number, told.seq, d.kind, d.trace_id, d.artifact_id, d.call_id, d.at, total, head, d.header,
                    d.digest, told.chain, d.blob, d.blocks, d.body, mark,
                    CASE WHEN d.at / 60000 IS DISTINCT FROM moment THEN d.at / 60000 END);
        moment := d.at / 60000;
        last := told.seq;
        head := told.chain;
        RETURN NEXT told;
    END LOOP;
END $$;

-- Sessions among which are all of the so many that were written to last, or made last.
CREATE FUNCTION newest(most bigint) RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    seen   bigint[] := '{}';
    one    record;
    minute bigint;
BEGIN
    SELECT e.minute, e.session INTO one FROM entries e WHERE e.minute IS NOT NULL
        ORDER BY e.minute DESC, e.session DESC LIMIT 1;
    WHILE one.session IS NOT NULL AND (cardinality(seen) < most OR one.minute = minute) LOOP
        minute := one.minute;
        seen := seen || one.session;
        RETURN NEXT one.session;
        SELECT e.minute, e.session INTO one FROM entries e
            WHERE e.minute IS NOT NULL AND (e.minute, e.session) <= (one.minute, one.session) AND e.session <> ALL (seen)
            ORDER BY e.minute DESC, e.session DESC LIMIT 1;
    END LOOP;
    RETURN QUERY SELECT s.id FROM sessions s ORDER BY s.created_at DESC, s.id DESC LIMIT most;
END $$;
