"""Which strategy keeps the needle: texts with facts hidden in them, cut, and looked through for those facts.

Every cell is a share of needles kept over several generated texts. The question never repeats the words of the needle
as they stand, and lines that share some of them lie all around it.
"""
