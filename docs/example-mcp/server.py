"""An MCP server with one tool, to try them with: it listens on this machine only."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("Example")
STOCK = {"green tea": 12, "coffee": 0}


@server.tool()
def in_stock(article: str) -> int:
    """How many of an article there are in the shop."""
    return STOCK.get(article.lower(), 0)


if __name__ == "__main__":
    server.run(transport="streamable-http", host="127.0.0.1", port=8791)
