// The output of a step, with its colors. While the step runs, new lines appear.
import Anser, { type AnserJsonEntry } from "anser"
import { useEffect, useRef, useState } from "preact/hooks"
import { address, getText, ofRun, problemOf, type Problem } from "./api"
import { refresh } from "./settings"
import type { Step } from "./types"
import { Field, Loading, Rows, Wrong } from "./ui"
import { bytes, count } from "./format"
import { setQuery, route } from "./route"

const tail = 256 << 10 // bytes that are read first
export const lineHeight = 18
const followEvery = 1_000
const maxLines = 50_000

type Line = string | AnserJsonEntry[]

/** Screen turns text with ANSI sequences into lines of colored pieces. A color lasts beyond the end of its line. */
export class Screen {
	lines: Line[] = []
	dropped = 0
	private open = "" // a line without an end
	private readonly anser = new Anser()
	private plain = true

	add(text: string) {
		const parts = (this.open + text).split("\n")
		this.open = parts.pop()!
		for (const part of parts) this.lines.push(this.parse(part))
		if (this.lines.length > maxLines) {
			this.dropped += this.lines.length - maxLines
			this.lines = this.lines.slice(-maxLines)
		}
	}

	/** all returns the lines with the open one. */
	get size() {
		return this.lines.length + (this.open ? 1 : 0)
	}

	line(i: number): Line {
		return i < this.lines.length ? this.lines[i]! : visible(this.open)
	}

	private parse(text: string): Line {
		text = text.replace(/\r+$/, "")
		text = text.slice(text.lastIndexOf("\r") + 1) // what a progress bar has overwritten
		if (this.plain && !text.includes("\x1b")) return text
		const tokens = this.anser.ansiToJson(text, { json: true, use_classes: true, remove_empty: true })
		const a = this.anser as unknown as { fg: unknown; bg: unknown; decorations: unknown[] }
		this.plain = !a.fg && !a.bg && !a.decorations?.length
		return tokens
	}
}

