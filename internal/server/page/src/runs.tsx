// The runs of a project, and the start of a new one.
import { useEffect, useState } from "preact/hooks"
import { get, lacks, post, problemOf, type Problem } from "./api"
import { changed, versionOf } from "./events"
import { link } from "./route"
import type { Project, Run, Runs as Page } from "./types"
import { Act, Dialog, Field, Listing, Loading, Status, Time, Wrong } from "./ui"

type Line = NonNullable<Page["runs"]>[number]

/** useRuns reads the runs page by page, the newest first, and all that are shown again when the project changes. */
function useRuns(project: string) {
	const [list, setList] = useState<{ runs: Line[]; next?: string; loaded: boolean; problem?: Problem }>({ runs: [], loaded: false })
	const [pages, setPages] = useState(1)
	const version = versionOf("project:" + project)
	useEffect(() => {
		const abort = new AbortController()
		const read = async () => {
			let runs: Line[] = []
			let next: string | undefined
			for (let i = 0; i < pages && (i === 0 || next); i++) {
				const asked = new URLSearchParams(next ? { cursor: next } : {})
				const page = await get<Page>(`projects/${encodeURIComponent(project)}/runs?${asked}`, abort.signal)
				runs = runs.concat(page.runs ?? [])
				next = page.next
			}
			setList({ runs, next, loaded: true })
		}
		read().catch((error) => abort.signal.aborted || setList((l) => ({ ...l, loaded: true, problem: problemOf(error) })))
		return () => abort.abort()
	}, [project, version, pages])
	return { ...list, more: () => setPages((n) => n + 1) }
}

export function Runs({ project, shown }: { project: Project; shown: Run["run"] }) {
	const { runs, next, loaded, problem, more } = useRuns(project.id)
	return (
		<section aria-label="Runs">
			<div class="bar">
				<h2>Runs of this project</h2>
				<Start project={project.id} />
			</div>
			<Wrong problem={problem} />
			{!loaded && <Loading what="runs" />}
			{runs.length > 0 && (
				<Listing caption="Runs" columns={["Run", "Status", "Started", "Last event"]}>
					<tbody>
						{runs.map((r) => (
							<tr key={r.run} class={r.run === shown ? "chosen" : ""}>
								<th scope="row">
									<a class="name" href={link(r.run === project.run ? ["projects", project.id] : ["projects", project.id, "runs", r.run])}>
										{r.run}
									</a>
								</th>
								<td data-label="Status">{r.error ? <span class="why">{r.error}</span> : <Status of={r.status ?? "unknown"} />}</td>
								<td data-label="Started">
									<Time at={r.created_at} />
								</td>
								<td data-label="Last event">
									<Time at={r.updated_at} />
								</td>
							</tr>
						))}
					</tbody>
				</Listing>
			)}
			{next && (
				<button type="button" onClick={more}>
					Show earlier runs
				</button>
			)}
		</section>
	)
}

/** Start is the button that starts a run of a plan, and its window. */
export function Start({ project }: { project: string }) {
	const [asking, setAsking] = useState(false)
	return (
		<>
			<Act label="Start a run…" why={lacks("run")} act={() => setAsking(true)} />
			{asking && <Ask project={project} close={() => setAsking(false)} />}
		</>
	)
}

/** paramsOf reads parameters, one a line: name=value. */
function paramsOf(text: string): { params: Record<string, string>; wrong?: string } {
	const params: Record<string, string> = {}
	for (const line of text.split("\n").filter((l) => l.trim())) {
		const at = line.indexOf("=")
		if (at < 1) return { params, wrong: `Write parameters as name=value: ${line.trim()}` }
		params[line.slice(0, at).trim()] = line.slice(at + 1)
	}
	return { params }
}

function Ask({ project, close }: { project: string; close: () => void }) {
	const [plan, setPlan] = useState("plan.yaml")
	const [text, setText] = useState("")
	const [problem, setProblem] = useState<Problem>()
	const { params, wrong } = paramsOf(text)
	const start = async () => {
		await post(`projects/${encodeURIComponent(project)}/runs`, { plan: plan.trim(), params })
		changed("project:" + project)
		location.hash = link(["projects", project])
	}
	return (
		<Dialog title="Start a run" close={close}>
			<Field label="Plan" hint="A file in the project's folder.">
				{(id, hint) => <input id={id} type="text" aria-describedby={hint} value={plan} onInput={(e) => setPlan(e.currentTarget.value)} />}
			</Field>
			<Field label="Parameters" hint="One a line: name=value. Leave it empty for the plan's defaults.">
				{(id, hint) => <textarea id={id} rows={3} aria-describedby={hint} value={text} onInput={(e) => setText(e.currentTarget.value)} />}
			</Field>
			<Wrong problem={problem} />
			<div class="buttons">
				<Act label="Start" kind="main" why={plan.trim() ? wrong : "Name a plan first."} act={start} done={(e) => (e ? setProblem(e) : close())} />
				<button type="button" onClick={close}>
					Cancel
				</button>
			</div>
		</Dialog>
	)
}
