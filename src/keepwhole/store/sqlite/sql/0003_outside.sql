-- Bodies may lie outside the record's folder, in a bucket or a folder that several records share: the names of each
-- record's own begin with its id.
CREATE TABLE record (
    id TEXT PRIMARY KEY
) STRICT;
INSERT INTO record VALUES (lower(hex(randomblob(16))));

-- Bodies that were deleted, or are about to be, because no entry had them. No entry ever gets one.
CREATE TABLE condemned (
    blob TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entries_never_condemned BEFORE INSERT ON entries
WHEN NEW.blob NOT NULL AND EXISTS (SELECT 1 FROM condemned WHERE blob = NEW.blob)
BEGIN SELECT RAISE (ABORT, 'the body was given up and deleted before its entry came'); END;
