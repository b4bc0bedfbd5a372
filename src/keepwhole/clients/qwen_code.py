"""Qwen Code, by Alibaba: npm `@qwen-code/qwen-code`."""

from keepwhole.clients.facts import ClientFacts, ClientFolder, Mark

QWEN_CODE = ClientFacts(
    name="qwen-code",
    title="Qwen Code",
    command="qwen",
    versions=("0.24.4",),
    user_agents=("QwenCode/",),
    cut_marks=(Mark("truncated", r"tool output was too large and has been truncated"),),
    cleared_marks=(r"\[old tool result content cleared\]",),
    cut_forms=(r"\ATool output was too large and has been truncated",),
    settings=ClientFolder("~/.qwen"),
)
