-- Texts that a conversation may send again: a whole result by its digest, a view by the digest in its decision's header.
CREATE INDEX entry_by_text ON entries (
    session,
    CASE kind WHEN 'result' THEN digest ELSE substr(header, instr(header, CAST('"shown_digest":"' AS BLOB)) + 16, 64) END,
    seq
) WHERE kind IN ('result', 'decision');

-- Keepwhole's own notes, which are results of its own tools, and what was sent and came back.
CREATE INDEX note_by_seq ON entries (session, seq)
WHERE kind = 'result' AND instr(header, CAST('"tool":"keepwhole_' AS BLOB)) > 0;
CREATE INDEX request_by_seq ON entries (session, seq) WHERE kind IN ('request', 'response');
