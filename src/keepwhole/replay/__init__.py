"""What a policy would have done to recorded runs: its cached cost beside the evidence it keeps. No model is run."""
