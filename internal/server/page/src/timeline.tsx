// When what ran: a lane for each step, and the list of all events.
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { get, ofRun, problemOf, type Problem } from "./api"
import { now, versionOf } from "./events"
import { clock, count, dateTime, duration } from "./format"
import { Axis, History, type Bar, type Lane } from "./history"
import { stepLink } from "./graph"
import type { Events, Run } from "./types"
import { Loading, Rows, Wrong } from "./ui"

const firstPage = 500 // events that are read first, so that the first rows appear soon
const nextPages = 10_000
const laneHeight = 26
const entryHeight = 24

/** useHistory reads all events of a run, page by page, and then those that are added. */
function useHistory(project: string, run: string) {
	const history = useRef(new History())
	const [state, setState] = useState<{ n: number; all: boolean; problem?: Problem }>({ n: 0, all: false })
	const version = versionOf("run:" + run)
	useEffect(() => {
		history.current = new History()
		setState({ n: 0, all: false })
	}, [run])
	useEffect(() => {
		const abort = new AbortController()
		const h = history.current
		const read = async () => {
			for (;;) {
				const page = await get<Events>(ofRun(project, run, "events", { after: String(h.last), limit: String(h.last === 0 ? firstPage : nextPages) }), abort.signal)
				const events = page.events ?? []
				h.add(events)
				const all = !page.more || events.length === 0
				setState({ n: h.entries.length, all })
				if (all) return
			}
		}
		read().catch((error) => abort.signal.aborted || setState((s) => ({ ...s, problem: problemOf(error) })))
		return () => abort.abort()
	}, [run, version])
	return { history: history.current, ...state }
}

export function Timeline({ project, run: r }: { project: string; run: Run }) {
	const { history, n, all, problem } = useHistory(project, r.run)
	if (n === 0) return problem ? <Wrong problem={problem} /> : <Loading what="events" />
	return (
		<section aria-label="Timeline" class="timeline">
			<Wrong problem={problem} />
			{!all && <Loading what={`events (${count(n, "event")})`} />}
			<Chart history={history} n={n} run={r} />
			<List history={history} n={n} />
		</section>
	)
}

function Chart({ history, n, run }: { history: History; n: number; run: Run }) {
	const [collapse, setCollapse] = useState(true)
	const [view, setView] = useState({ from: 0, to: 1 })
	const working = !!run.engine || (run.steps ?? []).some((s) => s.live?.some((l) => !l.lost)) || run.status === "waiting"
	const end = working ? Math.floor(now.value / 5000) * 5000 : history.end
	const axis = useMemo(() => new Axis(history, end, collapse), [history, n, end, collapse])
	const zoom = (by: number) => {
		const middle = (view.from + view.to) / 2
		const half = Math.min(0.5, ((view.to - view.from) / 2) * by)
		const from = Math.max(0, Math.min(1 - 2 * half, middle - half))
		setView({ from, to: from + 2 * half })
	}
	const shift = (by: number) => {
		const size = view.to - view.from
		const from = Math.max(0, Math.min(1 - size, view.from + by * size))
		setView({ from, to: from + size })
	}
	const x = (time: number) => ((axis.place(time) - view.from) / (view.to - view.from)) * 1000
	const lanes = [history.engine, ...history.lanes].map((lane) => withCrashes(lane, run))
	return (
		<>
			<div class="bar">
				<h2>Timeline</h2>
				<label class="check">
					<input type="checkbox" checked={collapse} onChange={(e) => setCollapse(e.currentTarget.checked)} /> Collapse idle time
				</label>
				<div class="choices" role="group" aria-label="Part that is shown">
					<button type="button" aria-label="Earlier" disabled={view.from === 0} onClick={() => shift(-0.5)}>
						◀
					</button>
					<button type="button" aria-label="Zoom in" onClick={() => zoom(0.5)}>
						+
					</button>
					<button type="button" aria-label="Zoom out" disabled={view.to - view.from === 1} onClick={() => zoom(2)}>
						−
					</button>
					<button type="button" aria-label="Later" disabled={view.to === 1} onClick={() => shift(0.5)}>
						▶
					</button>
				</div>
			</div>
			<div class="chart">
				<Ticks axis={axis} view={view} x={x} />
				<Rows
					count={lanes.length}
					height={laneHeight}
					label="Lanes of the steps"
					class={lanes.length > 16 ? "lanes tall" : "lanes"}
					row={(i) => <Strip key={lanes[i]!.name + i} lane={lanes[i]!} step={i > 0} axis={axis} end={end} x={x} pauses={history.pauses} />}
				/>
			</div>
			<ul class="legend quiet" aria-label="Colors">
				<li class="run">running</li>
				<li class="good">done</li>
				<li class="bad">failed</li>
				<li class="warn">crashed</li>
				<li class="wait">waiting for a person</li>
				<li class="halt">paused or ended by a person</li>
			</ul>
		</>
	)
}

