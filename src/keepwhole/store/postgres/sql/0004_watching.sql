-- Whoever watches the record is woken by what is added to it, over the channel that is called as the schema is. There is
-- nothing in a notice: who watches looks for itself, and may only see what it may read.
--
-- NOTIFY makes commits wait for one another, so it is sent only while somebody watches, who holds a lock for as long,
-- and by one transaction at a time. Those that come meanwhile leave it to that one: who watches looks again afterwards.
CREATE FUNCTION notify_watchers() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    watching CONSTANT bigint := hashtextextended('keepwhole/' || TG_TABLE_SCHEMA || '/watching', 0);
BEGIN
    IF pg_try_advisory_lock(watching) THEN
        PERFORM pg_advisory_unlock(watching);
    ELSIF pg_try_advisory_xact_lock(hashtextextended('keepwhole/' || TG_TABLE_SCHEMA || '/notifying', 0)) THEN
        PERFORM pg_notify(TG_TABLE_SCHEMA, '');
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER seen_by_watchers AFTER INSERT ON entries FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();
CREATE TRIGGER seen_by_watchers AFTER INSERT OR DELETE ON sessions FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();
CREATE TRIGGER seen_by_watchers AFTER INSERT ON endings FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();

-- Who writes the record may have a whole session purged, and let a purged name begin anew, which takes its tombstone.
-- So that nobody can do so without a trace, both are noted with who did it. Those who write do not read this.
CREATE TABLE removals (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    what text   COLLATE "C" NOT NULL,
    name text   COLLATE "C" NOT NULL,
    seq  bigint,
    by   text   NOT NULL DEFAULT session_user,
    at   timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO removals (what, name, seq) VALUES (TG_TABLE_NAME, OLD.name, (to_jsonb(OLD) ->> 'seq')::bigint);
    RETURN NULL;
END $$;

CREATE TRIGGER noted AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION note_removal();
CREATE TRIGGER noted AFTER DELETE ON tombstones FOR EACH ROW EXECUTE FUNCTION note_removal();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON removals FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON removals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
