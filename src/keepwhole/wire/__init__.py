"""How providers spell calls, results and tools. JSON values in, JSON values out; no sockets."""
