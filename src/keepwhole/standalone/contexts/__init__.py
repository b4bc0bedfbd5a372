"""Tool outputs saved as readable files, indexed by query and task, selected for an answer: `ContextManager`."""

from keepwhole.standalone.contexts.context import (
    ContextManagerOptions,
    ContextPointer,
    StoredContext,
    get_tool_description,
    hash_args,
    hash_query,
)
from keepwhole.standalone.contexts.file_system import FileSystem, MemoryFileSystem, RealFileSystem
from keepwhole.standalone.contexts.persistence import ContextManager

__all__ = [
    "ContextManager",
    "ContextManagerOptions",
    "ContextPointer",
    "FileSystem",
    "MemoryFileSystem",
    "RealFileSystem",
    "StoredContext",
    "get_tool_description",
    "hash_args",
    "hash_query",
]
