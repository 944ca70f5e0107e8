// The list of projects. It shows the first page as soon as it has that, and reads the next one when the user comes near its end.
import { useEffect, useRef, useState } from "preact/hooks"
import { get, problemOf, type Problem } from "./api"
import { versionOf, watchProjects } from "./events"
import { count, folderName } from "./format"
import { BulkResults, Picks, usePicks } from "./bulk"
import { link, route, setQuery } from "./route"
import type { Project, Projects as Page, Reason } from "./types"
import { Ago, Listing, Loading, Progress, Status, Wrong, useKey, useTitle } from "./ui"
import { shortcuts } from "./settings"

const pageSize = 50 // projects that are read first
const nextSize = 200 // and then at a time

/** filters are the buttons above the list, and the value that each has in the address and in the query of the API. */
const filters = [
	{ name: "", value: "", label: "All" },
	{ name: "waiting", value: "true", label: "Waiting for a person" },
	{ name: "waiting_seconds", value: "3600", label: "Waiting over 1 h" },
	{ name: "retrying", value: "true", label: "Retrying" },
	{ name: "stuck", value: "true", label: "Stuck" },
	{ name: "failing", value: "true", label: "Failing" },
]

const statuses = ["active", "waiting", "paused", "interrupted", "completed", "failed"]

/** wanted returns the query of the API for what the address asks for. */
function wanted(query: URLSearchParams): URLSearchParams {
	const asked = new URLSearchParams()
	for (const name of ["status", "q", "waiting", "waiting_seconds", "retrying", "stuck", "failing", "reason"]) if (query.get(name)) asked.set(name, query.get(name)!)
	return asked
}

const waits = (p: Project) => !!p.gates || p.status === "waiting"

/** matches reports whether a project that has changed belongs in the list. */
function matches(p: Project, query: URLSearchParams): boolean {
	const q = query.get("q") ?? ""
	return (
		(!query.get("status") || p.status === query.get("status")) &&
		(!q || p.path.includes(q) || (p.name ?? "").includes(q)) &&
		(!query.get("waiting") || waits(p)) &&
		(!query.get("waiting_seconds") || (waits(p) && Date.now() - Date.parse(p.waiting_since ?? p.updated ?? "") >= 1000 * Number(query.get("waiting_seconds")))) &&
		(!query.get("retrying") || !!p.retrying) &&
		(!query.get("stuck") || !!p.stuck) &&
		(!query.get("failing") || p.status === "failed" || !!p.failed_step) &&
		(!query.get("reason") || p.reason === query.get("reason"))
	)
}

interface List {
	key: string
	projects: Project[]
	reasons?: Reason[]
	next?: string
	ready: boolean
	loaded: boolean
	error?: Problem
}

/** useProjects reads the projects page by page, and takes over what changes. */
function useProjects(query: URLSearchParams) {
	const key = wanted(query).toString()
	const [list, setList] = useState<List>({ key, projects: [], ready: true, loaded: false })
	const version = versionOf("projects")
	const reading = useRef<AbortController>(undefined)
	const shown = useRef(pageSize)
	const read = async (after: string | undefined, most: number) => {
		reading.current?.abort()
		const abort = (reading.current = new AbortController())
		try {
			let next = after
			let fresh: Project[] = []
			do {
				const asked = new URLSearchParams(key)
				asked.set("limit", String(Math.min(200, most - fresh.length)))
				if (next) asked.set("cursor", next)
				const page = await get<Page>("projects?" + asked, abort.signal)
				fresh = fresh.concat(page.projects ?? [])
				next = page.next
				const before = fresh
				setList((l) => ({
					key, ready: page.ready, next, loaded: true, reasons: page.reasons ?? [],
					projects: after && l.key === key ? l.projects.concat(before) : before,
				}))
			} while (next && fresh.length < most)
		} catch (error) {
			if (!abort.signal.aborted) setList((l) => ({ ...l, key, loaded: true, error: problemOf(error) }))
		}
	}
	useEffect(() => {
		shown.current = pageSize
	}, [key])
	useEffect(() => {
		read(undefined, shown.current)
		return () => reading.current?.abort()
	}, [key, version])
	useEffect(
		() =>
			watchProjects((p) =>
				setList((l) => {
					const at = l.projects.findIndex((x) => x.id === p.id)
					const projects = l.projects.slice()
					if (at >= 0 && matches(p, query)) projects[at] = p
					else if (at >= 0) projects.splice(at, 1)
					else if (matches(p, query) && (!l.next || p.id < l.next)) projects.push(p)
					else return l
					return { ...l, projects: projects.sort((a, b) => (a.id < b.id ? -1 : 1)) }
				}),
			),
		[key],
	)
	const more = () => {
		if (!list.next || list.key !== key) return
		shown.current = list.projects.length + nextSize
		read(list.next, nextSize)
	}
	return { list: list.key === key ? list : { ...list, loaded: false, error: undefined }, more, again: () => read(undefined, shown.current) }
}

