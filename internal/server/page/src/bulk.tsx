// Actions in several projects. The server first counts them and says what it would do, then does it: also if the page is closed.
import { useEffect, useState } from "preact/hooks"
import { get, lacks, post, problemOf, type Problem } from "./api"
import { everythingChanged } from "./events"
import { count, folderName } from "./format"
import { link, route, setQuery } from "./route"
import type { Bulk, BulkProject, Project } from "./types"
import { Act, Command, Dialog, Field, Listing, Loading, Progress, Status, Wrong } from "./ui"

const maxListed = 200 // projects in a window
const askEvery = 1_000

const actions: Record<string, { label: string; title: string; done: string; reason: boolean }> = {
	resume: { label: "Resume", title: "Resume projects", done: "resumed", reason: false },
	retry: { label: "Retry failed step", title: "Retry the first failed step", done: "queued for retry", reason: true },
	pause: { label: "Pause", title: "Pause projects", done: "paused", reason: true },
	stop: { label: "Stop", title: "Stop projects", done: "stopped", reason: true },
}

/** usePicks are the projects of a list that the user has selected. They are forgotten when the list has another filter. */
export function usePicks(filter: URLSearchParams, shown: Project[]) {
	const key = filter.toString()
	const [state, setState] = useState({ key, ids: new Set<string>(), every: false })
	const { ids, every } = state.key === key ? state : { ids: new Set<string>(), every: false }
	const set = (next: Set<string>, all = false) => setState({ key, ids: next, every: all })
	return {
		ids, every, filter,
		has: (id: string) => every || ids.has(id),
		toggle: (id?: string) => {
			if (!id) return
			const next = new Set(every ? shown.map((p) => p.id) : ids)
			if (!next.delete(id)) next.add(id)
			set(next)
		},
		pickShown: () => set(new Set(shown.map((p) => p.id))),
		pickEvery: () => set(new Set(), true),
		clear: () => set(new Set()),
	}
}

/** Picks says how many projects are selected, and what can be done with them. */
export function Picks({ picks, shown, more }: { picks: ReturnType<typeof usePicks>; shown: Project[]; more: boolean }) {
	const [asking, setAsking] = useState("")
	const { ids, every } = picks
	const all = every || (shown.length > 0 && shown.every((p) => ids.has(p.id)))
	const some = every || ids.size > 0
	const said = every ? "All projects of this filter" : some ? `${ids.size} selected` : ""
	return (
		<div class="picking" role="group" aria-label="Selected projects">
			<label class="check">
				<input
					type="checkbox"
					checked={all}
					ref={(box) => {
						if (box) box.indeterminate = some && !all
					}}
					onChange={() => (all ? picks.clear() : picks.pickShown())}
				/>{" "}
				{said || "Select"}
			</label>
			<span class="hidden" role="status">
				{said}
			</span>
			{some && !every && all && more && (
				<button type="button" class="link" onClick={picks.pickEvery}>
					Select all projects of this filter
				</button>
			)}
			{some &&
				Object.entries(actions).map(([verb, { label }]) => (
					<Act key={verb} label={label + "…"} kind={verb === "stop" ? "danger" : "plain"} why={lacks("operate")} act={() => setAsking(verb)} />
				))}
			{some && (
				<button type="button" class="link" onClick={picks.clear}>
					Clear
				</button>
			)}
			{asking && <Ask verb={asking} picks={picks} close={() => setAsking("")} />}
		</div>
	)
}

const flags = new Set(["waiting", "retrying", "stuck", "failing"])

/** bodyOf is a filter as the API gets it in JSON. */
function bodyOf(filter: URLSearchParams) {
	const body: Record<string, unknown> = {}
	for (const [name, value] of filter) body[name] = flags.has(name) ? true : name === "waiting_seconds" ? Number(value) : value
	return body
}

/** Ask shows what an action would do in each project, and has the server do it. */
function Ask({ verb, picks, close }: { verb: string; picks: ReturnType<typeof usePicks>; close: () => void }) {
	const [bulk, setBulk] = useState<Bulk>()
	const [problem, setProblem] = useState<Problem>()
	const [why, setWhy] = useState("")
	const a = actions[verb]!
	const read = () => {
		setProblem(undefined)
		post<Bulk>("bulk", { action: verb, ...(picks.every ? { filter: bodyOf(picks.filter) } : { projects: [...picks.ids] }) }).then(setBulk, (error) => setProblem(problemOf(error)))
	}
	useEffect(read, [])
	const act = async () => {
		await post<Bulk>("bulk", { token: bulk!.token, why })
		picks.clear()
		close()
		setQuery({ bulk: bulk!.token })
	}
	return (
		<Dialog title={a.title} close={close} wide>
			{!bulk && !problem && <Loading what="what this will do" />}
			{bulk && (
				<>
					<p role="status">
						{bulk.possible === bulk.count ? `Possible in ${count(bulk.count, "project")}.` : `Possible in ${bulk.possible} of ${count(bulk.count, "project")}. The others stay as they are.`}
					</p>
					<Table bulk={bulk} />
					{a.reason && <Field label="Reason" hint="Optional. The journal of each run has it.">{(id, hint) => <textarea id={id} aria-describedby={hint} rows={2} value={why} onInput={(e) => setWhy(e.currentTarget.value)} />}</Field>}
				</>
			)}
			<Wrong problem={problem} retry={read} />
			<div class="buttons">
				{bulk && (
					<Act
						label={`${a.label}: ${count(bulk.possible, "project")}`}
						kind={verb === "stop" ? "danger" : "main"}
						why={bulk.possible === 0 ? "It is not possible in any of these projects." : ""}
						act={act}
						done={setProblem}
					/>
				)}
				<button type="button" onClick={close}>
					Cancel
				</button>
			</div>
		</Dialog>
	)
}

