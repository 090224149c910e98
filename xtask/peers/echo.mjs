// The TypeScript SDK with one tool that returns its argument.
//
// Serves standard input and output; with a port, http://127.0.0.1:PORT/mcp, without sessions.
// With MCPCAT_API_URL, MCPcat's SDK reports the calls over standard input to it.

import { createRequire } from "node:module";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

// The SDK is where the process was started, not beside this file.
const here = createRequire(pathToFileURL(`${process.cwd()}/`));
const load = (name) => import(pathToFileURL(here.resolve(name)));

const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = await load("@modelcontextprotocol/sdk/server/stdio.js");
const { StreamableHTTPServerTransport } = await load(
  "@modelcontextprotocol/sdk/server/streamableHttp.js",
);
const { z } = await load("zod");

function echo() {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  const config = { description: "Returns its argument", inputSchema: { text: z.string() } };
  server.registerTool("echo", config, ({ text }) => ({ content: [{ type: "text", text }] }));
  return server;
}

const port = process.argv[2];
if (port === undefined) {
  const server = echo();
  if (process.env.MCPCAT_API_URL) {
    const { track } = await load("mcpcat");
    track(server, "proj_bench", { disableDiagnostics: true });
  }
  await server.connect(new StdioServerTransport());
} else {
  createServer(async (request, response) => {
    const options = { sessionIdGenerator: undefined, enableJsonResponse: true };
    const transport = new StreamableHTTPServerTransport(options);
    const server = echo();
    response.on("close", () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  }).listen(Number(port), "127.0.0.1");
}
