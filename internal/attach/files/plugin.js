// Written by `pawl attach opencode`; `pawl detach opencode` removes it.
//
// It sends events to `pawl hook opencode` and adds the answers to the model's context. An error here never affects
// OpenCode.
import { spawn } from "node:child_process"

const pawl = {{program}}
const timeout = 10_000 // milliseconds for a call of pawl
const reported = new RegExp({{tools}}) // the tools whose calls pawl records: not those that only read

// tell sends an event to pawl and returns the answer, {} if there is none.
const tell = (event, cwd) =>
  new Promise((resolve) => {
    const child = spawn(pawl, ["hook", "opencode"], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const late = setTimeout(() => child.kill("SIGKILL"), timeout)
    let said = ""
    const end = () => {
      clearTimeout(late)
      try {
        resolve(JSON.parse(said) ?? {})
      } catch {
        resolve({})
      }
    }
    child.on("error", end)
    child.on("close", end)
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (said += data))
    child.stdin.end(JSON.stringify(event))
  }).catch(() => ({}))

// harmless ignores the errors of a hook.
const harmless = (hook) => async (...given) => {
  try {
    await hook(...given)
  } catch {}
}

export const Pawl = async ({ client, directory }) => {
  const loaded = Date.now()
  const contexts = new Map() // by session: a promise of pawl's context for it
  const calls = new Map() // by call: the arguments of unfinished tool calls
  const parents = new Map() // by session: the parent of a subagent

  const outcomes = new Set() // the outcomes of tool calls that pawl has not recorded yet

  const post = (name, session, more) =>
    tell({ hook_event_name: name, session_id: session, cwd: directory, ...more, parent_id: parents.get(session) }, directory)

  const send = async (name, session, more) => {
    await Promise.all(outcomes)
    return post(name, session, more)
  }

  // sendOutcome does not wait for pawl: what comes next does.
  const sendOutcome = (name, session, more) => {
    const sent = post(name, session, more).finally(() => outcomes.delete(sent))
    outcomes.add(sent)
  }

  const begin = (session, source, parent) => {
    if (parent) parents.set(session, parent)
    const context = send("SessionStart", session, { source }).then((answer) => answer.additionalContext)
    contexts.set(session, context)
    return context
  }

  // context returns pawl's context for a session. An unknown session is new, or was started by an earlier process.
  const context = async (session) => {
    if (contexts.has(session)) return contexts.get(session)
    const found = client.session.get({ path: { id: session } }).then((answer) => answer.data, () => undefined)
    const begun = found.then((info) => begin(session, info?.time?.created < loaded ? "resume" : "startup", info?.parentID))
    contexts.set(session, begun)
    return begun
  }

  const events = {
    "session.idle": (e) => send("Stop", e.sessionID),
    "session.error": (e) => e.sessionID && send("StopFailure", e.sessionID, { error: e.error?.data?.message ?? e.error?.name }),
    "session.deleted": (e) => send("SessionEnd", e.info.id, { reason: "deleted" }),
    "todo.updated": (e) => send("TodoUpdated", e.sessionID, { todos: e.todos }),
    "message.part.updated": ({ part }) => {
      if (part.type !== "tool" || part.state?.status !== "error" || !calls.delete(part.callID)) return
      const call = { tool_name: part.tool, tool_input: part.state.input, tool_use_id: part.callID, error: part.state.error }
      sendOutcome("PostToolUseFailure", part.sessionID, call)
    },
  }

  return {
    event: harmless(({ event }) => events[event.type]?.(event.properties)),
    "chat.message": harmless(async ({ sessionID }, { parts }) => {
      await context(sessionID)
      const prompt = parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n")
      await send("UserPromptSubmit", sessionID, { prompt })
    }),
    "tool.execute.before": harmless(async ({ tool, sessionID, callID }, { args }) => {
      if (!reported.test(tool)) return
      calls.set(callID, args)
      await send("PreToolUse", sessionID, { tool_name: tool, tool_input: args, tool_use_id: callID })
    }),
    "tool.execute.after": harmless(async ({ tool, sessionID, callID, args }, result) => {
      const input = args ?? calls.get(callID)
      if (!calls.delete(callID)) return
      const response = { title: result?.title, output: result?.output, metadata: result?.metadata }
      sendOutcome("PostToolUse", sessionID, { tool_name: tool, tool_input: input, tool_use_id: callID, tool_response: response })
    }),
    "experimental.chat.system.transform": harmless(async ({ sessionID }, { system }) => {
      if (!sessionID || /^You are a title generator/.test(system[0])) return
      const text = await context(sessionID)
      if (text) system.push(text)
    }),
    "experimental.session.compacting": harmless(async ({ sessionID }, output) => {
      await send("PreCompact", sessionID)
      const text = await begin(sessionID, "compact")
      if (text) output.context.push(text)
    }),
    dispose: harmless(() => Promise.all([...contexts.keys()].map((session) => send("SessionEnd", session, { reason: "exit" })))),
  }
}