/** withCrashes marks activities that crashed: they do not run, and the journal has no end of them. */
function withCrashes(lane: Lane, run: Run): Lane {
	const last = lane.bars.at(-1)
	if (!last || lane.bars.every((b) => b.to)) return lane
	const lost = new Set((run.steps ?? []).flatMap((s) => (s.live ?? []).filter((l) => l.lost).map((l) => `${s.id}${l.item ? "/" + l.item : ""}#${l.attempt}`)))
	const crashed = (b: Bar) => !b.to && (b.attempt ? lost.has(b.attempt) : lane.name === "engine" && !run.engine)
	return { ...lane, bars: lane.bars.map((b) => (crashed(b) ? { ...b, kind: "warn", text: b.text + ": crashed" } : b)) }
}

/** digitsOf returns with how many digits of a second two times differ that are some milliseconds apart. */
const digitsOf = (apart: number) => (apart < 10 ? 3 : apart < 100 ? 2 : apart < 1000 ? 1 : 0)

/** Ticks writes times above the lanes, as many as there is room for. */
function Ticks({ axis, view, x }: { axis: Axis; view: { from: number; to: number }; x: (t: number) => number }) {
	const ticks: { at: number; text: string; idle?: string }[] = []
	let free = -1000
	for (const p of axis.parts) {
		if (p.at + p.size < view.from || p.at > view.to) continue
		if (p.idle) {
			ticks.push({ at: x((p.from + p.to) / 2), text: "", idle: duration((p.to - p.from) / 1000) })
			continue
		}
		const parts = Math.max(1, Math.round((p.size / (view.to - view.from)) * 6))
		for (let i = 0; i < parts; i++) {
			const time = p.from + ((p.to - p.from) * i) / parts
			const at = x(time)
			if (at < free || at < 0 || at > 940) continue
			free = at + 130
			ticks.push({ at, text: clock(time, digitsOf((p.to - p.from) / parts)) })
		}
	}
	return (
		<div class="ticks" aria-hidden="true">
			<span class="lane-name" />
			<div class="places">
				{ticks.map((t, i) => (
					<span key={i} class={t.idle ? "idle" : ""} style={{ left: t.at / 10 + "%" }} title={t.idle ? `nothing ran for ${t.idle}` : undefined}>
						{t.idle ? "⋯" : t.text}
					</span>
				))}
			</div>
		</div>
	)
}

/** merged returns the bars of a lane as rectangles. Bars that are closer than can be seen become one. */
function merged(bars: Bar[], end: number, x: (t: number) => number) {
	const out: { from: number; to: number; kind: string; text: string; n: number }[] = []
	for (const b of bars) {
		const from = x(b.from)
		const to = Math.max(x(b.to || end), from + 2)
		if (to < 0 || from > 1000) continue
		const last = out.at(-1)
		if (last && last.kind === b.kind && from < last.to + 0.5 && to - from < 3) {
			last.to = Math.max(last.to, to)
			last.n++
			continue
		}
		out.push({ from: Math.max(0, from), to: Math.min(1000, to), kind: b.kind, n: 1, text: `${b.text}, ${dateTime(new Date(b.from).toISOString())}, ${duration(((b.to || end) - b.from) / 1000)}` })
	}
	return out
}

