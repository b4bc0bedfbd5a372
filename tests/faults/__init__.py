"""Faults: full and read-only disks, damage, hostile names, failing syncs. No loss, a clear error, the original back."""
