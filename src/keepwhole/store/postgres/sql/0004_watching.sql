-- Whoever watches the record is woken by what is added to it, over a channel whose name is the salt. There is nothing
-- in a notice: who watches looks for itself, and may only see what it may read.
--
-- NOTIFY makes commits wait for one another, so it is sent only while somebody watches, who holds a lock for as long,
-- and by one transaction at a time. Those that come meanwhile leave it to that one: who watches looks again afterwards.
CREATE FUNCTION notify_watchers() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    salt CONSTANT text := (SELECT r.salt FROM record r);
    watching CONSTANT bigint := hashtextextended(salt || '/watching', 0);
BEGIN
    IF pg_try_advisory_lock(watching) THEN
        PERFORM pg_advisory_unlock(watching);
    ELSIF pg_try_advisory_xact_lock(hashtextextended(salt || '/notifying', 0)) THEN
        PERFORM pg_notify(salt, '');
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER seen_by_watchers AFTER INSERT ON entries FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();
CREATE TRIGGER seen_by_watchers AFTER INSERT OR DELETE ON sessions FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();
CREATE TRIGGER seen_by_watchers AFTER INSERT ON endings FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();

-- Who writes the record may have a whole session purged, and let a purged name begin anew, which takes its tombstone.
-- So that nobody can do so without a trace, both are noted with what was there and who did it. Those who write do not
-- read this.
CREATE TABLE removals (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    what    text   COLLATE "C" NOT NULL,
    name    text   COLLATE "C" NOT NULL,
    seq     bigint NOT NULL,
    chain   bytea  NOT NULL,
    entries bigint NOT NULL,
    stored  bigint NOT NULL,
    by      text   NOT NULL DEFAULT session_user,
    at      timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON removals FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER never_emptied BEFORE TRUNCATE ON removals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
