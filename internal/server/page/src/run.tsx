// A project with its current run, or one of its earlier runs.
import { useState } from "preact/hooks"
import { lacks, ofRun, post, useFetch, type Problem } from "./api"
import { changed, versionOf } from "./events"
import { count, duration, folderName } from "./format"
import { Agents } from "./agents"
import { Card, Chosen, useGates } from "./gates"
import { Checkpoints } from "./checkpoints"
import { Steps, lookOf, noteOf, stepLink, timeOf, wordOf } from "./graph"
import { Notebook } from "./notebook"
import { Output } from "./output"
import { Recovery, actions, summary, useRecovery } from "./recovery"
import { link, route, setQuery } from "./route"
import { Runs, Start } from "./runs"
import { Timeline } from "./timeline"
import type { Acted, Project, Recovery as Found, Right, Run, Step, Why } from "./types"
import { Act, Ago, Command, Dialog, Field, Loading, Progress, Status, Time, Wrong, useTitle } from "./ui"

const views = [
	{ name: "", label: "Steps" },
	{ name: "timeline", label: "Timeline" },
	{ name: "output", label: "Output" },
	{ name: "notebook", label: "Notebook" },
	{ name: "recovery", label: "Recovery" },
	{ name: "checkpoints", label: "Checkpoints" },
	{ name: "agents", label: "Agents" },
	{ name: "history", label: "Runs" },
]

// Views of steps and attempts, which an agent's session does not have.
const ofPlans = new Set(["", "output", "notebook", "recovery"])

/** hasNotebook reports whether a step of a run executes a notebook. */
const hasNotebook = (r: Run) => [...(r.steps ?? []), ...(r.handlers ?? [])].some((s) => s.notebook)

/** placeOf reads #/projects/ID[/runs/RUN][/VIEW]. */
function placeOf(parts: string[]) {
	const [, id = "", ...rest] = parts
	const run = rest[0] === "runs" ? rest[1] : undefined
	const view = rest[run ? 2 : 0] ?? ""
	return { id, run, view: views.some((v) => v.name === view) ? view : "" }
}

export function RunPage() {
	const { id, run: named, view } = placeOf(route.value.parts)
	const project = useFetch<Project>(`projects/${encodeURIComponent(id)}`, versionOf("project:" + id))
	const run = named ?? project.data?.run
	const status = useFetch<Run>(run && ofRun(id, run), versionOf("run:" + (run ?? "")))
	const current = !!run && run === project.data?.run
	const found = useRecovery(id, current ? status.data : undefined)
	const gates = useGates(id)
	const p = project.data
	const r = status.data
	useTitle(p ? [r?.name, folderName(p.path)].filter(Boolean).join(" · ") : "")
	const open = (gates.data?.gates ?? []).filter((g) => g.run === run)
	return (
		<main id="main" tabIndex={-1}>
			<nav class="crumbs" aria-label="Place">
				<a href={link([])}>Projects</a> / {named ? <a href={link(["projects", id])}>{p ? folderName(p.path) : id}</a> : <span>{p ? folderName(p.path) : id}</span>}
			</nav>
			<Wrong problem={project.error} retry={project.reload} />
			{!p && !project.error && <Loading what="the project" />}
			{p && (
				<>
					<Head p={p} r={r} current={current} />
					{!run && <NoRun p={p} />}
					<Wrong problem={run ? status.error : undefined} retry={status.reload} />
					{run && !r && !status.error && <Loading what="the run" />}
					{r && (
						<>
							{current && r.kind !== "session" && <Actions p={p} r={r} found={found.data} waits={open.length > 0} />}
							<Waiting r={r} gates={open} />
							<Views view={view} r={r} id={id} named={named} />
							<View view={view} p={p} r={r} found={found} />
						</>
					)}
				</>
			)}
			<Chosen gates={gates.data?.gates ?? []} loaded={!!gates.data} />
		</main>
	)
}

