"""The Vercel AI SDK's provider for Bedrock with an API key: Converse over the proxy, in frames that it checks."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from tests.apps.proxy.proxy_server import proxy
from tests.upstream.bedrock import BEARER
from tests.upstream.prompt_cache import CachePoints, Clock
from tests.upstream.server import upstream
from tests.upstream.spelling import Json, Part, Text, Thinking, Tool

pytestmark = pytest.mark.clients
LOG = "".join(f"line {number} of a long output\n" for number in range(3_000))
_PROGRAM = """
import { generateText, streamText, jsonSchema, stepCountIs, tool } from "ai";
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
const { ADDRESS, KEY, IS_STREAMED } = process.env;
const bedrock = createAmazonBedrock({ region: "us-east-1", apiKey: KEY, baseURL: ADDRESS });
const inputSchema = jsonSchema({ type: "object", properties: { n: { type: "integer" } } });
const log = Array.from({ length: 3000 }, (_, n) => `line ${n} of a long output\\n`).join("");
const work = tool({ description: "does some work", inputSchema, execute: async () => log });
const model = bedrock("us.anthropic.claude-opus-4-5-20251101-v1:0");
const settings = { model, prompt: "go", tools: { work }, stopWhen: stepCountIs(9), maxRetries: 0 };
if (IS_STREAMED) {
  const result = streamText({ ...settings, onError: ({ error }) => { throw error; } });
  for await (const text of result.textStream) process.stdout.write(text);
} else {
  process.stdout.write((await generateText(settings)).text);
}
"""


def play(body: Json) -> list[Part]:
    """Calls the client's tool, reads back what was left out, and says what it found."""
    told = json.dumps(body["messages"])
    if "art_" not in told:
        return [Thinking("hm"), Tool("work", {"n": 7})]
    if "get_artifact" not in json.dumps([one for one in body["messages"] if one["role"] == "assistant"]):
        name = told.partition("[Artifact: ")[2].partition("]")[0]
        return [Text("I read it. "), Tool("get_artifact", {"id": name, "lines": "1500"})]
    return [Text("Line 1499." if "line 1499 of" in told else "Nothing was read back.")]


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_the_ai_sdk_speaks_converse_over_the_proxy(tmp_path: Path, is_streamed: bool) -> None:
    folders = [Path(folder).parent for folder in os.environ["PATH"].split(os.pathsep) if folder.endswith("/.bin")]
    packages = next((folder for folder in folders if (folder / "@ai-sdk/amazon-bedrock").is_dir()), None)
    if packages is None:
        pytest.skip("the AI SDK's provider for Bedrock is not installed; `make clients` installs it")
    (tmp_path / "node_modules").symlink_to(packages)
    (tmp_path / "program.mjs").write_text(_PROGRAM)
    store = MemoryStore()
    with upstream(play, CachePoints(Clock())) as served, proxy({"bedrock": served.url}, store=store) as running:
        environ = {**os.environ, "ADDRESS": f"{running.url}/bedrock", "KEY": BEARER}
        environ |= {"IS_STREAMED": "1"} if is_streamed else {}
        done = subprocess.run(["node", "program.mjs"], cwd=tmp_path, env=environ, capture_output=True, text=True)
        running.rest()
    assert done.stderr == ""
    assert done.stdout.endswith("Line 1499.")
    assert served.refused == []
    assert len(served.asked) == 3, "two of the client, one hidden"
    assert {asked.path.rpartition("/")[2] for asked in served.asked} == {
        "converse-stream" if is_streamed else "converse"
    }
    assert len(served.asked[1].data) < len(LOG) / 2
    [name] = [info.name for info in store.sessions()]
    session = Session(name, store=store)
    assert [session.recall_bytes(one.artifact_id) for one in session.artifacts()] == [LOG.encode()]
