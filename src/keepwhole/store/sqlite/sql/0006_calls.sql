-- A call is found in one session, and in all of them: a conversation may go on under another name.
DROP INDEX result_by_call;
CREATE INDEX result_by_call ON entries (call_id, session) WHERE call_id IS NOT NULL;
