-- Texts that a conversation may send again: a whole result by its digest, a view by the digest in its decision's header.
CREATE INDEX entry_by_text ON entries (
    session,
    (CASE kind WHEN 'result' THEN digest
               ELSE substring(header FROM position('"shown_digest":"'::bytea IN header) + 16 FOR 64) END),
    seq
) WHERE kind IN ('result', 'decision');

-- The newest decisions of a session, without looking at its results.
CREATE INDEX decision_by_seq ON entries (session, seq, trace_id) WHERE kind = 'decision';

-- Keepwhole's own notes, which are results of its own tools, and what was sent and came back.
CREATE INDEX note_by_seq ON entries (session, seq)
WHERE kind = 'result' AND position('"tool":"keepwhole_'::bytea IN header) > 0;
CREATE INDEX request_by_seq ON entries (session, seq) WHERE kind IN ('request', 'response');
