"""The pipeline as a process of its own, in front of the providers: any agent gets it without a change."""
