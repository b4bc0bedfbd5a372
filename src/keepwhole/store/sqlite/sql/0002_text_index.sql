-- Passages of results by their terms, without positions: see store/passages.py. The rowid says which session and which
-- entry a passage belongs to.
CREATE VIRTUAL TABLE passages USING fts5 (
    words, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '._'"
);

CREATE TABLE indexed (
    up_to INTEGER NOT NULL
) STRICT;
INSERT INTO indexed VALUES (0);

-- More than four blocks of 64 KB: the rest of such a body is not indexed.
CREATE INDEX result_that_goes_on ON entries (session, seq) WHERE kind = 'result' AND length(blocks) > 160;
