"""mcpeye's own Python SDK, used as a real server would use it.

mcpeye_client.py BASE_URL [SECRET [CALLS]]

Wraps a small server of the official `mcp` package with `mcpeye.track`, makes CALLS calls (8 by default)
of every kind that is reported, and sends them to BASE_URL/ingest. Prints one JSON object: what was
called, and the errors of the SDK. Exits with 1 if there were any.
"""

import asyncio
import json
import sys

import mcpeye
from mcp import types
from mcp.server.lowlevel import Server

PROJECT = "mcpeye-python"
PURPOSE = "Why the user wants this, in their own words, for product analytics"


def tool(name, properties):
    schema = {"type": "object", "properties": properties}
    return types.Tool(name=name, description="A tool of the test", inputSchema=schema)


def server():
    server = Server("shop", version="7.1")

    @server.list_tools()
    async def list_tools():
        text = {"type": "string"}
        return [
            tool("find", {"text": text}),
            tool("pay", {"amount": {"type": "number"}, "password": text}),
            tool("guess", {"intent": {"type": "string", "description": PURPOSE}}),
            tool("break", {}),
        ]

    @server.call_tool(validate_input=False)
    async def call_tool(name, arguments):
        if name == "break":
            raise RuntimeError("the till of clerk@example.com is broken")
        return [types.TextContent(type="text", text=json.dumps(arguments))]

    return server


# Every kind of call: with an intent, with secrets and fractions, with the server's own intent
# field, failing, the reserved tool, of no such tool, too big, and with nothing at all.
CALLS = [
    ("find", {"text": "größe 🙂", "mcpeyeIntent": "looks for a size chart, but there is none"}),
    ("pay", {"amount": 12.5, "password": "hush", "mcpeyeIntent": "  "}),
    ("guess", {"intent": "to compare prices across shops"}),
    ("break", {"mcpeyeIntent": "wanted to open the till"}),
    ("mcpeye_request_capability", {"capability": "export as PDF", "context": "for the tax office"}),
    ("no-such-tool", {}),
    ("find", {"text": "x" * 40_000}),
    ("find", {}),
]


async def ask(server, kind, params):
    request = {"method": kind.model_fields["method"].default, "params": params}
    return await server.request_handlers[kind](kind.model_validate(request))


def calls(count):
    """The last kind fills up."""
    return (CALLS + [CALLS[-1]] * count)[:count]


async def call(server, count):
    await ask(server, types.ListToolsRequest, None)
    for name, arguments in calls(count):
        await ask(server, types.CallToolRequest, {"name": name, "arguments": arguments})


def main():
    url = sys.argv[1]
    secret = sys.argv[2] if len(sys.argv) > 2 else None
    count = int(sys.argv[3]) if len(sys.argv) > 3 else len(CALLS)
    complaints = []
    tracked = server()
    mcpeye.track(
        tracked,
        PROJECT,
        ingest_url=url,
        ingest_secret=secret,
        client="pytest",
        user_id="static",
        identify=lambda: {"userId": "u-1", "userEmail": "u@example.com"},
        # All in one batch.
        flush_at=count + 1,
        flush_interval_s=600,
        on_error=lambda error: complaints.append(repr(error)),
    )
    asyncio.run(call(tracked, count))
    tracked._mcpeye_buffer.close()
    called = [name for name, _ in calls(count)]
    print(json.dumps({"project": PROJECT, "called": called, "complaints": complaints}))
    sys.exit(1 if complaints else 0)


main()
