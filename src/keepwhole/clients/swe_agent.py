"""SWE-agent: PyPI `sweagent`."""

from keepwhole.clients.facts import ClientFacts, ClientFiles, ClientFolder, Mark

SWE_AGENT = ClientFacts(
    name="swe-agent",
    title="SWE-agent",
    cut_marks=(Mark("clipped>", r"<response clipped>"),),
    cleared_marks=(r"old environment output: \(\d[\d,]{0,20} lines omitted\)",),
    logs=(ClientFiles(ClientFolder("trajectories", "SWE_AGENT_TRAJECTORY_DIR"), ("*/*.traj", "*/*.traj.gz")),),
)
