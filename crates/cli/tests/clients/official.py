"""Drives `deputize mcp` with the official Python SDK, as a host that is written with it would.

usage: official.py PROGRAM SCRIPT_MODEL   (in the workspace; the environment is the server's)

Prints one JSON object of what came of it; a test compares.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

LOOK = {"preset": "read-only", "prompt": "Where is the weight limit?"}


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Host:
    """What the SDK calls: questions, turns and logs."""

    def __init__(self):
        self.answers = []
        self.questions = []
        self.turns = []
        self.logged = []

    async def elicit(self, context, params):
        self.questions.append(plain(params)["message"])
        answer = self.answers.pop(0)
        if answer == "decline":
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"answer": answer})

    async def sample(self, context, params):
        params = plain(params)
        self.turns.append(params)
        if len(self.turns) == 1:
            call = {"type": "tool_use", "id": "1", "name": "ls", "input": {"path": "."}}
            content, reason = [call], "toolUse"
        else:
            content, reason = [{"type": "text", "text": "It is in src/limits.rs."}], "endTurn"
        return types.CreateMessageResultWithTools.model_validate(
            {"role": "assistant", "model": "own", "content": content, "stopReason": reason}
        )

    async def log(self, params):
        self.logged.append(params.data["event"])


async def drive(program, model):
    host, progress = Host(), []
    server = StdioServerParameters(
        command=program, args=["mcp"], env=dict(os.environ), cwd=os.getcwd()
    )
    capabilities = types.SamplingCapability(tools=types.SamplingToolsCapability())
    async with stdio_client(server) as (read, write):
        async with ClientSession(
            read,
            write,
            elicitation_callback=host.elicit,
            sampling_callback=host.sample,
            sampling_capabilities=capabilities,
            logging_callback=host.log,
            client_info=types.Implementation(name="official", version="1"),
        ) as session:
            hello = plain(await session.initialize())
            tools = [tool.name for tool in (await session.list_tools()).tools]

            async def call(name, arguments, heard=None):
                return plain(await session.call_tool(name, arguments, progress_callback=heard))

            async def hear(done, total, message):
                progress.append(message)

            scout = await call("subagent", {**LOOK, "model": "scout"}, hear)
            own = await call("subagent", {**LOOK, "prompt": "Look.", "model": "host"})
            host.answers = ["yes", "decline", "yes"]
            wrote = await call("subagent", {"prompt": "Write.", "model": model})
            run = wrote["structuredContent"]["run"]
            diff = await call("subagent_diff", {"run": run})
            apply = {"run": run, "manifest": diff["structuredContent"]["manifest"]}
            declined = await call("subagent_apply", apply)
            applied = await call("subagent_apply", apply)
            bad = await call("subagent", {"prompt": "x", "allow": ["shell"]})
    return {
        "protocol": hello["protocolVersion"],
        "tools": tools,
        "scout": scout["structuredContent"],
        "progress": len(progress),
        "own": own["structuredContent"],
        "turns": host.turns,
        "wrote": wrote["structuredContent"],
        "questions": host.questions,
        "declined": declined,
        "applied": applied,
        "bad": bad,
        "logged": sorted(set(host.logged)),
    }


print(json.dumps(asyncio.run(drive(*sys.argv[1:]))))
