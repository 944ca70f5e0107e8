// Small parts that all views use.
import type { ComponentChildren, JSX } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import { Problem, problemOf } from "./api"
import { now } from "./events"
import { ago, dateTime } from "./format"

/** kinds groups the words of statuses by how they look. */
const kinds: Record<string, string> = {
	active: "run", running: "run", continue: "run", live: "run",
	completed: "good", done: "good", ok: "good", next: "good",
	failed: "bad", bad: "bad", partly: "bad",
	waiting: "wait", in_review: "wait", interrupted: "warn", warn: "warn", stuck: "warn", restart: "warn", unknown: "wait",
	paused: "halt", stopped: "halt", human_review: "wait",
}

/** marks are shown with the words, so that no status is conveyed by color alone. */
const marks: Record<string, string> = { run: "▶", good: "✓", bad: "✕", wait: "?", warn: "!", halt: "‖", rest: "·" }

export const kindOf = (status: string) => kinds[status] ?? "rest"

/** Status shows the status of a run or step as a word with a mark. */
export function Status({ of, text }: { of: string; text?: string }) {
	const kind = kindOf(of)
	return (
		<span class={`status ${kind}`}>
			<span class="mark" aria-hidden="true">
				{marks[kind]}
			</span>
			{text ?? of.replaceAll("_", " ")}
		</span>
	)
}

/** Time shows a time in full. */
export const Time = ({ at }: { at?: string | null }) => (at ? <time dateTime={at}>{dateTime(at)}</time> : null)

/** Ago shows how long ago a time was; the full time is its title. */
export const Ago = ({ at }: { at?: string }) =>
	at ? (
		<time dateTime={at} title={dateTime(at)}>
			{ago(at, now.value)}
		</time>
	) : null

/** Wrong shows an error and the command that helps. */
export function Wrong({ problem, retry }: { problem?: Problem; retry?: () => void }) {
	if (!problem) return null
	return (
		<div class="note bad" role="alert">
			<p>
				<strong>Error:</strong> {problem.message}
			</p>
			{problem.hint && (
				<p>
					Try: <Command text={problem.hint} />
				</p>
			)}
			{retry && (
				<button type="button" onClick={retry}>
					Try again
				</button>
			)}
		</div>
	)
}

interface ListingProps {
	caption: string
	columns: string[]
	children: ComponentChildren
	table?: { current: HTMLTableElement | null }
	class?: string
}

/** Listing is a table. On a phone each of its rows becomes a card, in which data-label names the cells. */
export const Listing = ({ caption, columns, children, table, class: more = "" }: ListingProps) => (
	<table class={`list ${more}`} ref={table}>
		<caption class="hidden">{caption}</caption>
		<thead>
			<tr>
				{columns.map((c) => (
					<th key={c} scope="col">
						{c}
					</th>
				))}
			</tr>
		</thead>
		{children}
	</table>
)

/** Command shows a command to type. */
export const Command = ({ text }: { text: string }) => <code class="command">{text}</code>

/** Loading says that something is being read. */
export const Loading = ({ what }: { what: string }) => (
	<p class="quiet" role="status">
		Loading {what}…
	</p>
)

interface ActProps {
	label: string
	/** why the action is not possible now; empty: it is */
	why?: string
	kind?: "main" | "danger" | "plain"
	/** what happens; the button is disabled meanwhile */
	act: () => Promise<unknown> | void
	done?: (error?: Problem) => void
	class?: string
}

/** Act is a button that does something. If it is disabled, it shows the reason. */
export function Act({ label, why, kind = "plain", act, done }: ActProps) {
	const id = useId()
	const [busy, setBusy] = useState(false)
	const click = async () => {
		if (why || busy) return
		setBusy(true)
		try {
			await act()
			done?.()
		} catch (error) {
			done?.(problemOf(error))
		} finally {
			setBusy(false)
		}
	}
	return (
		<span class="act">
			<button type="button" class={kind} onClick={click} aria-disabled={why || busy ? "true" : undefined} aria-describedby={why ? id : undefined}>
				{label}
				{busy && "…"}
			</button>
			{why && (
				<span id={id} class="why">
					{why}
				</span>
			)}
		</span>
	)
}