/** BulkResults shows the action that the address names, and its results as they come. */
export function BulkResults() {
	const token = route.value.query.get("bulk")
	return token ? <Results key={token} token={token} /> : null
}

function Results({ token }: { token: string }) {
	const [bulk, setBulk] = useState<Bulk>()
	const [problem, setProblem] = useState<Problem>()
	useEffect(() => {
		const abort = new AbortController()
		let timer: ReturnType<typeof setTimeout> | undefined
		const read = async () => {
			const now = await get<Bulk>("bulk/" + encodeURIComponent(token), abort.signal)
			setBulk(now)
			setProblem(undefined)
			if (now.state === "done") everythingChanged()
			else timer = setTimeout(next, askEvery)
		}
		const next = () =>
			read().catch((error) => {
				if (abort.signal.aborted) return
				const p = problemOf(error)
				setProblem(p)
				if (p.status === 0 || p.status >= 500) timer = setTimeout(next, 5 * askEvery)
			})
		next()
		return () => {
			abort.abort()
			clearTimeout(timer)
		}
	}, [])
	const close = () => setQuery({ bulk: undefined })
	const a = bulk && actions[bulk.action]
	return (
		<Dialog title={a?.title ?? "Action in several projects"} close={close} wide>
			{!bulk && !problem && <Loading what="results" />}
			{bulk && (
				<>
					<p class="over">
						<Progress percent={bulk.possible ? (100 * bulk.done) / bulk.possible : 100} label="Projects with a result" />
						<span role="status">
							{bulk.state !== "done"
								? `${bulk.done} of ${count(bulk.possible, "project")}. The server continues if you close this window.`
								: `${count(bulk.done - bulk.failed, "project")} ${a?.done ?? "done"}${bulk.failed ? `, ${bulk.failed} failed` : ""}.`}
						</span>
					</p>
					<Table bulk={bulk} />
				</>
			)}
			<Wrong problem={problem} />
			<div class="buttons">
				<button type="button" onClick={close}>
					Close
				</button>
			</div>
		</Dialog>
	)
}

const order = (p: BulkProject) => (p.result ? (p.result.success ? 2 : 0) : p.will ? 1 : 3)

/** Table lists the projects: those in which the action failed first, those in which it is impossible last. */
function Table({ bulk }: { bulk: Bulk }) {
	const all = [...(bulk.projects ?? [])].sort((a, b) => order(a) - order(b))
	const begun = bulk.state !== "counted"
	return (
		<div class="scroll" tabIndex={0} role="region" aria-label="Projects of this action">
			<Listing caption="Projects of this action" columns={["Project", "Status", begun ? "Result" : "What happens"]}>
				<tbody>
					{all.slice(0, maxListed).map((p) => (
						<tr key={p.project}>
							<th scope="row">
								<a href={link(["projects", p.project])}>{p.path ? folderName(p.path) : p.project}</a>
							</th>
							<td data-label="Status">{p.status && <Status of={p.status} />}</td>
							<td data-label={begun ? "Result" : "What happens"}>
								<Outcome p={p} begun={begun} />
							</td>
						</tr>
					))}
				</tbody>
			</Listing>
			{all.length > maxListed && <p class="quiet">and {count(all.length - maxListed, "other project")}</p>}
		</div>
	)
}

function Outcome({ p, begun }: { p: BulkProject; begun: boolean }) {
	const r = p.result
	if (!p.will) return <span class="quiet">not possible: {p.refused}</span>
	if (!r) return begun ? <span class="quiet">not done yet</span> : <>{p.will}</>
	if (r.success) return <Status of="done" text={r.message || "done"} />
	return (
		<>
			<Status of="failed" text={r.message || "failed"} /> <span class="why">{r.detail}</span>
			{r.hint && (
				<span class="why">
					Try: <Command text={r.hint} />
				</span>
			)}
		</>
	)
}
