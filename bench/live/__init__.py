"""Live proof: seeded tasks for agents, with and without Keepwhole; tasks solved and dollars paid."""
