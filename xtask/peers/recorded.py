"""The official `mcp` package with one tool that returns its argument, with or without recording.

recorded.py none|mcpeye|mcpcat URL     serves standard input and output, reports calls to URL
"""

import asyncio
import sys

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

server = Server("echo", version="1.0.0")
schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@server.list_tools()
async def list_tools():
    return [types.Tool(name="echo", description="Returns its argument", inputSchema=schema)]


@server.call_tool(validate_input=False)
async def call_tool(name, arguments):
    return [types.TextContent(type="text", text=arguments["text"])]


async def main():
    sdk, url = sys.argv[1:]
    if sdk == "mcpeye":
        import mcpeye

        mcpeye.track(server, "bench", ingest_url=url)
    elif sdk == "mcpcat":
        import mcpcat

        options = mcpcat.MCPCatOptions(api_base_url=url, disable_diagnostics=True)
        mcpcat.track(server, "proj_bench", options)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


asyncio.run(main())