function Head({ p, r, current }: { p: Project; r?: Run; current: boolean }) {
	const session = r?.kind === "session"
	return (
		<div class="head">
			<h1 tabIndex={-1}>{session ? "Agent session" : r?.name || p.name || folderName(p.path)}</h1>
			<p class="over quiet">
				{r && <RunStatusOf r={r} />}
				{p.stuck && current && <Status of="stuck" />}
				{r && !session && <Progress percent={r.progress_percent} label="Progress" />}
				{r && !session && <span>{r.progress_percent}%</span>}
				<span class="path">{p.path}</span>
			</p>
			{r?.goal && <p>{r.goal}</p>}
			{(r?.why || (current && p.why)) && <p>{r?.why || p.why}</p>}
			{r && (
				<p class="over quiet">
					<span>run {r.run}</span>
					<span>
						last event <Ago at={r.updated_at} />
					</span>
					{r.running_seconds > 0 && <span>{duration(r.running_seconds)} of step time</span>}
					{r.engine && <span>engine pid {r.engine.pid}</span>}
					{!current && <span>an earlier run</span>}
				</p>
			)}
			{r?.unverified && <p class="note warn">This run comes from elsewhere. Its content is unverified. To accept it, run pawl adopt in its folder.</p>}
		</div>
	)
}

/** RunStatusOf shows the status of a run. A session is active only while its agent is alive. */
function RunStatusOf({ r }: { r: Run }) {
	if (r.kind === "session" && r.status === "active" && (r.sessions ?? []).every((x) => x.gone)) return <Status of="rest" text="no live agent" />
	return <Status of={r.status} />
}

function NoRun({ p }: { p: Project }) {
	return (
		<div class="empty">
			<p>{p.error || "This project has no runs yet."}</p>
			{!p.error && (
				<>
					<p>
						<Command text="pawl run plan.yaml" />
					</p>
					<Start project={p.id} />
				</>
			)}
		</div>
	)
}

/** resumeWhy says why the run cannot be resumed; empty if it can. */
function resumeWhy(p: Project, r: Run, waits: boolean): string {
	if (r.kind === "durable") return "The program that created this run resumes it."
	if (p.error && !r.status) return p.error
	switch (r.status) {
		case "active":
			return "The run is active."
		case "waiting":
			return waits ? "The run waits for an answer. Answer the gate." : "The run waits for a person."
		case "completed":
			return "The run is completed."
		case "failed":
			return "The run has failed. Retry or skip the failed step first."
	}
	return lacks("operate")
}

function Actions({ p, r, found, waits }: { p: Project; r: Run; found?: Found; waits: boolean }) {
	const [problem, setProblem] = useState<Problem>()
	const [said, setSaid] = useState("")
	const [asking, setAsking] = useState<"pause" | "stop">()
	const act = (verb: string, why?: string) => async () => {
		setSaid("")
		const done = await post<Acted>(`projects/${encodeURIComponent(p.id)}/${verb}`, why ? { why } : {})
		setSaid(done.message)
		changed("project:" + p.id)
		changed("run:" + r.run)
	}
	const why = resumeWhy(p, r, waits)
	const pausable = ["active", "waiting", "interrupted"].includes(r.status)
	const pauseWhy = pausable ? lacks("operate") : `The run is ${r.status}.`
	return (
		<section class="actions" aria-label="Actions">
			<div class="resume">
				<Act label="Resume project" kind="main" why={why} act={act("resume")} done={setProblem} />
				{!why && (
					<p class="verdict">
						{found ? (
							<>
								<strong>Resume will:</strong> {summary(found)}. <a href={link(["projects", p.id, "recovery"])}>Why?</a>
							</>
						) : (
							<span class="quiet">Reading what Resume will do…</span>
						)}
					</p>
				)}
			</div>
			{pausable && (
				<div class="buttons">
					<Act label="Pause…" why={pauseWhy} act={() => setAsking("pause")} />
					{r.status === "active" && <Act label="Stop…" kind="danger" why={lacks("operate")} act={() => setAsking("stop")} />}
				</div>
			)}
			{asking && <AskEnd verb={asking} act={act} close={() => setAsking(undefined)} />}
			{said && (
				<p role="status" class="quiet">
					{said}.
				</p>
			)}
			<Wrong problem={problem} />
		</section>
	)
}

const ends = { pause: { label: "Pause", text: "Running steps finish. No new ones start before somebody resumes the run." }, stop: { label: "Stop", text: "Running steps are terminated. A resume runs them again." } }

