-- Single entries can be forgotten: their number and hashes stay, everything else goes. A row of `format` 1 is what is
-- left of one. Its header is the hash of the one it had, and it has no body and no call.

-- How many entries were forgotten, and the names of their bodies outside the database.
CREATE TYPE forgotten AS (
    entries bigint,
    outside text[]
);

-- Forget these entries of a session; nothing is returned where there is no such session. For the owner alone: nobody
-- who writes the record can take a single entry out of it. The session's row is locked first, as an append does. The
-- row of the index is locked as `index_passages` does, so that no words are added that were read before.
CREATE FUNCTION forget(named text, numbers bigint[]) RETURNS SETOF forgotten
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    subject bigint;
    wanted  bigint;
    e       entries;
    told    forgotten := ROW(0, '{}');
    mark    text := gen_random_uuid()::text;
BEGIN
    PERFORM refuse_old_snapshot();
    SELECT s.id INTO subject FROM sessions s WHERE s.name = named FOR NO KEY UPDATE;
    IF subject IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO indexed VALUES (subject, 0) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM indexed i WHERE i.session = subject FOR UPDATE;
    INSERT INTO purging VALUES (mark);
    FOREACH wanted IN ARRAY numbers LOOP
        SELECT * INTO e FROM entries o WHERE o.session = subject AND o.seq = wanted AND o.format <> 1;
        CONTINUE WHEN NOT FOUND;
        IF e.blob IS NOT NULL THEN
            INSERT INTO condemned VALUES (e.blob) ON CONFLICT DO NOTHING;
            DELETE FROM pieces p WHERE p.blob = e.blob;
        END IF;
        IF left(e.blob, 1) = '@' THEN
            told.outside := told.outside || e.blob;
        END IF;
        DELETE FROM passages p WHERE p.session = subject AND p.number BETWEEN wanted * 64 AND wanted * 64 + 63;
        DELETE FROM entries o WHERE o.session = subject AND o.seq = wanted;
        INSERT INTO entries (session, seq, kind, trace_id, artifact_id, at, stored, previous, header, digest, chain,
                             format, blocks, minute)
            VALUES (subject, e.seq, e.kind, e.trace_id, e.artifact_id, e.at, e.stored, e.previous, sha256(e.header),
                    e.digest, e.chain, 1, '', e.minute);
        told.entries := told.entries + 1;
    END LOOP;
    DELETE FROM purging p WHERE p.name = mark;
    INSERT INTO removals (what, name, seq, chain, entries, stored)
        SELECT 'entries', named, l.seq, l.chain, told.entries, l.stored FROM entries l
        WHERE l.session = subject AND told.entries > 0 ORDER BY l.seq DESC LIMIT 1;
    RETURN NEXT told;
END $$;

-- Add what is left of a forgotten entry of another record, after the entry with the hash `place`, which must be the
-- session's last. Who writes the record may call it: it adds nothing but hashes. A call that comes twice adds one.
CREATE FUNCTION add_forgotten(named text, place bytea, of_kind text, trace text, artifact text, hash bytea, body bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    subject bigint;
    head    entries;
    linked  bytea := sha256(decode('686631', 'hex') || place || hash || body);
BEGIN
    PERFORM refuse_old_snapshot();
    IF (of_kind IN ('result', 'decision', 'request', 'response') AND trace <> '' AND length(place) = 32
        AND length(hash) = 32 AND length(body) = 32) IS NOT TRUE THEN
        RAISE EXCEPTION 'an entry is malformed' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT s.id INTO subject FROM sessions s WHERE s.name = named FOR NO KEY UPDATE;
    IF subject IS NULL THEN
        RAISE EXCEPTION 'there is no such session' USING ERRCODE = 'HF001';
    END IF;
    SELECT * INTO head FROM entries e WHERE e.session = subject ORDER BY e.seq DESC LIMIT 1;
    IF NOT FOUND THEN
        SELECT t.seq, t.chain INTO head.seq, head.chain FROM tombstones t WHERE t.name = named;
    END IF;
    IF head.format = 1 AND head.chain = linked THEN
        RETURN;
    END IF;
    IF place <> coalesce(head.chain, decode(repeat('00', 32), 'hex')) THEN
        RAISE EXCEPTION 'somebody else adds to it' USING ERRCODE = 'HF004';
    END IF;
    INSERT INTO entries (session, seq, kind, trace_id, artifact_id, at, stored, previous, header, digest, chain, format,
                         blocks)
        VALUES (subject, coalesce(head.seq, 0) + 1, of_kind, trace, artifact, coalesce(head.at, 0),
                coalesce(head.stored, 0), place, hash, body, linked, 1, '');
END $$;

-- As before, but that nothing is indexed of what was forgotten since it was read.
CREATE OR REPLACE FUNCTION index_passages(of bigint, after bigint, last bigint, numbers bigint[], terms text[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    reached bigint;
BEGIN
    PERFORM refuse_old_snapshot();
    INSERT INTO indexed VALUES (of, 0) ON CONFLICT DO NOTHING;
    SELECT i.up_to INTO reached FROM indexed i WHERE i.session = of FOR UPDATE;
    IF reached IS DISTINCT FROM after THEN
        RETURN reached;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM entries e WHERE e.session = of AND e.seq = last AND e.kind = 'result' AND e.seq > after)
        OR EXISTS (SELECT 1 FROM unnest(numbers) n WHERE (n / 64 > after AND n / 64 <= last) IS NOT TRUE)
        OR EXISTS (
            SELECT 1 FROM entries e WHERE e.session = of AND e.kind = 'result' AND e.seq > after AND e.seq <= last
                AND e.seq NOT IN (SELECT n / 64 FROM unnest(numbers) n)
        ) THEN
        RAISE EXCEPTION 'these are not the passages that come next' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO passages SELECT of, p.number, p.words::tsvector FROM unnest(numbers, terms) AS p (number, words)
        WHERE NOT EXISTS (
            SELECT 1 FROM entries e WHERE e.session = of AND e.seq = p.number / 64 AND e.format = 1
        ) ON CONFLICT DO NOTHING;
    UPDATE indexed i SET up_to = last WHERE i.session = of;
    RETURN last;
END $$;
