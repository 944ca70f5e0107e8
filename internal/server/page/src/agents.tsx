// The sessions of coding agents in a run, and the tool calls whose outcome was not recorded.
import { count } from "./format"
import type { AgentSession, InDoubt, Run } from "./types"
import { Ago, Status, Time } from "./ui"

/** doing says what a session does, or how it ended. */
function doing(x: AgentSession): { of: string; text: string } {
	if (x.gone && x.doing === "idle") return { of: "done", text: "ended after its last turn" }
	if (x.gone && x.doing !== "ended") return { of: "warn", text: "ended unexpectedly" }
	if (x.doing === "ended") return { of: "done", text: "ended" }
	if (x.doing === "permission") return { of: "waiting", text: "asks for permission" }
	if (x.doing === "working") return { of: "running", text: "working" }
	if (x.doing === "failed") return { of: "failed", text: "its model is unavailable" }
	return { of: "rest", text: x.doing }
}

const verdicts: Record<string, { of: string; text: string }> = {
	done: { of: "done", text: "took effect" },
	"not done": { of: "rest", text: "did not take effect" },
	partly: { of: "bad", text: "took effect in part" },
	unknown: { of: "unknown", text: "unknown: check before you repeat it" },
	refused: { of: "halt", text: "was not permitted" },
}

export function Agents({ run }: { run: Run }) {
	const sessions = [...(run.sessions ?? [])].reverse()
	const doubts = run.in_doubt ?? []
	return (
		<section aria-label="Agent sessions">
			<h2>Agent sessions</h2>
			{sessions.length === 0 && <p class="empty">No coding agent has worked in this run.</p>}
			<ul class="gates">
				{sessions.map((x) => (
					<Session key={x.session} x={x} doubts={doubts.filter((d) => d.session === x.session)} />
				))}
			</ul>
		</section>
	)
}

function Session({ x, doubts }: { x: AgentSession; doubts: InDoubt[] }) {
	const state = doing(x)
	return (
		<li class="card">
			<h3>
				{x.agent} <code>{x.session.slice(x.agent.length + 1)}</code>
			</h3>
			<p class="over quiet">
				<Status of={state.of} text={state.text} />
				<span>{count(x.operations_done, "finished tool call")}</span>
				<span>
					last activity <Ago at={x.seen_at} />
				</span>
				{x.pid ? <span>pid {x.pid}</span> : null}
				{x.worktree && (
					<span>
						worktree {x.worktree} {x.branch && `on ${x.branch}`}
					</span>
				)}
			</p>
			{x.why && <p>{x.why}</p>}
			<dl class="facts">
				{x.asked && (
					<>
						<dt>Asked</dt>
						<dd class="quoted">{x.asked}</dd>
					</>
				)}
				{x.said && (
					<>
						<dt>Said</dt>
						<dd class="quoted">{x.said}</dd>
					</>
				)}
				{(x.calls ?? []).map((c) => (
					<>
						<dt>Runs</dt>
						<dd>
							<strong>{c.tool}</strong> <code>{c.summary}</code> since <Time at={c.since} />
						</dd>
					</>
				))}
			</dl>
			{doubts.length > 0 && (
				<>
					<h4>In doubt</h4>
					<p class="quiet">The outcome of these tool calls was not recorded. pawl has looked for their traces.</p>
					<ul class="findings">
						{doubts.map((d) => {
							const verdict = verdicts[d.verdict] ?? { of: "unknown", text: d.verdict }
							return (
								<li key={d.seq}>
									<Status of={verdict.of} text={verdict.text} /> <strong>{d.tool}</strong> <code>{d.summary}</code>
									{(d.evidence ?? []).map((e) => (
										<span class="why" key={e}>
											{e}
										</span>
									))}
								</li>
							)
						})}
					</ul>
				</>
			)}
		</li>
	)
}