/** AskEnd asks for the reason of a pause or a stop. */
function AskEnd({ verb, act, close }: { verb: keyof typeof ends; act: (verb: string, why?: string) => () => Promise<void>; close: () => void }) {
	const [why, setWhy] = useState("")
	const [problem, setProblem] = useState<Problem>()
	const { label, text } = ends[verb]
	return (
		<Dialog title={`${label} the run`} close={close}>
			<p>{text}</p>
			<Field label="Reason" hint="Optional. The journal has it, and the status of the run shows it.">
				{(id, hint) => <textarea id={id} aria-describedby={hint} rows={2} value={why} onInput={(e) => setWhy(e.currentTarget.value)} />}
			</Field>
			<Wrong problem={problem} />
			<div class="buttons">
				<Act label={label} kind={verb === "stop" ? "danger" : "main"} act={act(verb, why.trim())} done={(e) => (e ? setProblem(e) : close())} />
				<button type="button" onClick={close}>
					Cancel
				</button>
			</div>
		</Dialog>
	)
}

/** Waiting shows what a person has to do before the run continues. */
function Waiting({ r, gates }: { r: Run; gates: Parameters<typeof Card>[0]["gate"][] }) {
	const blockers = r.blockers ?? []
	if (gates.length + blockers.length === 0) return null
	return (
		<section aria-label="Waiting for a person">
			<ul class="gates">
				{gates.map((g) => (
					<Card key={g.id} gate={g} />
				))}
				{blockers.map((b, i) => (
					<li key={i} class="card">
						<p class="over quiet">
							<Status of="waiting" text="blocker" /> {b.step && <span>step {b.step}</span>}
						</p>
						<p>{b.text}</p>
						{b.id && <Command text={`pawl unblock ${b.id}`} />}
					</li>
				))}
			</ul>
		</section>
	)
}

function Views({ view, r, id, named }: { view: string; r: Run; id: string; named?: string }) {
	const base = named ? ["projects", id, "runs", named] : ["projects", id]
	const step = route.value.query.get("step") ?? undefined
	const numbers: Record<string, number> = { agents: (r.in_doubt ?? []).length }
	return (
		<nav class="tabs" aria-label="Views of the run">
			{views.filter((v) => (r.kind !== "session" || !ofPlans.has(v.name)) && (v.name !== "notebook" || hasNotebook(r))).map((v) => (
				<a key={v.name} href={link([...base, v.name], { step })} aria-current={v.name === view || (v.name === "agents" && view === "" && r.kind === "session") ? "page" : undefined}>
					{v.label}
					{numbers[v.name] ? <span class="badge">{numbers[v.name]}</span> : null}
				</a>
			))}
		</nav>
	)
}

function View({ view, p, r, found }: { view: string; p: Project; r: Run; found: ReturnType<typeof useRecovery> }) {
	const steps = [...(r.steps ?? []), ...(r.handlers ?? [])]
	const chosen = route.value.query.get("step") ?? undefined
	switch (view) {
		case "timeline":
			return <Timeline key={r.run} project={p.id} run={r} />
		case "output":
			return <Output key={r.run} project={p.id} run={r.run} steps={steps} />
		case "notebook":
			return <Notebook key={r.run} project={p.id} run={r} steps={steps} />
		case "recovery":
			return <Recovery found={found} run={r} project={p} />
		case "checkpoints":
			return <Checkpoints project={p.id} run={r} />
		case "agents":
			return <Agents run={r} />
		case "history":
			return <Runs key={p.id} project={p} shown={r.run} />
	}
	const step = steps.find((s) => s.id === chosen)
	if (steps.length === 0) return r.kind === "session" ? <Agents run={r} /> : <p class="empty">The run has no steps.</p>
	return (
		<>
			<Steps steps={steps} chosen={chosen} />
			{step && <StepPanel key={step.id} step={step} p={p} r={r} />}
		</>
	)
}

