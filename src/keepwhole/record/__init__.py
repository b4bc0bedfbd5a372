"""One session's journal: how a result gets in (`arrival`), what the record knows (`journal`), bills."""
