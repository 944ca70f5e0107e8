// The steps of a run: drawn as a graph, or as a table by phase where the graph would be too large.
import { useEffect, useRef, useState } from "preact/hooks"
import { duration } from "./format"
import { link, route } from "./route"
import type { Placed, Shape } from "./shape"
import type { Step } from "./types"
import { now } from "./events"
import { Listing, Status, kindOf } from "./ui"

const maxDrawn = 300 // steps
const wide = 172
const high = 46

/** stepLink returns the address of a step in the current view. */
export function stepLink(id: string, tab = ""): string {
	const parts = route.value.parts.filter((p) => !tabs.has(p))
	return link([...parts, tab], { step: id })
}

/** tabs are the last parts of addresses of runs that name a view. */
export const tabs = new Set(["timeline", "output", "recovery", "checkpoints", "agents", "history"])

/** shapeOf returns the graph of the steps. A phase that follows another one begins with a mark that all steps before it lead to. */
function shapeOf(steps: Step[], down: boolean): Shape {
	const shape: Shape = { boxes: steps.map((s) => ({ id: s.id, width: wide, height: high })), edges: [], down }
	const phases = [...new Set(steps.map((s) => s.phase))]
	let before: string[] = []
	for (const phase of phases) {
		const inside = steps.filter((s) => s.phase === phase)
		const ids = new Set(inside.map((s) => s.id))
		const needed = new Set(inside.flatMap((s) => s.needs ?? []))
		let mark = ""
		if (phases.length > 1) {
			mark = "phase:" + phase
			shape.boxes.push({ id: mark, width: down ? wide : 26 + 7 * Math.min(phase.length, 24), height: 24 })
			for (const id of before) shape.edges.push([id, mark])
		}
		for (const s of inside) {
			const needs = (s.needs ?? []).filter((n) => ids.has(n))
			for (const n of needs) shape.edges.push([n, s.id])
			if (needs.length === 0 && mark) shape.edges.push([mark, s.id])
		}
		before = inside.filter((s) => !needed.has(s.id)).map((s) => s.id)
	}
	return shape
}

let worker: Worker | undefined
let numbered = 0
const waiting = new Map<number, (placed: Placed) => void>()

/** place has the worker place the boxes of a graph. */
function place(shape: Shape): Promise<Placed> {
	if (!worker) {
		const url = new URL("layout.js", document.baseURI).href
		const policy = window.trustedTypes?.createPolicy("pawl-layout", { createScriptURL: (text) => text })
		worker = new Worker((policy?.createScriptURL(url) ?? url) as unknown as string)
		worker.onmessage = (e: MessageEvent<{ number: number; placed: Placed }>) => {
			waiting.get(e.data.number)?.(e.data.placed)
			waiting.delete(e.data.number)
		}
	}
	const number = ++numbered
	worker.postMessage({ ...shape, number })
	return new Promise((done) => waiting.set(number, done))
}

/** Steps shows the steps of a run, and marks the chosen one. */
export function Steps({ steps, chosen }: { steps: Step[]; chosen?: string }) {
	const drawable = steps.length > 1 && steps.length <= maxDrawn && steps.some((s) => s.needs?.length || s.phase !== steps[0]!.phase)
	const [table, setTable] = useState(false)
	return (
		<section class="steps" aria-label="Steps">
			<div class="bar">
				<h2>Steps</h2>
				{drawable && (
					<div class="choices" role="group" aria-label="Show steps as">
						<button type="button" aria-pressed={!table} onClick={() => setTable(false)}>
							Graph
						</button>
						<button type="button" aria-pressed={table} onClick={() => setTable(true)}>
							Table
						</button>
					</div>
				)}
			</div>
			{drawable && !table ? <Graph steps={steps} chosen={chosen} /> : <Table steps={steps} chosen={chosen} />}
			{steps.length > maxDrawn && <p class="quiet">The graph is shown for runs of up to {maxDrawn} steps.</p>}
		</section>
	)
}

