"""Facts about the agents that send requests: one data file per client, one table of them all."""