/** StepPanel shows one step and what a person can do about it. */
function StepPanel({ step: s, p, r }: { step: Step; p: Project; r: Run }) {
	const [asking, setAsking] = useState<(typeof verbs)[number]>()
	const current = p.run === r.run
	const next = useNext(p, r, s)
	return (
		<section class="card step" aria-label={`Step ${s.id}`}>
			<header class="bar">
				<h2>
					Step {s.id} <Status of={lookOf(s)} text={wordOf(s)} />
				</h2>
				<button type="button" class="icon" aria-label="Close the step" onClick={() => setQuery({ step: undefined })}>
					✕
				</button>
			</header>
			{s.name && s.name !== s.id && <p>{s.name}</p>}
			{noteOf(s) && <p>{noteOf(s)}</p>}
			<dl class="facts">
				{next && <Fact name={r.engine ? "Next" : "At a resume"}>{next}</Fact>}
				{s.phase && <Fact name="Phase">{s.phase}</Fact>}
				{s.items.total > 0 && (
					<Fact name="Items">
						{s.items.done} of {s.items.total} done{s.items.failed > 0 && `, ${s.items.failed} failed`}
					</Fact>
				)}
				<Fact name="Attempts">{String(s.attempts)}</Fact>
				{timeOf(s) && <Fact name="Time">{timeOf(s)}</Fact>}
				{s.started_at && (
					<Fact name="Started">
						<Time at={s.started_at} />
					</Fact>
				)}
				{s.ended_at && (
					<Fact name="Ended">
						<Time at={s.ended_at} />
					</Fact>
				)}
				{s.summary && s.summary !== noteOf(s) && <Fact name="Summary">{s.summary}</Fact>}
				{(s.killed ?? 0) > 0 && <Fact name="Leftovers">{count(s.killed!, "process", "processes")} terminated</Fact>}
			</dl>
			<div class="buttons">
				{s.attempts > 0 && (
					<a class="button" href={stepLink(s.id, "output")}>
						Output
					</a>
				)}
				{s.notebook && (
					<a class="button" href={stepLink(s.id, "notebook")}>
						Notebook
					</a>
				)}
				{current &&
					verbs.map((v) => {
						const why = v.why(s) || lacks(v.right)
						return v.why(s) === "hide" ? null : <Act key={v.verb} label={v.label} why={why} act={() => setAsking(v)} />
					})}
			</div>
			{asking && <Ask verb={asking} step={s} p={p} r={r} close={() => setAsking(undefined)} />}
		</section>
	)
}

/** useNext says what pawl does with a step next, and why. It is read again when the step changes, not at each event of the run. */
function useNext(p: Project, r: Run, s: Step): string {
	const wanted = p.run === r.run && r.kind === "plan" && r.status !== "completed" && !r.unverified && s.status !== "running"
	const { data } = useFetch<Why>(wanted ? ofRun(p.id, r.run, "why") : undefined, [r.status, s.status, s.attempts, s.why].join())
	const found = data?.steps?.find((x) => x.step === s.id)
	return found ? `${actions[found.do] ?? found.do}${found.why && found.why !== "up to date" ? ": " + found.why : ""}` : ""
}

const Fact = ({ name, children }: { name: string; children: any }) => (
	<>
		<dt>{name}</dt>
		<dd>{children}</dd>
	</>
)

const unfinished = (s: Step) => (["done", "skipped"].includes(s.status) && !s.continued ? "hide" : "")

/** verbs are what a person can do about a step, and when. */
const verbs: { verb: string; label: string; text: string; right: Right; why: (s: Step) => string }[] = [
	{ verb: "retry", right: "operate", label: "Retry…", text: "The step runs again. Steps that need it follow if its outputs change.", why: (s) => (s.status === "running" || s.status === "pending" ? "hide" : "") },
	{ verb: "skip", right: "operate", label: "Skip…", text: "The step does not run. Steps that need it can start.", why: (s) => unfinished(s) },
	{ verb: "done", right: "approve", label: "Mark as done…", text: "You say that the step took effect. It does not run again.", why: (s) => unfinished(s) || (s.status === "running" ? "hide" : "") },
]

function Ask({ verb: v, step, p, r, close }: { verb: (typeof verbs)[number]; step: Step; p: Project; r: Run; close: () => void }) {
	const [why, setWhy] = useState("")
	const [following, setFollowing] = useState(false)
	const [problem, setProblem] = useState<Problem>()
	const act = async () => {
		await post(`projects/${encodeURIComponent(p.id)}/${v.verb}`, { step: step.id, why, ...(following && { following }) })
		changed("project:" + p.id)
		changed("run:" + r.run)
	}
	return (
		<Dialog title={`${v.label.replace("…", "")}: step ${step.id}`} close={close}>
			<p>{v.text}</p>
			{v.verb === "retry" && (
				<label class="check">
					<input type="checkbox" checked={following} onChange={(e) => setFollowing(e.currentTarget.checked)} /> Also rerun all steps that need it
				</label>
			)}
			<Field label="Reason">{(id) => <textarea id={id} rows={3} value={why} onInput={(e) => setWhy(e.currentTarget.value)} />}</Field>
			<Wrong problem={problem} />
			<div class="buttons">
				<Act label={v.label.replace("…", "")} kind="main" why={why.trim() ? "" : "Write a reason first."} act={act} done={(e) => (e ? setProblem(e) : close())} />
				<button type="button" onClick={close}>
					Cancel
				</button>
			</div>
		</Dialog>
	)
}
