-- Whoever watches the record is woken by what is added to it, over the channel that is called as the schema is. There is
-- nothing in a notice: who watches looks for itself, and may only see what it may read.
--
-- NOTIFY makes commits wait for one another, so it is sent only while somebody watches, who holds a lock for as long,
-- and by one transaction at a time. Those that come meanwhile leave it to that one: who watches looks again afterwards.
CREATE FUNCTION notify_watchers() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    watching CONSTANT bigint := hashtextextended('holdfast/' || TG_TABLE_SCHEMA || '/watching', 0);
BEGIN
    IF pg_try_advisory_lock(watching) THEN
        PERFORM pg_advisory_unlock(watching);
    ELSIF pg_try_advisory_xact_lock(hashtextextended('holdfast/' || TG_TABLE_SCHEMA || '/notifying', 0)) THEN
        PERFORM pg_notify(TG_TABLE_SCHEMA, '');
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER seen_by_watchers AFTER INSERT ON entries FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();
CREATE TRIGGER seen_by_watchers AFTER INSERT OR DELETE ON sessions FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();
CREATE TRIGGER seen_by_watchers AFTER INSERT ON endings FOR EACH STATEMENT EXECUTE FUNCTION notify_watchers();
