"""The session: joins store, truncation and recall; the object that users hold."""

from keepwhole.session.session import Session, session

__all__ = ["Session", "session"]
