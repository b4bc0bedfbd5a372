-- Passages of results by their words, without positions: see store/passages.py. The rowid says which session and
-- which entry a passage is of.
CREATE VIRTUAL TABLE passages USING fts5 (
    words, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '._'"
);

CREATE TABLE passages_indexed (
    up_to INTEGER NOT NULL
) STRICT;
INSERT INTO passages_indexed VALUES (0);

-- More than four blocks of 64 KB: what lies beyond them is not indexed.
CREATE INDEX result_that_goes_on ON entries (session, seq) WHERE kind = 'result' AND length(blocks) > 160;