function Strip({ lane, step, axis, end, x, pauses }: { lane: Lane; step: boolean; axis: Axis; end: number; x: (t: number) => number; pauses: Bar[] }) {
	const bars = merged(lane.bars, end, x)
	return (
		<div class="lane">
			<span class="lane-name">{step && lane.name !== "run" ? <a href={stepLink(lane.name, "timeline")}>{lane.name}</a> : lane.name}</span>
			<svg viewBox={`0 0 1000 ${laneHeight}`} preserveAspectRatio="none" role="img" aria-label={`${lane.name}: ${spoken(lane)}`}>
				{axis.parts
					.filter((p) => p.idle)
					.map((p) => (
						<rect key={p.from} class="idle" x={x(p.from)} width={Math.max(0, x(p.to) - x(p.from))} height={laneHeight} />
					))}
				{merged(pauses, end, x).map((p) => (
					<rect key={"p" + p.from} class="pause" x={p.from} width={p.to - p.from} height={laneHeight}>
						<title>{p.text}</title>
					</rect>
				))}
				{bars.map((b, i) => (
					<rect key={i} class={b.kind} x={b.from} y="5" width={b.to - b.from} height={laneHeight - 10} rx="2">
						<title>{b.n > 1 ? `${b.n} attempts` : b.text}</title>
					</rect>
				))}
			</svg>
		</div>
	)
}

/** spoken describes a lane for screen readers. */
function spoken(lane: Lane): string {
	if (lane.bars.length === 0) return "nothing"
	if (lane.bars.length > 5) return count(lane.bars.length, "attempt")
	return lane.bars.map((b) => b.text).join("; ")
}

/** groups are the events that a person may want to see alone. */
const groups: { name: string; prefixes: string[] }[] = [
	{ name: "All events", prefixes: [""] },
	{ name: "Steps", prefixes: ["step.", "attempt.", "item.", "service."] },
	{ name: "Gates and decisions", prefixes: ["gate.", "decision.", "blocker.", "budget."] },
	{ name: "Engine and run", prefixes: ["engine.", "run.", "machine.", "watchdog."] },
	{ name: "Checkpoints", prefixes: ["checkpoint", "files.", "rollback.", "undo."] },
	{ name: "Agents", prefixes: ["session.", "operation."] },
]

/** List shows the first n events. A component is only drawn again if one of its properties is another one, and the history stays the same. */
function List({ history, n }: { history: History; n: number }) {
	const [group, setGroup] = useState(0)
	const prefixes = groups[group]!.prefixes
	const chosen = useMemo(
		() => (group === 0 ? history.entries.slice(0, n) : history.entries.filter((e) => prefixes.some((p) => e.type.startsWith(p)))),
		[history, n, group],
	)
	return (
		<>
			<div class="bar">
				<h2>Events</h2>
				<select aria-label="Which events" value={String(group)} onChange={(e) => setGroup(Number(e.currentTarget.value))}>
					{groups.map((g, i) => (
						<option key={i} value={String(i)}>
							{g.name}
						</option>
					))}
				</select>
				<span class="quiet">{count(chosen.length, "event")}</span>
			</div>
			<Rows
				count={chosen.length}
				height={entryHeight}
				label="Events"
				class="entries"
				end
				row={(i) => {
					const e = chosen[i]!
					return (
						<div key={e.seq} class="entry">
							<span class="quiet number">{e.seq}</span>
							<time dateTime={new Date(e.time).toISOString()} title={dateTime(new Date(e.time).toISOString())}>
								{clock(e.time)}
							</time>
							<span class="quiet by">{e.who}</span>
							<span class="what" title={e.text}>
								{e.text}
							</span>
						</div>
					)
				}}
			/>
		</>
	)
}
