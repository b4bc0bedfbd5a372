"""What each of the five documents asks and the tests that show it: tables as text, written as pages by `docs.trace`."""
