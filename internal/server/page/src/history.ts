// The events of a run, folded to what a timeline shows. Nothing here touches the page.
import type { Event } from "./types"

/** Bar is an interval of an activity. To is 0 until it ends. */
export interface Bar {
	from: number
	to: number
	kind: "run" | "good" | "bad" | "warn" | "wait" | "halt" | "rest"
	text: string
	attempt?: string // step, item and number
}

/** Lane has the attempts and the gates of one step. */
export interface Lane {
	name: string
	bars: Bar[]
}

/** Entry is an event in the list. */
export interface Entry {
	seq: number
	time: number
	who: string
	type: string
	text: string
}

const outcomes: Record<string, Bar["kind"]> = { failed: "bad", blocked: "wait", waiting: "wait", aborted: "halt", lost: "warn", not_started: "warn" }

const words: Record<string, string> = { lost: "crashed", not_started: "crashed before it started" }

/** History is what the events of a run say, up to the last one. */
export class History {
	readonly lanes: Lane[] = []
	readonly engine: Lane = { name: "engine", bars: [] }
	readonly pauses: Bar[] = []
	readonly entries: Entry[] = []
	last = 0 // seq
	private readonly byStep = new Map<string, Lane>()
	private readonly live = new Map<string, Bar>() // by step, item and attempt
	private readonly items = new Map<string, string>() // the live attempt of an item
	private readonly gates = new Map<string, Bar>()

	get begin() {
		return this.entries[0]?.time ?? 0
	}

	get end() {
		return this.entries.at(-1)?.time ?? 0
	}

	add(events: Event[]) {
		for (const e of events) {
			if (e.seq <= this.last) continue
			this.last = e.seq
			this.take(e, Date.parse(e.time))
		}
	}

	private take(e: Event, at: number) {
		const before = this.end
		this.entries.push({ seq: e.seq, time: at, who: whoOf(e), type: e.type, text: e.text || e.type.replaceAll(".", " ") })
		const d = e.data as Record<string, any>
		const name = d.step + (d.item ? "/" + d.item : "")
		switch (e.type) {
			case "attempt.started": {
				const bar: Bar = { from: at, to: 0, kind: "run", text: `${name} attempt ${d.attempt}`, attempt: `${name}#${d.attempt}` }
				this.lane(d.step).bars.push(bar)
				this.live.set(`${name}#${d.attempt}`, bar)
				this.items.set(name, `${name}#${d.attempt}`)
				break
			}
			case "attempt.ended":
				this.finish(`${name}#${d.attempt}`, at, outcomes[d.outcome] ?? "bad", (words[d.outcome] ?? d.outcome) + (d.why ? ": " + d.why : ""))
				break
			case "step.done":
			case "item.done":
				this.finish(this.items.get(name) ?? "", at, "good", "done")
				break
			case "gate.opened": {
				const bar: Bar = { from: at, to: 0, kind: "wait", text: `gate ${d.id}: ${d.ask}` }
				this.lane(d.step || "run").bars.push(bar)
				this.gates.set(d.id, bar)
				break
			}
			case "gate.answered":
			case "gate.expired":
			case "gate.withdrawn": {
				const bar = this.gates.get(d.gate)
				if (bar && !bar.to) Object.assign(bar, { to: at, text: bar.text + " – " + (d.answer ?? e.type.slice(5)) })
				break
			}
			case "engine.started":
				this.endEngine(before || at, "warn", "crashed")
				this.endPause(at)
				this.engine.bars.push({ from: at, to: 0, kind: "run", text: `engine ${d.why === "resume" ? "resumed the run" : "started"} (pid ${d.pid})` })
				break
			case "engine.stopped":
				this.endEngine(at, "rest", d.why || "stopped")
				break
			case "run.paused":
			case "run.stopped":
				this.endPause(at)
				this.pauses.push({ from: at, to: 0, kind: "halt", text: `${e.type.slice(4)}${d.why ? ": " + d.why : ""}` })
				break
			case "run.continued":
				this.endPause(at)
				break
			case "run.ended":
				this.endPause(at)
				break
		}
	}

	private lane(step: string): Lane {
		let lane = this.byStep.get(step)
		if (!lane) {
			lane = { name: step, bars: [] }
			this.byStep.set(step, lane)
			this.lanes.push(lane)
		}
		return lane
	}

	private finish(key: string, to: number, kind: Bar["kind"], text: string) {
		const bar = this.live.get(key)
		if (!bar) return
		this.live.delete(key)
		Object.assign(bar, { to, kind, text: `${bar.text}: ${text}` })
	}

	private endEngine(to: number, kind: Bar["kind"], text: string) {
		const bar = this.engine.bars.at(-1)
		if (bar && !bar.to) Object.assign(bar, { to, kind, text: `${bar.text}: ${text}` })
	}

	private endPause(to: number) {
		const bar = this.pauses.at(-1)
		if (bar && !bar.to) bar.to = to
	}
}

function whoOf(e: Event): string {
	if (e.by.kind === "step") return ("step " + (e.by.name ?? "")).trim()
	return e.by.name || e.by.kind
}

/** Axis maps time to a position between 0 and 1. Idle intervals take little of it. */
export class Axis {
	readonly parts: { from: number; to: number; at: number; size: number; idle: boolean }[] = []

	constructor(history: History, now: number, collapse: boolean) {
		const begin = history.begin
		const end = Math.max(now, history.end, begin + 100)
		const gaps = collapse ? gapsOf(history, begin, end) : []
		const busy = end - begin - gaps.reduce((sum, g) => sum + g.to - g.from, 0)
		const gapSize = Math.min(0.04, 0.4 / Math.max(1, gaps.length))
		const scale = (1 - gapSize * gaps.length) / Math.max(1, busy)
		let at = 0
		let time = begin
		for (const gap of [...gaps, { from: end, to: end }]) {
			if (gap.from > time) {
				this.parts.push({ from: time, to: gap.from, at, size: (gap.from - time) * scale, idle: false })
				at += (gap.from - time) * scale
			}
			if (gap.to > gap.from) {
				this.parts.push({ from: gap.from, to: gap.to, at, size: gapSize, idle: true })
				at += gapSize
			}
			time = gap.to
		}
	}

	place(time: number): number {
		let low = 0
		let high = this.parts.length - 1
		while (low < high) {
			const middle = (low + high) >> 1
			if (this.parts[middle]!.to < time) low = middle + 1
			else high = middle
		}
		const p = this.parts[low]
		if (!p) return 0
		return p.at + p.size * Math.max(0, Math.min(1, (time - p.from) / Math.max(1, p.to - p.from)))
	}
}

const leastGap = 60_000 // shorter ones stay

/** gapsOf returns the times in which no attempt ran, as far as they are long. What only waits for a person is idle. */
function gapsOf(history: History, begin: number, end: number): { from: number; to: number }[] {
	const busy = history.lanes.flatMap((l) => l.bars.filter((b) => b.kind !== "wait" || !b.text.startsWith("gate")).map((b) => [b.from, b.to || end] as const))
	busy.sort((a, b) => a[0] - b[0])
	const least = Math.max(leastGap, (end - begin) / 50)
	const margin = least / 20
	const gaps = []
	let time = begin
	for (const [from, to] of [...busy, [end, end] as const]) {
		if (from - time > least) gaps.push({ from: time + margin, to: from - margin })
		time = Math.max(time, to)
	}
	return gaps
}
