"""Made-up tool outputs of many kinds, the same every time: token estimates are checked against them."""

import base64
import json
import random
import uuid
from collections.abc import Callable
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent
_NAMES = ("alpha", "order", "payload", "session", "widget", "customer", "invoice", "retry", "shard", "cache", "token")
_LEVELS = ("INFO", "INFO", "DEBUG", "WARN", "ERROR")
_CHINESE = (
    "数据库连接已经关闭，请检查网络设置后再试一次。",
    "用户提交的请求超过了服务器允许的最大长度。",
    "系统将在今晚十点进行维护，预计需要两个小时。",
    "如果问题仍然存在，请联系管理员并附上日志文件。",
    "该函数返回一个列表，其中包含所有符合条件的订单。",
)
_JAPANESE = (
    "サーバーが応答しないため、接続を終了しました。",
    "この関数は条件に一致するすべての注文を返します。",
    "設定ファイルを確認してから、もう一度お試しください。",
    "新しいバージョンでは、いくつかの不具合が修正されています。",
)
_KOREAN = (
    "데이터베이스 연결이 종료되었습니다. 네트워크 설정을 확인하십시오.",
    "요청한 파일을 찾을 수 없어 작업을 계속할 수 없습니다.",
    "새 버전에서는 여러 가지 오류가 수정되었습니다.",
)
_RUSSIAN = (
    "Соединение с базой данных закрыто, проверьте настройки сети.",
    "Запрос пользователя превышает допустимую длину сообщения.",
    "Если ошибка повторяется, обратитесь к администратору и приложите журнал.",
    "Функция возвращает список всех заказов, которые подходят под условие.",
)
_FRENCH = (
    "La connexion à la base de données a été fermée, vérifiez les paramètres du réseau.",
    "Größere Änderungen müssen zuerst vom zuständigen Ausschuss geprüft werden.",
    "Żądanie użytkownika przekracza dopuszczalną długość wiadomości.",
    "La función devuelve una lista con todos los pedidos según la condición.",
)
_GREEK = ("Η σύνδεση με τη βάση δεδομένων έκλεισε, ελέγξτε τις ρυθμίσεις του δικτύου.",)
_ARABIC = (
    "تم إغلاق الاتصال بقاعدة البيانات، يرجى التحقق من إعدادات الشبكة.",
    "החיבור למסד הנתונים נסגר, בדקו את הגדרות הרשת.",
)
_HINDI = ("डेटाबेस से कनेक्शन बंद हो गया है, कृपया नेटवर्क सेटिंग जाँचें।",)
_THAI = ("การเชื่อมต่อกับฐานข้อมูลถูกปิดแล้ว โปรดตรวจสอบการตั้งค่าเครือข่าย",)
_EMOJI = (
    "🚀 deployed",
    "✅ passed",
    "❌ failed",
    "⚠️ slow",
    "🎉 done",
    "→ next",
    "• item",
    "🔥 hot path",
    "🚀🎉🔥😀👍",
    "😀 🙈",
)


def _number(chance: random.Random) -> int:
    return chance.randint(0, 10 ** chance.randint(1, 6))


def _record(chance: random.Random) -> dict[str, object]:
    name = chance.choice(_NAMES)
    return {
        "id": str(uuid.UUID(int=chance.getrandbits(128))),
        "name": f"{name}-{_number(chance)}",
        "created_at": _stamp(chance),
        "amount": round(chance.random() * 1000, 2),
        "tags": chance.sample(_NAMES, 2),
        "active": chance.random() < 0.5,
    }


def _stamp(chance: random.Random) -> str:
    rest = f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"
    return f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}T{rest}Z"


def _file(chance: random.Random, pattern: str, size: int) -> str:
    """Part of a file of this repository: real code and prose."""
    files = sorted(_ROOT.glob(pattern))
    text = "\n".join(file.read_text(encoding="utf-8") for file in chance.sample(files, 3))
    start = chance.randrange(max(1, len(text) - size))
    return text[start : start + size]


def _lines(line: Callable[[random.Random], str]) -> Callable[[random.Random, int], str]:
    """Lines until the size is reached."""

    def text(chance: random.Random, size: int) -> str:
        found: list[str] = []
        length = 0
        while length < size:
            found.append(line(chance))
            length += len(found[-1]) + 1
        return "\n".join(found)

    return text


def _traceback(chance: random.Random) -> str:
    module, name = chance.choice(_NAMES), chance.choice(_NAMES)
    return (
        f'  File "/usr/lib/python3.11/site-packages/{module}/{name}.py", line {_number(chance)}, in {name}_{module}\n'
        f"    return self._{name}.{module}({name}=value, timeout={_number(chance)})"
    )


