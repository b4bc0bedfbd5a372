"""Processes that the proxy is measured with: a provider that answers at once, and a relay that does nothing else."""
