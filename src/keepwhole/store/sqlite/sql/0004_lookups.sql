-- An artifact's id ends in the letters of its result's, by which it is found; in an archive it may have its own.
CREATE INDEX result_by_artifact ON entries (session, artifact_id)
WHERE kind = 'result' AND substr(artifact_id, -22) <> substr(trace_id, -22);

-- The newest decisions of a session, without looking at its results.
CREATE INDEX decision_by_seq ON entries (session, seq, trace_id) WHERE kind = 'decision';