def _log(chance: random.Random) -> str:
    head = f"{_stamp(chance)} {chance.choice(_LEVELS)} [{chance.choice(_NAMES)}-{chance.randint(1, 9)}]"
    return f"{head} {chance.choice(_NAMES)} served in {_number(chance)} ms from 10.0.{_number(chance) % 255}.7"


def _structured_log(chance: random.Random) -> str:
    words = f'lvl={chance.choice(_LEVELS)} dur={chance.random():.6f} req={chance.getrandbits(64):016x} path="/v1'
    return f'ts={_stamp(chance)} {words}/{chance.choice(_NAMES)}/{_number(chance)}" status={chance.choice((200, 404))}'


def _listing(chance: random.Random) -> str:
    name = f"{chance.choice(_NAMES)}_{_number(chance)}.{chance.choice(('py', 'txt', 'go', 'json'))}"
    return (
        f"-rw-r--r-- 1 root root {_number(chance):>8} Nov {chance.randint(1, 28):2} 12:{_number(chance) % 60:02} {name}"
    )


def _hexdump(chance: random.Random) -> str:
    row = chance.randbytes(16)
    pairs = " ".join(f"{byte:02x}" for byte in row)
    shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
    return f"{_number(chance):08x}  {pairs}  |{shown}|"


def _path(chance: random.Random) -> str:
    folders = "/".join(chance.choices(("src", "app", "lib", "cmd", "cli", "pkg", "internal", *_NAMES), k=5))
    return f"./{folders}/{chance.choice(_NAMES)}_test.{chance.choice(('py', 'go', 'ts'))}"


def _csv(chance: random.Random) -> str:
    return ",".join(str(value) for value in list(_record(chance).values())[1:4]) + f",{_number(chance)}"


def _minified(chance: random.Random) -> str:
    a, b = (chance.choice("abcdefghijklmnopqrstuvwxyz") for _ in "ab")
    name = chance.choice(_NAMES)
    return f"function {a}({b},t){{return {b}.{name}?t({b}.{name},{_number(chance)}):void 0}}var {b}=new Map;"


def _records(chance: random.Random, size: int, indent: int | None) -> str:
    separators = None if indent else (",", ":")
    records = [_record(chance) for _ in range(max(1, size // 150))]
    return json.dumps(records, indent=indent, separators=separators)


SPELLED: dict[str, Callable[[random.Random, int], str]] = {
    "Python code": lambda chance, size: _file(chance, "src/**/[a-z]*.py", size),
    "English": lambda chance, size: _file(chance, "**/*.md", size),
    "traceback": _lines(_traceback),
    "JSON indented": lambda chance, size: _records(chance, size, 2),
    "JSON compact": lambda chance, size: _records(chance, size, None),
    "application log": _lines(_log),
    "structured log": _lines(_structured_log),
    "ls -l": _lines(_listing),
    "hexdump": _lines(_hexdump),
    "base64": lambda chance, size: base64.b64encode(chance.randbytes(size * 3 // 4)).decode(),
    "base64 in lines": lambda chance, size: base64.encodebytes(chance.randbytes(size * 3 // 4)).decode(),
    "digests": _lines(lambda chance: f"{chance.getrandbits(256):064x}  {chance.choice(_NAMES)}.tar.gz"),
    "uuids": _lines(lambda chance: str(uuid.UUID(int=chance.getrandbits(128)))),
    "digits": _lines(lambda chance: " ".join(str(_number(chance)) for _ in range(12))),
    "paths": _lines(_path),
    "CSV": _lines(_csv),
    "minified code": _lines(_minified),
    "Chinese": _lines(lambda chance: chance.choice(_CHINESE)),
    "Japanese": _lines(lambda chance: chance.choice(_JAPANESE)),
    "Korean": _lines(lambda chance: chance.choice(_KOREAN)),
    "Cyrillic": _lines(lambda chance: chance.choice(_RUSSIAN)),
    "accented Latin": _lines(lambda chance: chance.choice(_FRENCH)),
    "Greek": _lines(lambda chance: chance.choice(_GREEK)),
    "Arabic, Hebrew": _lines(lambda chance: chance.choice(_ARABIC)),
    "Hindi": _lines(lambda chance: chance.choice(_HINDI)),
    "Thai": _lines(lambda chance: chance.choice(_THAI)),
    "box drawing": _lines(lambda chance: f"├── {chance.choice(_NAMES)}_{_number(chance)}.py"),
    "Chinese in logs": _lines(lambda chance: f"{_stamp(chance)} INFO {chance.choice(_CHINESE)}"),
    "emoji": _lines(lambda chance: " ".join(chance.choices(_EMOJI, k=5))),
}
"""By kind, a function that makes a text of about this many characters."""
