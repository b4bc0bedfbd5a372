"""What every back end must do."""