export function Projects() {
	const { query } = route.value
	const { list, more, again } = useProjects(query)
	const search = useRef<HTMLInputElement>(null)
	const table = useRef<HTMLTableElement>(null)
	const picks = usePicks(wanted(query), list.projects)
	useTitle("Projects")
	useKey((key, e) => {
		if (!shortcuts.value) return
		if (key === "x") picks.toggle(document.activeElement?.closest("tr")?.dataset.id)
		if (key === "/") {
			e.preventDefault()
			search.current?.focus()
		}
		if (key === "j" || key === "k") move(table.current, key === "j" ? 1 : -1)
	})
	return (
		<main id="main" tabIndex={-1}>
			<div class="title">
				<h1 tabIndex={-1}>Projects</h1>
				{!list.ready && <p class="quiet">The server is still looking at the projects.</p>}
			</div>
			<Filters search={search} reasons={list.reasons ?? []} />
			<Wrong problem={list.error} retry={again} />
			{!list.loaded && list.projects.length === 0 && <Loading what="projects" />}
			{list.loaded && !list.error && list.projects.length === 0 && <Nothing filtered={wanted(query).toString() !== ""} />}
			{list.projects.length > 0 && (
				<>
					<Picks picks={picks} shown={list.projects} more={!!list.next} />
					<Listing table={table} caption="Projects" columns={["Select", "Project", "Run", "Status", "Progress", "Last event"]} class="picks">
						<tbody>
							{list.projects.map((p) => (
								<Row key={p.id} p={p} picked={picks.has(p.id)} toggle={picks.toggle} />
							))}
						</tbody>
					</Listing>
					<End more={more} next={list.next} n={list.projects.length} />
				</>
			)}
			<BulkResults />
		</main>
	)
}

/** move moves the focus to the next or previous project. */
function move(table: HTMLTableElement | null, by: number) {
	const all = [...(table?.querySelectorAll<HTMLElement>("tbody a.name") ?? [])]
	const at = all.findIndex((a) => a === document.activeElement)
	all[Math.max(0, Math.min(all.length - 1, at + by))]?.focus()
}