/** Dialog is a window above the page. The browser keeps the focus in it; Escape closes it. */
export function Dialog({ title, close, children, wide }: { title: string; close: () => void; children: ComponentChildren; wide?: boolean }) {
	const ref = useRef<HTMLDialogElement>(null)
	const id = useId()
	useEffect(() => {
		const dialog = ref.current!
		const before = document.activeElement
		dialog.showModal()
		dialog.querySelector<HTMLElement>("h2")?.focus()
		return () => {
			dialog.close()
			if (before instanceof HTMLElement && before.isConnected) before.focus()
		}
	}, [])
	return (
		<dialog
			ref={ref}
			class={wide ? "wide" : ""}
			aria-labelledby={id}
			onCancel={(e) => {
				e.preventDefault()
				close()
			}}
			onClick={(e) => e.target === ref.current && close()}
		>
			<div class="window">
				<header>
					<h2 id={id} tabIndex={-1}>
						{title}
					</h2>
					<button type="button" class="icon" aria-label="Close" onClick={close}>
						✕
					</button>
				</header>
				{children}
			</div>
		</dialog>
	)
}

/** Field is a label with its input. */
export function Field({ label, hint, children }: { label: string; hint?: string; children: (id: string, described?: string) => JSX.Element }) {
	const id = useId()
	return (
		<div class="field">
			<label for={id}>{label}</label>
			{children(id, hint && id + "-hint")}
			{hint && (
				<small id={id + "-hint"} class="quiet">
					{hint}
				</small>
			)}
		</div>
	)
}

/** Progress shows how much of the work is finished. */
export const Progress = ({ percent, label }: { percent: number; label: string }) => (
	<span class="progress" role="progressbar" aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} aria-label={label}>
		<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
			<rect class="track" width="100" height="4" />
			<rect class="bar" width={Math.max(0, Math.min(100, percent))} height="4" />
		</svg>
	</span>
)

/**
 * Rows shows the visible part of a long list of rows of one height. It scrolls in itself. With end, a list that is scrolled to its end stays there as it grows.
 */
export function Rows(props: {
	count: number
	height: number
	label: string
	class?: string
	role?: string
	end?: boolean
	row: (index: number) => JSX.Element
	onTop?: () => void
}) {
	const ref = useRef<HTMLDivElement>(null)
	const [view, setView] = useState({ top: 0, height: 600 })
	const atEnd = useRef(true)
	const top = useRef(0)
	const { count, height, row } = props
	const measure = () => {
		const box = ref.current
		if (!box) return
		// rows may have been added since the list was scrolled to its end: only scrolling up leaves the end
		if (box.scrollTop + box.clientHeight >= box.scrollHeight - height) atEnd.current = true
		else if (box.scrollTop < top.current) atEnd.current = false
		top.current = box.scrollTop
		setView({ top: box.scrollTop, height: box.clientHeight })
		if (box.scrollTop === 0) props.onTop?.()
	}
	useEffect(() => {
		const watcher = new ResizeObserver(measure)
		watcher.observe(ref.current!)
		return () => watcher.disconnect()
	}, [])
	useEffect(() => {
		const box = ref.current!
		if (props.end && atEnd.current) box.scrollTop = box.scrollHeight
	}, [count, props.end])
	const first = Math.max(0, Math.floor(view.top / height) - 10)
	const last = Math.min(count, Math.ceil((view.top + view.height) / height) + 10)
	const rows = []
	for (let i = first; i < last; i++) rows.push(row(i))
	return (
		<div ref={ref} class={`rows ${props.class ?? ""}`} tabIndex={0} role="region" aria-label={props.label} onScroll={measure}>
			<div class="above" style={{ height: first * height + "px" }} />
			{rows}
			<div style={{ height: Math.max(0, count - last) * height + "px" }} />
		</div>
	)
}

/** useKey calls a function when a key is pressed outside of inputs. */
export function useKey(on: (key: string, e: KeyboardEvent) => void) {
	const latest = useRef(on)
	latest.current = on
	useEffect(() => {
		const listener = (e: KeyboardEvent) => {
			if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return
			if (e.target instanceof HTMLElement && (e.target.closest("input, textarea, select, [contenteditable]") || e.target.closest("dialog"))) return
			latest.current(e.key, e)
		}
		addEventListener("keydown", listener)
		return () => removeEventListener("keydown", listener)
	}, [])
}

/** useTitle names the view in the browser's title. */
export function useTitle(title: string) {
	useEffect(() => {
		document.title = title ? `${title} – pawl` : "pawl"
	}, [title])
}
