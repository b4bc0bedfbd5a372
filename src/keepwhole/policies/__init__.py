"""What the model should see of a conversation: one file per policy, and what policies share. No I/O."""
