"""Which strategy keeps the needle: texts with hidden facts are cut, and the views are searched for these facts.

Every cell is a share of needles kept over several generated texts. The question never repeats the exact words of the
needle, and lines that share some of them are all around it.
"""
