-- What who writes the record may do beside `append`. Nobody but the owner has a right to any table but to read it: each
-- of these functions runs as the owner and does one thing.

-- Make a session, where there is none of that name.
CREATE FUNCTION open_session(named text, by text, place text, moment moment, fleeting boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO sessions (name, agent, workspace, created_at, ephemeral) VALUES (named, by, place, moment, fleeting)
        ON CONFLICT (name) DO NOTHING;
END $$;

-- Note that a session has ended; whether there is one.
CREATE FUNCTION end_session(named text, moment moment) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO endings SELECT s.id, moment FROM sessions s WHERE s.name = named ON CONFLICT DO NOTHING;
    RETURN EXISTS (SELECT 1 FROM sessions s WHERE s.name = named);
END $$;

-- Put a piece of a body that no entry has yet.
CREATE FUNCTION put_piece(target text, number bigint, bytes bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    IF (target ~ '^[0-9a-f]{32}$' AND number BETWEEN 0 AND (1::bigint << 31) AND length(bytes) <= 1048576) IS NOT TRUE
        OR EXISTS (SELECT 1 FROM entries e WHERE e.blob = target) THEN
        RAISE EXCEPTION 'this is no piece of a new body' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO pieces (blob, piece, data) VALUES (target, number, bytes) ON CONFLICT DO NOTHING;
END $$;

-- A tombstone, and the names of bodies outside the database that nothing refers to any more.
CREATE TYPE purged AS (
    name    text,
    seq     bigint,
    chain   bytea,
    at      bigint,
    entries bigint,
    stored  bigint,
    outside text[]
);

-- Remove everything of a session but a tombstone. Its row is locked first, as an append does, so that nothing is added
-- meanwhile. Its bodies are condemned: an entry of another session that names one of them, and waits, does not get it.
CREATE FUNCTION purge(gone text, moment moment) RETURNS SETOF purged
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    number bigint;
    stone  purged;
BEGIN
    PERFORM refuse_old_snapshot();
    SELECT s.id INTO number FROM sessions s WHERE s.name = gone FOR UPDATE;
    IF number IS NULL THEN
        RETURN;
    END IF;
    SELECT gone, h.seq, h.chain, moment, 0, h.stored INTO stone FROM (
        (SELECT 1 AS choice, e.seq, e.chain, e.stored FROM entries e WHERE e.session = number ORDER BY e.seq DESC LIMIT 1)
        UNION ALL SELECT 2, t.seq, t.chain, 0 FROM tombstones t WHERE t.name = gone
        UNION ALL SELECT 3, 0, decode(repeat('00', 32), 'hex'), 0
        ORDER BY choice LIMIT 1
    ) h;
    SELECT count(*), coalesce(array_agg(e.blob) FILTER (WHERE left(e.blob, 1) = '@'), '{}')
        INTO stone.entries, stone.outside FROM entries e WHERE e.session = number;
    INSERT INTO removals (what, name, seq, chain, entries, stored)
        VALUES ('session', gone, stone.seq, stone.chain, stone.entries, stone.stored);
    INSERT INTO condemned SELECT e.blob FROM entries e WHERE e.session = number AND e.blob IS NOT NULL
        ON CONFLICT DO NOTHING;
    INSERT INTO purging VALUES (gone);
    DELETE FROM pieces p USING entries e WHERE e.session = number AND p.blob = e.blob;
    DELETE FROM entries e WHERE e.session = number;
    DELETE FROM endings d WHERE d.session = number;
    DELETE FROM sessions s WHERE s.id = number;
    IF stone.seq > 0 THEN
        DELETE FROM tombstones t WHERE t.name = gone;
        INSERT INTO tombstones VALUES (gone, stone.seq, stone.chain, moment, stone.entries, stone.stored);
    END IF;
    DELETE FROM purging p WHERE p.name = gone;
    RETURN NEXT stone;
END $$;

-- An empty session begins after this number and hash; whether it was empty. Numbers end far below what a column holds,
-- so that there is always a next one.
CREATE FUNCTION restart(renewed text, last bigint, head bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    number bigint;
    stone  tombstones;
BEGIN
    PERFORM refuse_old_snapshot();
    SELECT s.id INTO number FROM sessions s WHERE s.name = renewed FOR UPDATE;
    IF number IS NULL OR EXISTS (SELECT 1 FROM entries e WHERE e.session = number) THEN
        RETURN false;
    END IF;
    IF (last = 0 OR last BETWEEN 1 AND (1::bigint << 52) AND length(head) = 32) IS NOT TRUE THEN
        RAISE EXCEPTION 'no session begins there' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    INSERT INTO purging VALUES (renewed);
    DELETE FROM tombstones t WHERE t.name = renewed RETURNING t.* INTO stone;
    IF FOUND THEN
        INSERT INTO removals (what, name, seq, chain, entries, stored)
            VALUES ('tombstone', renewed, stone.seq, stone.chain, stone.entries, stone.stored);
    END IF;
    IF last > 0 THEN
        INSERT INTO tombstones VALUES (renewed, last, head, 0, 0, 0);
    END IF;
    DELETE FROM purging p WHERE p.name = renewed;
    RETURN true;
END $$;

-- Put the passages of the results after one entry and up to another into the index; how far it goes then. Nothing in it
-- is ever changed, no result is passed over, and what does not begin where the index ends is left out.
CREATE FUNCTION index_passages(of bigint, after bigint, last bigint, numbers bigint[], terms text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
        ON CONFLICT DO NOTHING;
    UPDATE indexed i SET up_to = last WHERE i.session = of;
    RETURN last;
END $$;

-- Let the index of a session be made anew by the next search in it. For the owner alone: who may empty an index can fill
-- it with something else.
CREATE FUNCTION reindex(named text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    subject bigint;
BEGIN
    SELECT s.id INTO subject FROM sessions s WHERE s.name = named;
    DELETE FROM indexed i WHERE i.session = subject;
    DELETE FROM passages p WHERE p.session = subject;
END $$;
