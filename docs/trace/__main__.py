"""Writes `docs/reference/trace/`: a page for each document, from the tables beside this module.

A table has a title and a row for each thing the document asks: its number there, what is asked in a few words, the
tests that show it (names, or patterns such as `test_ac_001_*`), and, where Keepwhole differs on purpose, the reason.

    T1 | whole in its turn and the next | test_a_result_is_whole_in_the_turn_that_made_it_and_in_the_next

`make docs` runs this after `docs/generate.py`.
"""

from docs.trace.pages import FOLDER, pages

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