function Filters({ search, reasons }: { search: { current: HTMLInputElement | null }; reasons: Reason[] }) {
	const { query } = route.value
	const chosen = filters.find((f) => f.name && query.get(f.name))?.name ?? ""
	const choose = ({ name, value }: (typeof filters)[number]) => {
		const none = Object.fromEntries(filters.filter((f) => f.name).map((f) => [f.name, undefined]))
		setQuery({ ...none, reason: undefined, ...(name && { [name]: value }) })
	}
	const reason = query.get("reason") ?? ""
	return (
		<search class="filters">
			<div class="choices" role="group" aria-label="Show">
				{filters.map((f) => (
					<button key={f.name} type="button" aria-pressed={chosen === f.name} onClick={() => choose(f)}>
						{f.label}
					</button>
				))}
			</div>
			{chosen === "failing" && (
				<select aria-label="Reason" value={reason} onChange={(e) => setQuery({ reason: e.currentTarget.value })}>
					<option value="">Any reason</option>
					{reason && !reasons.some((r) => r.reason === reason) && <option value={reason}>{reason}</option>}
					{reasons.map((r) => (
						<option key={r.reason} value={r.reason}>
							{r.reason} ({r.projects})
						</option>
					))}
				</select>
			)}
			<select aria-label="Status" value={query.get("status") ?? ""} onChange={(e) => setQuery({ status: e.currentTarget.value })}>
				<option value="">Any status</option>
				{statuses.map((s) => (
					<option key={s} value={s}>
						{s}
					</option>
				))}
			</select>
			<input
				ref={search}
				type="search"
				placeholder="Folder or run name"
				aria-label="Folder or run name"
				value={query.get("q") ?? ""}
				onInput={(e) => setQuery({ q: e.currentTarget.value })}
			/>
		</search>
	)
}

function Row({ p, picked, toggle }: { p: Project; picked: boolean; toggle: (id?: string) => void }) {
	return (
		<tr data-id={p.id} class={picked ? "chosen" : ""}>
			<td class="pick">
				<input type="checkbox" aria-label={`Select ${folderName(p.path)}`} checked={picked} onChange={() => toggle(p.id)} />
			</td>
			<th scope="row">
				<a class="name" href={link(["projects", p.id])}>
					{folderName(p.path)}
				</a>
				<span class="quiet path">{p.path}</span>
			</th>
			<td data-label="Run">{p.session ? "agent session" : p.name}</td>
			<td data-label="Status">
				{p.session && p.status === "active" ? <Status of="rest" text="session" /> : p.status ? <Status of={p.status} /> : <span class="quiet">no runs yet</span>}{" "}
				{p.stuck && <Status of="stuck" />} {p.retrying && <Status of="warn" text="retrying" />} {!!p.gates && p.status !== "waiting" && <Status of="waiting" text={count(p.gates, "open gate")} />}
				{said(p) && (
					<span class="why">
						{said(p)}
						{p.waiting_since && p.status === "waiting" && (
							<>
								, since <Ago at={p.waiting_since} />
							</>
						)}
					</span>
				)}
			</td>
			<td data-label="Progress">
				{p.status && !p.session && (
					<>
						<Progress percent={p.percent ?? 0} label={`Progress of ${folderName(p.path)}`} /> {p.percent ?? 0}%
					</>
				)}
			</td>
			<td data-label="Last event">
				<Ago at={p.updated} />
			</td>
		</tr>
	)
}

/** said is what a person should know of a project. */
function said(p: Project): string {
	if (p.error) return p.error
	if (p.failed_step && p.status !== "completed") return `step ${p.failed_step} failed${p.failed_why ? ": " + p.failed_why : ""}`
	return p.why ?? ""
}

function Nothing({ filtered }: { filtered: boolean }) {
	if (filtered)
		return (
			<p class="empty">
				No project matches these filters. <a href={link([])}>Show all projects</a>
			</p>
		)
	return (
		<div class="empty">
			<p>No projects yet. A project appears here once you run a plan in its folder:</p>
			<p>
				<code class="command">pawl run plan.yaml</code>
			</p>
		</div>
	)
}

/** End reads the next page when it becomes visible. */
function End({ more, next, n }: { more: () => void; next?: string; n: number }) {
	const ref = useRef<HTMLParagraphElement>(null)
	useEffect(() => {
		if (!next) return
		const watcher = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && more(), { rootMargin: "600px" })
		watcher.observe(ref.current!)
		return () => watcher.disconnect()
	}, [next])
	return (
		<p ref={ref} class="quiet end" role="status">
			{next ? (
				<>
					{count(n, "project")} shown.{" "}
					<button type="button" class="link" onClick={more}>
						Show more
					</button>
				</>
			) : (
				count(n, "project")
			)}
		</p>
	)
}
