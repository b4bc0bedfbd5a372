// Written by `keepwhole hook install opencode`; `keepwhole hook uninstall opencode` takes it away.
// Every tool result goes to Keepwhole, which keeps it whole; what comes back, if anything, is shown instead.
import { spawn } from "node:child_process"

const COMMAND = "@COMMAND@"

function ask(event, cwd) {
  return new Promise((resolve) => {
    try {
      const child = spawn("/bin/sh", ["-c", COMMAND], { cwd, stdio: ["pipe", "pipe", "ignore"] })
      const parts = []
      child.on("error", () => resolve({}))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (part) => parts.push(part))
      child.on("close", () => {
        try {
          resolve(JSON.parse(Buffer.concat(parts).toString("utf8") || "{}"))
        } catch {
          resolve({})
        }
      })
      child.stdin.end(JSON.stringify({ cwd, ...event }))
    } catch {
      resolve({})
    }
  })
}

// Notices name files of results, and opencode ends a run without a terminal where it would have to ask before reading
// one. So reading in that one folder is allowed; where the user denies it, results are kept and nothing is replaced.
let mayRead = false

function allowReading(config, results) {
  const given = config.permission
  const rules = typeof given === "string" ? { "*": given } : { ...given }
  const outside = rules.external_directory ?? rules["*"] ?? {}
  const before = typeof outside === "string" ? { "*": outside } : outside
  if (Object.values(before).includes("deny")) return false
  config.permission = { ...rules, external_directory: { ...before, [`${results}/**`]: "allow" } }
  return true
}

export const Keepwhole = async ({ directory }) => ({
  config: async (config) => {
    try {
      const answer = await ask({ event: "configuring" }, directory)
      mayRead = typeof answer.results === "string" && allowReading(config, answer.results)
    } catch {
      mayRead = false
    }
  },
  "tool.execute.after": async (input, output) => {
    if (typeof output.output !== "string") return
    const answer = await ask(
      {
        event: "returned",
        session_id: input.sessionID,
        tool: input.tool,
        call_id: input.callID,
        args: input.args,
        output: output.output,
        metadata: output.metadata,
        may_read: mayRead,
        attachments: output.attachments ?? [],
      },
      directory,
    )
    if (typeof answer.output === "string") output.output = answer.output
  },
  "experimental.session.compacting": async (input, output) => {
    const answer = await ask({ event: "compacting", session_id: input.sessionID }, directory)
    if (typeof answer.context === "string" && Array.isArray(output.context)) output.context.push(answer.context)
  },
})
