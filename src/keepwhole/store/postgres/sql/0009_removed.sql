-- Up to which number the entries of sessions of this name were removed by purges; null if none ever was. A client that
-- remembers entries of such a session asks this before it reports that they are missing.
CREATE FUNCTION removed_up_to(named text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT max(r.seq) FROM removals r WHERE r.name = named AND r.what <> 'entries'
$$;
CREATE INDEX removal_by_name ON removals (name);
