-- What all who share this record know, and nobody else. The server draws it when it is first asked for, so that nobody
-- chooses it.
CREATE TABLE secrets (
    name  text PRIMARY KEY,
    value text NOT NULL
);

CREATE FUNCTION secret(wanted text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO secrets VALUES (wanted, encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'))
        ON CONFLICT DO NOTHING;
    RETURN (SELECT value FROM secrets WHERE name = wanted);
END $$;
