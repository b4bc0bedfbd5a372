-- As before, but that each query in it is planned once, without the values of the call: planning one of them anew took a
-- third of the time of an append. Which decisions came after a number is asked in order, so that the index is read from
-- there. Asked whether there are any, a server that knows a table to be large reads all of it, of every session, since
-- it expects to find one soon.
CREATE OR REPLACE FUNCTION append(named text, mark bytea, sent_before boolean, once boolean, quota bigint, decided bigint,
                       place bytea, drafts draft[])
RETURNS SETOF appended LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    number  bigint;
    last    bigint;
    head    bytea;
    total   bigint;
    moment  bigint;
    since   bigint := 0;
    before  bigint;
    own     bytea;
    other   bigint;
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
        SELECT e.seq INTO other FROM entries e
            WHERE e.session = number AND e.seq > decided AND e.kind IN ('result', 'decision')
            AND substring(e.attempt FOR 12) IS DISTINCT FROM own ORDER BY e.seq LIMIT 1;
        IF FOUND THEN
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
