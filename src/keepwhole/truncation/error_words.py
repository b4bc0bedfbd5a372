"""Words that report an error in a line of a log, and those that report a crash in any line of any result.

Owns: the words, in lower case. Must not know: lines, logs, which lines are kept.
"""

CRASHES = ("segmentation fault", "core dumped", "out of memory", "operation timed out")
"""A failure wherever a line has them; nothing else is said with these words."""
ERRORS = ("error", "fail", "exception", "traceback", "fatal", "panic", "critical", "assert", "segfault", *CRASHES)
"""What a line of a log has that reports an error."""
ELSEWHERE = {
    "LATIN": ("fehler", "ausnahme", "erreur", "échec", "fallo", "falló", "falha", "błąd", "hata"),
    "CYRILLIC": ("ошибк", "исключени", "сбой", "помилк"),
    "CJK": ("错误", "錯誤", "异常", "異常", "失败", "失敗"),
    "KATAKANA": ("エラー", "例外"),
    "HANGUL": ("오류", "실패", "예외"),
    "ARABIC": ("خطأ",),
    "DEVANAGARI": ("त्रुटि",),
}
"""The same in other languages, by the script in which they are written."""
