-- What all who share this record know, and nobody else: drawn once, by whoever comes first.

CREATE TABLE secrets (
    name  text PRIMARY KEY,
    value text NOT NULL
);
