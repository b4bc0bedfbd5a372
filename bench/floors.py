"""The floor of each figure: what the project promises. The benchmarks only compare figures with floors."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Floor:
    """A limit, whether it is a minimum or a maximum, and the format of its values."""

    limit: float
    unit: str
    at_least: bool = False
    digits: int = 2

    def holds(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}{self.unit}"


INGEST_CPU = Floor(1.5, "×")
INGEST_MEMORY = Floor(24, " MB", digits=1)
RANGE_P50 = Floor(0.3, " ms", digits=3)
KEEP_RATE = Floor(0.7, "×", at_least=True)
WRITERS_ERRORS = Floor(0, "", digits=0)
WRITERS_WORST = Floor(2, " s")
WRITERS_SEQ = Floor(0, "", digits=0)
START_CPU = Floor(60, " ms", digits=0)
HOOK_CPU = Floor(50, " ms", digits=0)
IMPORT_CPU = Floor(100, " ms", digits=0)
INSTALL_SIZE = Floor(15, " MB", digits=1)
TRUNCATE_ANY = Floor(10, " ms", digits=3)
TRUNCATE_TEXT = Floor(0.5, " ms", digits=3)
TRUNCATE_SPLITLINES = Floor(0.5, "×")
TRUNCATE_STORED = Floor(100, " µs", digits=0)
TRUNCATE_FLAT = Floor(1.5, "×")
TRUNCATE_JSON = Floor(0.15, "×", digits=3)
TRUNCATE_LOG = Floor(4, "×")
TRUNCATE_MEMORY = Floor(2, "× input")
WIRE_READ = Floor(1.3, "×")
WIRE_SPLICE = Floor(1, "×")
WIRE_DECODE = Floor(2, " µs")
PROJECT_STEP = Floor(0.2, " ms", digits=3)
PROJECT_QUICKER = Floor(300, "×", at_least=True, digits=0)
PLAN_STEP = Floor(1, " ms", digits=2)
PROJECT_COLD = Floor(2, "×")
PROJECT_FLAT = Floor(1.5, "×")
SELECT_RESULTS = Floor(10, " ms")
SELECT_POINTERS = Floor(50, " ms")
SEARCH_FIRST = Floor(1, " s")
SELECT_WORST = Floor(10, "×", digits=1)
RECALL_SEARCH_SPEED = Floor(2, "×")
RECALL_SEARCH = Floor(4, "×")
RECALL_MEMORY = Floor(8, " MB", digits=1)
RECALL_SLICE = Floor(1.5, "×")
ADAPTER = Floor(0.5, " ms", digits=3)
GATEWAY = Floor(5, " ms")
PROXY_FIRST_BYTE = Floor(1.5, "×")
PROXY_HIDING = Floor(5, " ms")
PROXY_STREAM = Floor(2, "×")
PROXY_LARGE = Floor(1, " s")
PROXY_PARALLEL = Floor(3, "×")
PROXY_NEW = Floor(2, "×")
PROXY_LONG = Floor(1.2, "×")
PROXY_SERVER = Floor(1.5, "×")
INSPECTOR_PAGE = Floor(2, "×")
INSPECTOR_FIRST = Floor(100, " KB", digits=0)
INSPECTOR_OPENS = Floor(1, " s")
POSTGRES_APPEND = Floor(0.6, "×", at_least=True)
POSTGRES_SCALE = Floor(2, "×")
