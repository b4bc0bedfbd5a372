"""Tool outputs saved as readable files, indexed by query and task, selected for an answer: `ContextManager`."""

from holdfast.contexts.context import (
    ContextManagerOptions,
    ContextPointer,
    StoredContext,
    get_tool_description,
    hash_args,
    hash_query,
)
from holdfast.contexts.file_system import FileSystem, MemoryFileSystem, RealFileSystem
from holdfast.contexts.persistence import ContextManager

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
