"""A made-up provider whose requests have `turns`: what a fourth dialect takes, and all of it is in this folder."""
