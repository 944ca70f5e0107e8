// The state of an interrupted run, and what a resume would do: findings, rules, verdicts.
import { useFetch, type Fetched } from "./api"
import { versionOf } from "./events"
import { count } from "./format"
import { stepLink } from "./graph"
import type { Finding, Judged, Project, Recovery as Found, Run } from "./types"
import { Command, Listing, Loading, Status, Wrong } from "./ui"

/** useRecovery reads what a resume of a project's run would do. It reads nothing for a run that cannot be resumed. */
export function useRecovery(project: string, run: Run | undefined): Fetched<Found> {
	const wanted = run && !["active", "completed"].includes(run.status) && run.kind !== "session"
	return useFetch<Found>(wanted ? `projects/${encodeURIComponent(project)}/recovery` : undefined, versionOf("run:" + (run?.run ?? "")))
}

/** verdictText describes what pawl does after a verdict. */
export function verdictText(j: Judged): string {
	const { verdict, rule } = j.verdict
	switch (verdict) {
		case "next":
			return "accept as done"
		case "continue":
			return rule === "live" ? "re-attach" : "continue from the existing work"
		case "restart":
			return "rerun"
		default:
			return rule === "no-tries" && j.case.attempt !== "lost" ? "the step fails: no attempts are left" : "needs your decision"
	}
}

/** summary says in one sentence what a resume will do. */
export function summary(found: Found): string {
	const parts = (found.verdicts ?? []).slice(0, 3).map(willDo)
	const more = (found.verdicts ?? []).length - parts.length
	if (more > 0) parts.push(`and ${count(more, "other attempt")}`)
	const judged = new Set((found.verdicts ?? []).map((j) => j.step))
	const starts = (found.steps ?? []).filter((s) => s.runs && !judged.has(s.step)).map((s) => s.step)
	if (starts.length > 0) parts.push(`run ${starts.slice(0, 3).join(", ")}${starts.length > 3 ? ` and ${count(starts.length - 3, "other step")}` : ""}`)
	const asks = (found.steps ?? []).filter((s) => s.do === "ask" && !judged.has(s.step)).map((s) => s.step)
	if (asks.length > 0) parts.push(`ask you about ${asks.slice(0, 3).join(", ")}`)
	return parts.join("; ") || "nothing is left to run"
}

/** willDo says what a resume does about an interrupted attempt, and by which rule. */
function willDo(j: Judged): string {
	const text = { "accept as done": `accept ${name(j)} as done`, "needs your decision": `ask you about ${name(j)}` }[verdictText(j)] ?? `${verdictText(j)}: ${name(j)}`
	return `${text.replace(/^rerun: /, "rerun ").replace(/^re-attach: /, "re-attach ")} (rule: ${j.verdict.rule})`
}

const name = (j: Judged) => j.step + (j.item ? "/" + j.item : "")

const words: Record<string, string> = { ok: "ok", warn: "warning", bad: "problem" }

export function Recovery({ found, run, project }: { found: Fetched<Found>; run: Run; project: Project }) {
	const { data, error } = found
	return (
		<section aria-label="Recovery" class="recovery">
			<h2>Recovery</h2>
			<dl class="facts">
				<dt>Server</dt>
				<dd>{project.recovery}</dd>
				{project.error && (
					<>
						<dt>Error</dt>
						<dd>{project.error}</dd>
					</>
				)}
				{run.deaths > 0 && (
					<>
						<dt>Crashes</dt>
						<dd>{count(run.deaths, "engine")} of this run crashed</dd>
					</>
				)}
			</dl>
			<Wrong problem={error} retry={found.reload} />
			{!data && !error && (run.status === "active" || run.status === "completed" || run.kind === "session" ? <p class="empty">The run is {run.status}. There is nothing to recover.</p> : <Loading what="the findings" />)}
			{data && <Details found={data} />}
		</section>
	)
}

function Details({ found }: { found: Found }) {
	const findings = [...(found.findings ?? [])].sort((a, b) => weight(b) - weight(a))
	return (
		<>
			<h3>1. Findings</h3>
			{findings.length === 0 && <p class="quiet">No findings.</p>}
			<ul class="findings">
				{findings.map((f, i) => (
					<li key={i}>
						<Status of={f.level} text={words[f.level]} /> {f.where && <code>{f.where}:</code>} {f.what}
						{f.evidence && <span class="why">{f.evidence}</span>}
						{f.hint && (
							<span class="why">
								Try: <Command text={f.hint} />
							</span>
						)}
					</li>
				))}
			</ul>
			<h3>2. Rules and verdicts</h3>
			{(found.verdicts ?? []).length === 0 && <p class="quiet">No attempt was interrupted.</p>}
			{(found.verdicts ?? []).length > 0 && (
				<Listing caption="Verdicts on interrupted attempts" columns={["Attempt", "Facts", "Rule", "Verdict"]}>
					<tbody>
						{found.verdicts!.map((j) => (
							<tr key={name(j) + j.attempt}>
								<th scope="row">
									<a href={stepLink(j.step)}>{name(j)}</a>, attempt {j.attempt}
								</th>
								<td data-label="Facts">{facts(j)}</td>
								<td data-label="Rule">
									<code>{j.verdict.rule}</code>
								</td>
								<td data-label="Verdict">
									<Status of={j.verdict.verdict} text={verdictText(j)} />
									{(j.verdict.reasons ?? []).map((r) => (
										<span class="why" key={r}>
											{r}
										</span>
									))}
								</td>
							</tr>
						))}
					</tbody>
				</Listing>
			)}
			<h3>3. What Resume does</h3>
			{found.edited && (
				<div class="note warn">
					<p>The plan was edited since the run used it.</p>
					{(found.weakened ?? []).map((w) => (
						<p key={w}>It weakens: {w}</p>
					))}
				</div>
			)}
			<Listing caption="What Resume does with each step" columns={["Step", "Action", "Reason"]}>
				<tbody>
					{(found.steps ?? []).map((s) => (
						<tr key={s.step}>
							<th scope="row">
								<a href={stepLink(s.step)}>{s.step}</a>
							</th>
							<td data-label="Action">{actions[s.do] ?? s.do}</td>
							<td data-label="Reason">{s.why}</td>
						</tr>
					))}
				</tbody>
			</Listing>
		</>
	)
}

/** actions are what pawl does with a step, in words. */
export const actions: Record<string, string> = { skip: "skip: up to date", run: "run", attach: "re-attach", recheck: "check again", ask: "ask you", wait: "wait", fail: "fail" }

const weights: Record<string, number> = { ok: 0, warn: 1, bad: 2 }

const weight = (f: Finding) => weights[f.level] ?? 0

/** facts describes the inputs of the verdict table. */
function facts(j: Judged): string {
	const c = j.case
	const parts = [`attempt ${c.attempt}`]
	if (c.result && c.result !== "none") parts.push(`result ${c.result}`)
	if (c.outputs) parts.push(`outputs ${c.outputs}`)
	if (c.checks && c.checks !== "none") parts.push(`checks ${c.checks}`)
	parts.push(c.idempotent ? "idempotent" : "not idempotent")
	if (c.same_place === false) parts.push("other folder or branch")
	if (c.same_definition === false) parts.push("definition changed")
	if (c.tries_left === false) parts.push("no tries left")
	return parts.join(", ")
}
