"""The promises of the README, one file each."""