function Graph({ steps, chosen }: { steps: Step[]; chosen?: string }) {
	const box = useRef<HTMLDivElement>(null)
	const [placed, setPlaced] = useState<Placed>()
	const [zoom, setZoom] = useState(0) // 0: as large as fits
	const down = useNarrow()
	const key = JSON.stringify(steps.map((s) => [s.id, s.phase, s.needs])) + down
	useEffect(() => {
		let current = true
		place(shapeOf(steps, down)).then((p) => current && setPlaced(p))
		return () => {
			current = false
		}
	}, [key])
	const byID = new Map(steps.map((s) => [s.id, s]))
	const scale = zoom || fitting(placed, box.current)
	return (
		<div class="graph">
			<div class="scroll" ref={box} tabIndex={0} role="region" aria-label="Graph of the steps">
				{placed && (
					<svg width={placed.width * scale} height={placed.height * scale} viewBox={`0 0 ${placed.width} ${placed.height}`} role="group" aria-label="Steps and what they need">
						{placed.edges.map((e) => (
							<path key={e.from + " " + e.to} class={`edge ${kindOf(byID.get(e.from)?.status ?? "")}`} d={curve(e.points)} />
						))}
						{Object.entries(placed.boxes).map(([id, at]) => {
							const step = byID.get(id)
							return step ? <Node key={id} step={step} at={at} chosen={id === chosen} /> : <Mark key={id} name={id.slice("phase:".length)} at={at} />
						})}
					</svg>
				)}
			</div>
			<div class="zoom" role="group" aria-label="Zoom">
				<button type="button" class="icon" aria-label="Smaller" onClick={() => setZoom(Math.max(0.25, scale / 1.25))}>
					−
				</button>
				<button type="button" class="icon" aria-label="Larger" onClick={() => setZoom(Math.min(2, scale * 1.25))}>
					+
				</button>
				<button type="button" class="icon" aria-label="Fit" onClick={() => setZoom(0)}>
					⤢
				</button>
			</div>
		</div>
	)
}

/** useNarrow reports whether the window is as narrow as a phone. */
function useNarrow(): boolean {
	const query = window.matchMedia("(max-width: 700px)")
	const [narrow, setNarrow] = useState(query.matches)
	useEffect(() => {
		const changed = () => setNarrow(query.matches)
		query.addEventListener("change", changed)
		return () => query.removeEventListener("change", changed)
	}, [])
	return narrow
}

/** fitting returns the largest scale, up to 1, at which a graph fits. Text stays legible. */
function fitting(placed: Placed | undefined, box: HTMLElement | null): number {
	if (!placed || !box || !placed.width) return 1
	return Math.max(0.7, Math.min(1, (box.clientWidth - 18) / placed.width))
}

/** curve draws an edge through its points. */
function curve(points: { x: number; y: number }[]): string {
	const [first, ...rest] = points
	if (!first) return ""
	let d = `M${first.x},${first.y}`
	for (let i = 0; i < rest.length - 1; i++) {
		const p = rest[i]!
		const q = rest[i + 1]!
		d += ` Q${p.x},${p.y} ${i === rest.length - 2 ? q.x : (p.x + q.x) / 2},${i === rest.length - 2 ? q.y : (p.y + q.y) / 2}`
	}
	if (rest.length === 1) d += ` L${rest[0]!.x},${rest[0]!.y}`
	return d
}

function Mark({ name, at }: { name: string; at: { x: number; y: number } }) {
	return (
		<text class="phase" x={at.x} y={at.y + 4} text-anchor="middle">
			{cut(name, 24)}
		</text>
	)
}

