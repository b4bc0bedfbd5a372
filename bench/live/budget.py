"""Dollars that may be spent: the most that a request can cost is reserved before it is sent."""

import threading


class Budget:
    """What is spent, what is reserved, and the limit that both together never exceed. Safe from threads."""

    def __init__(self, limit: float, spent: float = 0.0) -> None:
        self._limit, self.spent = limit, spent
        self._reserved = 0.0
        self._lock = threading.Lock()

    def reserve(self, dollars: float) -> bool:
        """Reserve so much; return whether there was enough left."""
        with self._lock:
            if self.spent + self._reserved + dollars > self._limit:
                return False
            self._reserved += dollars
            return True

    def settle(self, reserved: float, dollars: float) -> None:
        """Spend `dollars` of what was reserved, and give the rest back."""
        with self._lock:
            self._reserved -= reserved
            self.spent += dollars
