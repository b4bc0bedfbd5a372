"""The server that the gateway is measured in front of: two tools, a short answer and a long one."""

from mcp.server import MCPServer

server = MCPServer("measured")


@server.tool(structured_output=False)
def short() -> str:
    return "0123456789" * 100


@server.tool(structured_output=False)
def long() -> str:
    return "".join(f"{n:06} a line of a long result\n" for n in range(5_000))


if __name__ == "__main__":
    server.run("stdio")