function Node({ step, at, chosen }: { step: Step; at: { x: number; y: number }; chosen: boolean }) {
	const kind = kindOf(lookOf(step))
	const more = detail(step)
	return (
		<a href={stepLink(step.id)} class={`node ${kind} ${chosen ? "chosen" : ""}`} aria-current={chosen ? "true" : undefined}>
			<title>{step.id}</title>
			<g transform={`translate(${at.x - wide / 2},${at.y - high / 2})`}>
				<rect class="box" width={wide} height={high} rx="6" />
				<rect class="side" width="5" height={high} rx="2.5" />
				<text class="name" x="14" y="19">
					{cut(step.id, 21)}
				</text>
				<text class="detail" x="14" y="36">
					{cut(wordOf(step) + (more ? " · " + more : ""), 27)}
				</text>
			</g>
		</a>
	)
}

const cut = (text: string, most: number) => (text.length > most ? text.slice(0, most - 1) + "…" : text)

/** isLost reports whether all running attempts of a step crashed. Their outcome is unknown until a resume. */
const isLost = (s: Step) => s.status === "running" && !!s.live?.length && s.live.every((l) => l.lost)

/** lookOf is the status that a step looks like. */
export const lookOf = (s: Step) => (isLost(s) || s.continued ? "warn" : s.status)

/** wordOf is the status of a step in words. */
export function wordOf(s: Step): string {
	if (isLost(s)) return "crashed"
	if (s.continued) return "failed, allowed"
	if (s.status === "waiting") return "waiting for a person"
	if (s.service && s.status === "running") return s.service.ends ? "service is ending" : s.service.ready ? "service ready" : "service is starting"
	return s.status.replaceAll("_", " ")
}

/** detail is what else is worth knowing of a step in a few words. */
function detail(s: Step): string {
	const parts = []
	if (s.items.total > 0) parts.push(`${s.items.done}/${s.items.total}`)
	const time = timeOf(s)
	if (time) parts.push(time)
	if (s.attempts > 1 && !s.items.total) parts.push(`attempt ${s.attempts}`)
	return parts.join(" · ")
}

/** timeOf is how long a step has run. */
export function timeOf(s: Step): string {
	const live = s.live?.[0]
	if (live && !live.lost && s.status === "running" && !s.items.total) return duration((now.value - Date.parse(live.started_at)) / 1000)
	return s.seconds ? duration(s.seconds) : ""
}

function Table({ steps, chosen }: { steps: Step[]; chosen?: string }) {
	const phases = [...new Set(steps.map((s) => s.phase))]
	const named = phases.length > 1
	return (
		<Listing caption="Steps" columns={["Step", "Status", "Items", "Attempts", "Time", "Note"]}>
			{phases.map((phase) => (
				<tbody key={phase}>
					{named && (
						<tr class="group">
							<th scope="rowgroup" colSpan={6}>
								{phase}
							</th>
						</tr>
					)}
					{steps
						.filter((s) => s.phase === phase)
						.map((s) => (
							<tr key={s.id} class={s.id === chosen ? "chosen" : ""}>
								<th scope="row">
									<a class="name" href={stepLink(s.id)} aria-current={s.id === chosen ? "true" : undefined}>
										{s.id}
									</a>
								</th>
								<td data-label="Status">
									<Status of={lookOf(s)} text={wordOf(s)} />
								</td>
								<td data-label="Items">{s.items.total > 0 && `${s.items.done}/${s.items.total}${s.items.failed ? ` (${s.items.failed} failed)` : ""}`}</td>
								<td data-label="Attempts">{s.attempts || ""}</td>
								<td data-label="Time">{timeOf(s)}</td>
								<td data-label="Note">{noteOf(s)}</td>
							</tr>
						))}
				</tbody>
			))}
		</Listing>
	)
}

/** noteOf is the newest progress of a step, or the reason of its status. */
export function noteOf(s: Step): string {
	if (s.condition) return "condition is false: " + s.condition
	if (s.status === "running" && s.progress?.text) return s.progress.text
	return s.why || s.adopted || s.summary || s.unsaved || ""
}
