"""Moving records: archives of sessions, backups of whole records, copies between stores."""
