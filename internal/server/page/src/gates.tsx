// Gates: what waits for a person, and the window in which they answer.
import { useState } from "preact/hooks"
import { lacks, post, useFetch, type Problem } from "./api"
import { changed, now, versionOf } from "./events"
import { count, duration } from "./format"
import { link, route, setQuery } from "./route"
import type { Gate, Gates as List } from "./types"
import { Act, Ago, Dialog, Field, Loading, Status, Time, Wrong, useTitle } from "./ui"
import { Diff } from "./diff"

/** types says what a gate of each type asks for. */
const types: Record<string, string> = { human_verify: "review", decision: "decision", human_action: "action by you" }

const expectLabels: Record<string, string> = { repeat: "Reason", undo: "Options", plan: "Change", start: "Goal" }

/** useGates reads the open gates, of all projects or of one. */
export const useGates = (project?: string) =>
	useFetch<List>("gates" + (project ? "?project=" + encodeURIComponent(project) : ""), versionOf("gates"))

export function Gates() {
	const { data, error, reload } = useGates()
	useTitle("Gates")
	const gates = [...(data?.gates ?? [])].sort((a, b) => a.opened.localeCompare(b.opened))
	return (
		<main id="main" tabIndex={-1}>
			<div class="title">
				<h1 tabIndex={-1}>Gates</h1>
			</div>
			<Wrong problem={error} retry={reload} />
			{!data && !error && <Loading what="gates" />}
			{data && gates.length === 0 && <p class="empty">No gate waits for a person.</p>}
			<ul class="gates">
				{gates.map((g) => (
					<Card key={g.id} gate={g} withProject />
				))}
			</ul>
			{data?.more && <p class="quiet">More projects wait. Only the {count(gates.length, "gate")} of those that have waited longest are shown.</p>}
			<Chosen gates={gates} loaded={!!data} />
		</main>
	)
}

/** Chosen is the window of the gate that the address names. */
export function Chosen({ gates, loaded }: { gates: Gate[]; loaded: boolean }) {
	const id = route.value.query.get("gate")
	if (!id || !loaded) return null
	const gate = gates.find((g) => g.id === id)
	return <Window key={id} id={id} gate={gate} close={() => setQuery({ gate: undefined })} />
}

/** Card is a gate in a list. */
export function Card({ gate: g, withProject }: { gate: Gate; withProject?: boolean }) {
	const { parts, query } = route.value
	return (
		<li class="card">
			<p class="over quiet">
				<Status of="waiting" text={types[g.type] ?? g.type} />
				{withProject && <a href={link(["projects", g.project])}>{g.run}</a>}
				{g.step && <span>step {g.step + (g.item ? "/" + g.item : "")}</span>}
				<span>
					asked <Ago at={g.opened} />
				</span>
				<Expiry gate={g} />
			</p>
			<p class="ask">{g.ask}</p>
			<p>
				<a class="button main" href={link(parts, { ...Object.fromEntries(query), gate: g.id })}>
					Answer<span class="hidden"> gate {g.gate}</span>
				</a>
			</p>
		</li>
	)
}

function Expiry({ gate: g }: { gate: Gate }) {
	if (!g.expires) return null
	const left = (Date.parse(g.expires) - now.value) / 1000
	return <span class={left < 3600 ? "urgent" : ""}>{left > 0 ? `expires in ${duration(left)}` : "expired"}</span>
}

/** Window shows all of a gate and takes the answer. The answer is bound to what is shown: if that changes meanwhile, the server refuses. */
function Window({ id, gate: listed, close }: { id: string; gate?: Gate; close: () => void }) {
	const { data, error, reload } = useFetch<Gate>("gates/" + encodeURIComponent(id), versionOf("gates"))
	const [problem, setProblem] = useState<Problem>()
	const [said, setSaid] = useState("")
	const [seen, setSeen] = useState<string>()
	const g = data ?? listed
	if (data && seen === undefined) setSeen(data.shown)
	const outdated = !!data && !!seen && data.shown !== seen
	const answer = (verb: string, body: object) => async () => {
		await post(`gates/${encodeURIComponent(id)}/${verb}`, { shown: seen ?? g?.shown, ...body })
		setSaid(verb)
		changed("gates")
	}
	const done = (p?: Problem) => {
		setProblem(p)
		if (p?.status === 409) reload()
		if (!p) close()
	}
	return (
		<Dialog title={g?.step ? `Gate of step ${g.step}` : "Gate"} close={close} wide>
			{!g && !error && <Loading what="the gate" />}
			{error && !said && (error.status === 404 ? <p class="empty">This gate is closed: somebody has answered it, or what it shows has changed.</p> : <Wrong problem={error} />)}
			{g && !error && (
				<>
					<Question gate={g} />
					{outdated && (
						<div class="note warn" role="alert">
							<p>What this gate shows has changed since you opened it.</p>
							<button type="button" onClick={() => setSeen(data.shown)}>
								Answer what is shown now
							</button>
						</div>
					)}
					<Wrong problem={problem} />
					<Answers gate={g} answer={answer} done={done} blocked={outdated ? "What is shown has changed." : lacks("approve")} />
				</>
			)}
		</Dialog>
	)
}

