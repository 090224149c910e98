"""A team's agents and its monitoring, while one of two replicas is stopped.

replicas_client.py BALANCER ONE TWO TOKEN PID_OF_ONE

Uses the official `mcp` package through the balancer, from several clients at once, and stops the
first replica between their calls. Exits with 1 if a request got no answer.
"""

import asyncio
import os
import signal
import sys

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain_text

BALANCER, ONE, TWO, TOKEN, PID = sys.argv[1:6]
CLIENTS = 6
CALLS = 25
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def web(**more):
    return httpx.AsyncClient(headers=HEADERS, timeout=30, **more)


class Client:
    """One agent, with a session of its own."""

    def __init__(self, address):
        self.address = address

    async def __aenter__(self):
        self.http = web()
        self.transport = streamable_http_client(f"{self.address}/mcp", http_client=self.http)
        read, write, _ = await self.transport.__aenter__()
        self.session = ClientSession(read, write)
        await self.session.__aenter__()
        await self.session.initialize()
        return self

    async def __aexit__(self, *error):
        await self.session.__aexit__(*error)
        await self.transport.__aexit__(*error)
        await self.http.aclose()

    async def call(self, tool, **arguments):
        answer = await self.session.call_tool(tool, arguments)
        assert not answer.isError, answer
        return answer.structuredContent


async def until_ready(http, address):
    while True:
        try:
            answer = await http.get(f"{address}/readyz")
            if answer.status_code == 200:
                return answer.json()
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)


async def metrics(http, address):
    """The metrics of a replica, read by both of Prometheus's own parsers."""
    newer = await http.get(f"{address}/metrics", headers={"Accept": "application/openmetrics-text"})
    newer.raise_for_status()
    samples = [s for family in open_metrics(newer.text) for s in family.samples]
    older = await http.get(f"{address}/metrics", headers={"Accept": "text/plain"})
    assert list(plain_text(older.text)), older.text
    return samples


def total(samples, name, **labels):
    fits = lambda s: s.name == name and labels.items() <= s.labels.items()
    return sum(sample.value for sample in samples if fits(sample))


async def health(http):
    for address in (ONE, TWO, BALANCER):
        assert await until_ready(http, address) == {"ready": True, "waiting_for": []}
        assert (await http.get(f"{address}/healthz")).text == "ok\n"
    hidden = await http.get(f"{BALANCER}/metrics")
    assert hidden.status_code == 404, hidden


async def sharing(http):
    """What is written through one replica is read through the other."""
    added = await http.post(f"{ONE}/api/v1/agents", json={"name": "Lambda", "id": 11})
    assert added.status_code == 201, added.text
    async with Client(ONE) as one, Client(TWO) as two:
        for round, (writes, reads) in enumerate([(one, two), (two, one)]):
            skill = {"skill_name": f"skill-{round}", "version": "1.0.0"}
            await writes.call("register_agent_capabilities", agent_id=11, capabilities=[skill])
            seen = await reads.call("get_agent_capabilities", agent_id=11)
            assert skill["skill_name"] in str(seen), seen


class Load:
    def __init__(self):
        self.answered = [0] * (2 * CLIENTS)
        self.stopped = asyncio.Event()
        self.after = [0] * (2 * CLIENTS)

    def count(self, number):
        self.answered[number] += 1
        if self.stopped.is_set():
            self.after[number] += 1

    def continues(self, number):
        return self.after[number] < CALLS

    async def session(self, number):
        """An agent with a long session that reads and writes."""
        async with Client(BALANCER) as client:
            while self.continues(number):
                await client.call("search_knowledge", query="sessions", search_type="keyword")
                self.count(number)
                skill = {"skill_name": f"load-{number}-{self.answered[number]}", "version": "1.0.0"}
                await client.call("register_agent_capabilities", agent_id=11, capabilities=[skill])
                self.count(number)

    async def one_shot_clients(self, number):
        """Agents that call once, each with a connection of its own."""
        question = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        question["params"] = {"name": "list_knowledge_bases", "arguments": {}}
        accept = {"Accept": "application/json, text/event-stream"}
        while self.continues(number):
            async with web() as http:
                answer = await http.post(f"{BALANCER}/mcp", json=question, headers=accept)
                assert answer.status_code == 200 and "result" in answer.json(), answer.text
            self.count(number)

    async def stop_one(self):
        while min(self.answered) < CALLS:
            await asyncio.sleep(0.01)
        os.kill(int(PID), signal.SIGTERM)
        async with web() as http:
            draining = await http.get(f"{ONE}/readyz")
            while draining.json()["ready"]:
                draining = await http.get(f"{ONE}/readyz")
            assert draining.json() == {"ready": False, "waiting_for": ["stopping"]}, draining.text
            while True:
                try:
                    await http.get(f"{ONE}/healthz")
                except httpx.TransportError:
                    break
                await asyncio.sleep(0.05)
        self.stopped.set()


async def main():
    async with web() as http:
        await health(http)
        await sharing(http)
        load = Load()
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(load.session(number))
                group.create_task(load.one_shot_clients(CLIENTS + number))
            group.create_task(load.stop_one())
        assert await until_ready(http, BALANCER)
        samples = await metrics(http, TWO)
        assert total(samples, "kenning_tool_calls_total", tool="search_knowledge") >= CLIENTS
        assert total(samples, "kenning_tool_errors_total") == 0
        posts = {"method": "POST", "route": "/mcp", "status": "200"}
        assert total(samples, "kenning_http_requests_total", **posts) >= CLIENTS * CALLS
        assert total(samples, "kenning_ready") == total(samples, "kenning_store_up") == 1
        print(f"{sum(load.answered)} calls of {2 * CLIENTS} clients, all answered;",
              f"{sum(load.after)} of them after a replica was stopped")


asyncio.run(main())
