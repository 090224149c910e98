"""FastMCP with one tool that returns its argument.

Serves standard input and output; with a port, http://127.0.0.1:PORT/mcp.
"""

import sys

from fastmcp import FastMCP

server = FastMCP("echo")


@server.tool
def echo(text: str) -> str:
    """Returns its argument"""
    return text


if len(sys.argv) > 1:
    server.run(
        transport="http",
        host="127.0.0.1",
        port=int(sys.argv[1]),
        stateless_http=True,
        json_response=True,
        show_banner=False,
        log_level="ERROR",
        uvicorn_config={"access_log": False},
    )
else:
    server.run(show_banner=False, log_level="ERROR")