function Question({ gate: g }: { gate: Gate }) {
	return (
		<>
			<p class="over quiet">
				<Status of="waiting" text={types[g.type] ?? g.type} />
				<span>gate {g.gate}</span>
				<span>{g.run}</span>
				<span>
					asked <Time at={g.opened} />
				</span>
				<Expiry gate={g} />
			</p>
			{(g.viewers ?? []).length > 0 && (
				<p class="quiet">
					Also opened by{" "}
					{g.viewers!.map((v, i) => (
						<>
							{i > 0 && ", "}
							{v.name} (<Ago at={v.at} />)
						</>
					))}
				</p>
			)}
			<p class="ask large">{g.ask}</p>
			{g.expect && (
				<div class="expect">
					<h3>{expectLabels[g.purpose ?? ""] ?? "Check for"}</h3>
					<pre>{g.expect}</pre>
				</div>
			)}
			{(g.changed ?? []).length > 0 && (
				<div class="note warn">
					<p>This gate cannot be approved: what it shows has changed since it was opened.</p>
					<ul class="plain">
						{g.changed!.map((c) => (
							<li key={c}>{c}</li>
						))}
					</ul>
				</div>
			)}
			{(g.checks ?? []).length > 0 && (
				<>
					<h3>Checks</h3>
					<ul class="checks">
						{g.checks!.map((c) => (
							<li key={c.name}>
								<Status of={c.ok ? "ok" : "failed"} text={c.ok ? "passed" : "failed"} /> <strong>{c.name}</strong>
								{c.text && <pre>{c.text}</pre>}
							</li>
						))}
					</ul>
				</>
			)}
			{(g.covers ?? []).length > 0 && (
				<>
					<h3>Steps that this gate covers</h3>
					<ul class="plain">
						{g.covers!.map((s) => (
							<li key={s.step}>
								<Status of={s.status} /> <strong>{s.step}</strong> {s.result}
							</li>
						))}
					</ul>
				</>
			)}
			{(g.diff ?? []).length > 0 && (
				<>
					<h3>Changes</h3>
					<Diff files={g.diff!} more={g.more} />
				</>
			)}
		</>
	)
}

interface AnswersProps {
	gate: Gate
	answer: (verb: string, body: object) => () => Promise<void>
	done: (problem?: Problem) => void
	blocked: string
}

function Answers({ gate: g, answer, done, blocked }: AnswersProps) {
	const [why, setWhy] = useState("")
	const [option, setOption] = useState(g.default ?? "")
	const [back, setBack] = useState("")
	const [stop, setStop] = useState(false)
	const decides = g.type === "decision"
	const steps = (g.covers ?? []).map((s) => s.step)
	return (
		<form class="answers" onSubmit={(e) => e.preventDefault()}>
			{decides && (
				<fieldset>
					<legend>Options</legend>
					{(g.options ?? []).map((o) => (
						<label key={o} class="check">
							<input type="radio" name="option" checked={option === o} onChange={() => setOption(o)} /> {o}
							{o === g.default && <span class="quiet"> (default)</span>}
						</label>
					))}
				</fieldset>
			)}
			<Field label="Feedback or reason" hint={decides ? "" : "Feedback is required to send the work back. The step that runs again gets it."}>
				{(id, hint) => <textarea id={id} aria-describedby={hint} rows={3} value={why} onInput={(e) => setWhy(e.currentTarget.value)} />}
			</Field>
			{!decides && !stop && steps.length > 1 && (
				<Field label="Send back to">
					{(id) => (
						<select id={id} value={back} onChange={(e) => setBack(e.currentTarget.value)}>
							<option value="">all steps that this gate covers</option>
							{steps.map((s) => (
								<option key={s} value={s}>
									step {s} and what follows it
								</option>
							))}
						</select>
					)}
				</Field>
			)}
			{!decides && (
				<label class="check">
					<input type="checkbox" checked={stop} onChange={(e) => setStop(e.currentTarget.checked)} /> Reject for good: the run fails, and no step runs again
				</label>
			)}
			<div class="buttons">
				{decides ? (
					<Act label="Answer" kind="main" why={blocked || (option ? "" : "Choose an option.")} act={answer("answer", { option, why })} done={done} />
				) : (
					<>
						<Act label={g.type === "human_action" ? "It is done" : "Approve"} kind="main" why={blocked} act={answer("approve", { why })} done={done} />
						<Act
							label={stop ? "Reject" : "Send back"}
							kind="danger"
							why={blocked ? "" : why.trim() ? "" : "Write feedback first."}
							act={blocked ? () => {} : answer("deny", { feedback: why, ...(stop ? { stop } : back && { to_step: back }) })}
							done={blocked ? undefined : done}
						/>
					</>
				)}
			</div>
		</form>
	)
}
