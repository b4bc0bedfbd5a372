"""Replay: the metrics proven on runs whose answers can be checked on paper."""
