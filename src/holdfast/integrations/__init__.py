"""Inside somebody's agent: adapters over a session, one file each. What they adapt to is imported where it is used."""
