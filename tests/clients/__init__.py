"""Real command lines of agents, driven offline against a model on loopback."""