/** visible drops sequences of a line that is not finished. */
const visible = (text: string) => text.slice(text.lastIndexOf("\r") + 1).replace(/\x1b\[[0-9;]*[A-Za-z]?/g, "")

/** pathOf returns the path of the API that has an output. */
function pathOf(project: string, run: string, step: string, o: { stream: string; attempt: string; item: string }): string {
	const query = Object.fromEntries(Object.entries(o).filter(([, value]) => value))
	return ofRun(project, run, `steps/${encodeURIComponent(step)}/output`, query)
}

interface Read {
	screen: Screen
	from: number
	end: number
	problem?: Problem
	loaded: boolean
}

/** useOutput reads an output from its tail on, and follows it while its step runs. */
function useOutput(path: string | undefined, live: boolean) {
	const read = useRef<Read>({ screen: new Screen(), from: 0, end: 0, loaded: false })
	const [, show] = useState(0)
	const fetchFrom = async (start: number, signal: AbortSignal) => {
		const r = read.current
		const got = await getText(path!, start, signal)
		if (start < 0 || start !== r.end) {
			r.screen = new Screen()
			r.from = got.from
			if (got.from > 0) got.text = got.text.slice(got.text.indexOf("\n") + 1)
		}
		r.screen.add(got.text)
		Object.assign(r, { end: got.end, loaded: true, problem: undefined })
		show((n) => n + 1)
		return got.text.length > 0
	}
	useEffect(() => {
		if (!path) return
		read.current = { screen: new Screen(), from: 0, end: 0, loaded: false }
		const abort = new AbortController()
		fetchFrom(-tail, abort.signal).catch((error) => {
			if (abort.signal.aborted) return
			Object.assign(read.current, { problem: problemOf(error), loaded: true })
			show((n) => n + 1)
		})
		return () => abort.abort()
	}, [path])
	useEffect(() => {
		if (!path || refresh.value === 0) return
		const abort = new AbortController()
		const every = refresh.value > 0 ? 1000 * refresh.value : followEvery
		const next = () => {
			if (document.hidden || !read.current.loaded || read.current.problem) return
			fetchFrom(read.current.end, abort.signal).catch(() => {}) // the next one tries again
		}
		const timer = live ? setInterval(next, every) : undefined
		const last = live ? undefined : setTimeout(next, 500) // what came before the end
		return () => {
			clearInterval(timer)
			clearTimeout(last)
			abort.abort()
		}
	}, [path, live, refresh.value])
	const earlier = () => {
		const r = read.current
		r.end = -1 // what is read next replaces all
		fetchFrom(Math.max(0, r.from - 4 * tail), new AbortController().signal).catch(() => {})
	}
	return { ...read.current, earlier }
}

/** Output shows the output of a step that the user chooses. */
export function Output({ project, run, steps }: { project: string; run: string; steps: Step[] }) {
	const { query } = route.value
	const started = steps.filter((s) => s.attempts > 0)
	const step = steps.find((s) => s.id === query.get("step")) ?? started.find((s) => s.status === "running") ?? started.at(-1)
	const o = { stream: query.get("stream") ?? "out", attempt: query.get("attempt") ?? "", item: query.get("item") ?? "" }
	const items = !!step && step.items.total > 0
	const path = step && step.attempts > 0 && (!items || o.item) ? pathOf(project, run, step.id, o) : undefined
	const live = step?.status === "running"
	const read = useOutput(path, live)
	if (!step) return <p class="empty">No step has started yet.</p>
	return (
		<section aria-label="Output" class="output">
			<Choose steps={started} step={step} o={o} />
			{items && !o.item && <p class="empty">Step {step.id} runs once for each item. Enter an item to see its output.</p>}
			{step.attempts === 0 && <p class="empty">Step {step.id} has not started yet.</p>}
			<Wrong problem={read.problem} />
			{path && !read.loaded && <Loading what="output" />}
			{path && read.loaded && !read.problem && (
				<>
					<div class="bar">
						<p class="quiet">
							{bytes(read.end)} {live ? "· running" : ""}
							{read.from > 0 && (
								<>
									{" · "}
									<button type="button" class="link" onClick={read.earlier}>
										Show earlier output
									</button>
								</>
							)}
							{read.screen.dropped > 0 && ` · the last ${count(maxLines, "line")} are shown`}
						</p>
						<a class="button" href={address(path)} download={`${step.id}-${o.stream}.log`}>
							Download
						</a>
					</div>
					{read.screen.size === 0 ? (
						<p class="empty">{live ? "No output yet." : "The step wrote nothing here."}</p>
					) : (
						<Rows count={read.screen.size} height={lineHeight} label={`Output of ${step.id}`} class="terminal" end row={(i) => <TextLine key={i} line={read.screen.line(i)} />} />
					)}
				</>
			)}
		</section>
	)
}

function Choose({ steps, step, o }: { steps: Step[]; step: Step; o: { stream: string; attempt: string; item: string } }) {
	return (
		<div class="fields">
			<Field label="Step">
				{(id) => (
					<select id={id} value={step.id} onChange={(e) => setQuery({ step: e.currentTarget.value, attempt: undefined, item: undefined })}>
						{(steps.includes(step) ? steps : [step, ...steps]).map((s) => (
							<option key={s.id} value={s.id}>
								{s.id}
							</option>
						))}
					</select>
				)}
			</Field>
			<Field label="Stream">
				{(id) => (
					<select id={id} value={o.stream} onChange={(e) => setQuery({ stream: e.currentTarget.value })}>
						<option value="out">standard output</option>
						<option value="err">standard error</option>
					</select>
				)}
			</Field>
			{step.items.total === 0 && step.attempts > 1 && (
				<Field label="Attempt">
					{(id) => (
						<select id={id} value={o.attempt} onChange={(e) => setQuery({ attempt: e.currentTarget.value })}>
							<option value="">newest</option>
							{Array.from({ length: step.attempts }, (_, i) => step.attempts - i).map((n) => (
								<option key={n} value={n}>
									{n}
								</option>
							))}
						</select>
					)}
				</Field>
			)}
			{step.items.total > 0 && (
				<Field label="Item">{(id) => <input id={id} value={o.item} onChange={(e) => setQuery({ item: e.currentTarget.value })} />}</Field>
			)}
		</div>
	)
}

export function TextLine({ line }: { line: Line }) {
	if (typeof line === "string") return <div class="line">{line || " "}</div>
	return (
		<div class="line">
			{line.map((piece, i) => (
				<Piece key={i} {...piece} />
			))}
		</div>
	)
}

function Piece(p: AnserJsonEntry) {
	const classes: string[] = [...(p.decorations ?? [])]
	const style: Record<string, string> = {}
	const paint = (name: string | null, true_: string | null, property: "color" | "backgroundColor", suffix: string) => {
		if (!name) return
		if (name === "ansi-truecolor" && true_) style[property] = `rgb(${true_})`
		else if (name.startsWith("ansi-palette-")) style[property] = palette(Number(name.slice("ansi-palette-".length)))
		else classes.push(name + suffix)
	}
	paint(p.fg, p.fg_truecolor, "color", "-fg")
	paint(p.bg, p.bg_truecolor, "backgroundColor", "-bg")
	return (
		<span class={classes.join(" ")} style={style}>
			{p.content}
		</span>
	)
}

/** palette returns one of the 256 colors of xterm from 16 on. */
function palette(n: number): string {
	if (n >= 232) {
		const grey = 8 + 10 * (n - 232)
		return `rgb(${grey},${grey},${grey})`
	}
	const level = (i: number) => (i ? 55 + 40 * i : 0)
	const k = n - 16
	return `rgb(${level(Math.floor(k / 36))},${level(Math.floor(k / 6) % 6)},${level(k % 6)})`
}
