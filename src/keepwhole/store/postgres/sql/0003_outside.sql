-- Bodies may lie outside the database, in a bucket or a folder that several records share: the names of each record's
-- own begin with its id.
CREATE TABLE record (
    id text COLLATE "C" PRIMARY KEY,
    -- What the numbers of locks and the channel of notices are made of. Locks and channels belong to a whole database:
    -- who has no right to this record must not guess them.
    salt text NOT NULL
);
INSERT INTO record VALUES (replace(gen_random_uuid()::text, '-', ''), replace(gen_random_uuid()::text, '-', ''));

-- Bodies that were deleted, or are about to be, because no entry had them. No entry ever gets one.
CREATE TABLE condemned (
    blob text COLLATE "C" PRIMARY KEY
);

DO $$
DECLARE
    kept text;
BEGIN
    FOREACH kept IN ARRAY ARRAY['record', 'condemned'] LOOP
        EXECUTE format('CREATE TRIGGER never_changed BEFORE UPDATE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION refuse_change()', kept);
        EXECUTE format('CREATE TRIGGER never_emptied BEFORE TRUNCATE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', kept);
        EXECUTE format('CREATE TRIGGER never_deleted BEFORE DELETE ON %I '
                       'FOR EACH ROW EXECUTE FUNCTION refuse_change()', kept);
    END LOOP;
END $$;

-- Whoever adds an entry with a body holds this lock until the commit, and whoever condemns bodies waits for it: so each
-- sees what the other did. It is a statement of its own, since what is read after it must be read after it was waited
-- for. It comes after the row is there: a row with the same body, whose purge condemns it, was waited for then too.
CREATE FUNCTION refuse_condemned() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    LOCK TABLE condemned IN ROW SHARE MODE;
    IF EXISTS (SELECT 1 FROM condemned c WHERE c.blob = NEW.blob) THEN
        RAISE EXCEPTION 'the body was given up and deleted before its entry came';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER never_condemned AFTER INSERT ON entries
    FOR EACH ROW WHEN (NEW.blob IS NOT NULL) EXECUTE FUNCTION refuse_condemned();

-- Make sure that no entry ever has one of these bodies; those of them that none has.
CREATE FUNCTION condemn(unwanted text[]) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM refuse_old_snapshot();
    LOCK TABLE condemned IN EXCLUSIVE MODE;
    INSERT INTO condemned SELECT DISTINCT u FROM unnest(unwanted) u
        WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.blob = u) ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT c.blob FROM condemned c WHERE c.blob = ANY (unwanted);
END $$;

-- Drop the pieces of bodies that are condemned; how many.
CREATE FUNCTION remove(unwanted text[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    dropped bigint;
    mark    text := gen_random_uuid()::text;
BEGIN
    PERFORM refuse_old_snapshot();
    INSERT INTO purging VALUES (mark);
    DELETE FROM pieces p USING condemned c WHERE p.blob = c.blob AND c.blob = ANY (unwanted)
        AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.blob = p.blob);
    GET DIAGNOSTICS dropped = ROW_COUNT;
    DELETE FROM purging WHERE name = mark;
    RETURN dropped;
END $$;
