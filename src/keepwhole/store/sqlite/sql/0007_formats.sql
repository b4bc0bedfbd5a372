-- Which version of Keepwhole reads each version of the schema. An older one that is refused names it.
CREATE TABLE formats (
    schema INTEGER PRIMARY KEY,
    needs TEXT NOT NULL
) STRICT;
