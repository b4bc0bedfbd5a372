"""What the model or a stream sees of a conversation: plans, policies, rendering. No I/O, no clock, no chance."""
