// The notebook that a step executes: cells with their outputs. Whatever a notebook contains, the page shows it as text, as tables of text,
// and as images that cannot run scripts.
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { ofRun, useFetch } from "./api"
import { versionOf } from "./events"
import { bytes, count, duration } from "./format"
import { Screen, TextLine, lineHeight } from "./output"
import { route, setQuery } from "./route"
import type { Notebook as Page, NotebookCell, NotebookOutput, NotebookTable, Run, Step, Variable } from "./types"
import { Ago, Field, Listing, Loading, Progress, Rows, Status, Wrong } from "./ui"

const pageSize = 50 // cells
const pause = 3_000 // between two reads of the notebook, which may be large
const shortText = 40 // lines that are shown without a window that scrolls

/** Notebook shows the notebook of a step that the user chooses, a page of cells at a time. */
export function Notebook({ project, run, steps }: { project: string; run: Run; steps: Step[] }) {
	const { query } = route.value
	const all = steps.filter((s) => s.notebook)
	const step = all.find((s) => s.id === query.get("step")) ?? all.find((s) => s.status === "running") ?? all[0]
	const from = Math.max(0, Number(query.get("cell") ?? 1) - 1 || 0)
	const path = step && ofRun(project, run.run, `steps/${encodeURIComponent(step.id)}/notebook`, { from: String(from), limit: String(pageSize) })
	const page = useFetch<Page>(path, useSlowly(versionOf("run:" + run.run)))
	if (!step) return <p class="empty">No step of this run executes a notebook.</p>
	return (
		<section aria-label="Notebook" class="notebook">
			{all.length > 1 && (
				<div class="fields">
					<Field label="Step">
						{(id) => (
							<select id={id} value={step.id} onChange={(e) => setQuery({ step: e.currentTarget.value, cell: undefined })}>
								{all.map((s) => (
									<option key={s.id} value={s.id}>
										{s.id}
									</option>
								))}
							</select>
						)}
					</Field>
				</div>
			)}
			<Wrong problem={page.error} retry={page.reload} />
			{!page.data && !page.error && <Loading what="the notebook" />}
			{page.data && <Shown page={page.data} from={from} />}
		</section>
	)
}

/** useSlowly returns the newest version, but not more often than every few seconds. */
function useSlowly(version: number): number {
	const latest = useRef(version)
	latest.current = version
	const [shown, show] = useState(version)
	useEffect(() => {
		if (version === shown) return
		const timer = setTimeout(() => show(latest.current), pause)
		return () => clearTimeout(timer)
	}, [shown, version === shown])
	return shown
}

function Shown({ page, from }: { page: Page; from: number }) {
	const { counts } = page
	const ended = counts.done + counts.failed
	const parts = [
		`${ended} of ${count(counts.code, "code cell")} executed`,
		counts.failed > 0 && `${counts.failed} failed`,
		counts.executing > 0 && `${counts.executing} executing`,
	].filter(Boolean)
	return (
		<>
			<h2 class="hidden">Notebook</h2>
			<p class="over quiet">
				<span class="path">{page.file}</span>
				{page.kernel && <span>{page.kernel}</span>}
				<Progress percent={counts.code ? Math.round((100 * ended) / counts.code) : 0} label="Executed cells" />
				<span>{parts.join(", ")}</span>
			</p>
			{(page.notes ?? []).length > 0 && (
				<details class="note warn">
					<summary>{count(page.notes!.length, "part")} of the notebook {page.notes!.length === 1 ? "is" : "are"} invalid</summary>
					<ul>
						{page.notes!.map((n, i) => (
							<li key={i}>
								line {n.line}, column {n.column}: {n.text}
							</li>
						))}
					</ul>
				</details>
			)}
			<Turn page={page} from={from} />
			<ol class="cells" start={from + 1}>
				{(page.cells ?? []).map((c) => (
					<Cell key={c.id} cell={c} />
				))}
			</ol>
			{page.cells && page.cells.length > 5 && <Turn page={page} from={from} />}
			{page.total === 0 && <p class="empty">The notebook has no cells.</p>}
			{(page.variables ?? []).length > 0 && <Variables list={page.variables!} />}
		</>
	)
}

/** Turn turns the pages of a long notebook. */
function Turn({ page, from }: { page: Page; from: number }) {
	if (from === 0 && !page.next) return null
	const shown = page.cells?.length ?? 0
	return (
		<nav class="bar" aria-label="Pages of the notebook">
			<p class="quiet">
				{shown > 0 ? `Cells ${from + 1} to ${from + shown}` : "No cells"} of {page.total}
			</p>
			<button type="button" disabled={from === 0} onClick={() => setQuery({ cell: from > pageSize ? String(from - pageSize + 1) : undefined })}>
				Earlier cells
			</button>
			<button type="button" disabled={!page.next} onClick={() => setQuery({ cell: String(page.next! + 1) })}>
				Later cells
			</button>
		</nav>
	)
}

const words: Record<string, { of: string; text: string }> = {
	not_executed: { of: "rest", text: "not executed" },
	executing: { of: "running", text: "executing" },
	done: { of: "done", text: "done" },
	failed: { of: "failed", text: "failed" },
	skipped: { of: "rest", text: "skipped" },
}

function Cell({ cell: c }: { cell: NotebookCell }) {
	const status = c.status && words[c.status]
	return (
		<li class={`cell ${c.type}`} id={"cell-" + c.id}>
			{c.type === "code" && (
				<p class="over quiet">
					<span class="number">[{c.execution_count || " "}]</span>
					{status && <Status of={status.of} text={status.text} />}
					{!!c.seconds && <span>{duration(c.seconds)}</span>}
					{c.started_at && <Ago at={c.started_at} />}
					{(c.attempts ?? 0) > 1 && <span>attempt {c.attempts}</span>}
					{!!c.interrupts && <span>interrupted {count(c.interrupts, "time")}</span>}
					{(c.tags ?? []).map((tag) => (
						<span key={tag} class="badge">
							{tag}
						</span>
					))}
				</p>
			)}
			{c.type === "markdown" ? (
				<Markdown text={c.source} />
			) : (
				c.source && (
					<pre tabIndex={0} aria-label="Source">
						{c.source}
					</pre>
				)
			)}
			<Cut n={c.cut} />
			{(c.outputs ?? []).map((o, i) => (
				<Output key={i} output={o} of={`output ${i + 1} of cell ${c.index + 1}`} />
			))}
			{!!c.outputs_left_out && <p class="quiet">{count(c.outputs_left_out, "more output")} not shown.</p>}
		</li>
	)
}

const Cut = ({ n }: { n?: number }) => (n ? <p class="quiet">{bytes(n)} more not shown.</p> : null)

/** Markdown shows text with its headings. */
function Markdown({ text }: { text: string }) {
	return (
		<div class="markdown">
			{text.split(/\n/).map((line, i) => {
				const heading = /^#{1,6}\s+(.*)$/.exec(line)
				return heading ? <h3 key={i}>{heading[1]}</h3> : <div key={i}>{line || " "}</div>
			})}
		</div>
	)
}

/** Output shows an output; of names it for readers of the screen. */
function Output({ output: o, of }: { output: NotebookOutput; of: string }) {
	switch (o.kind) {
		case "image":
			return <Picture output={o} />
		case "table":
			return (
				<div class="output">
					{(o.tables ?? []).map((t, i) => (
						<Table key={i} table={t} label={`Table ${i + 1}, ${of}`} />
					))}
					{o.text && <p class="quiet">{o.text}</p>}
					<Cut n={o.cut} />
				</div>
			)
		case "json":
			return (
				<details class="output">
					<summary>JSON, {bytes(o.text?.length ?? 0)}</summary>
					<pre tabIndex={0} aria-label="JSON">
						{o.text}
					</pre>
					<Cut n={o.cut} />
				</details>
			)
	}
	return o.text ? (
		<div class={`output ${o.kind}`}>
			<Lines text={o.text} label={`${labels[o.kind]}, ${of}`} />
			<Cut n={o.cut} />
		</div>
	) : null
}

const labels: Record<string, string> = { stdout: "Standard output", stderr: "Standard error", error: "Error", text: "Value" }

/** Lines shows text with its colors. Of a long text it draws the visible lines only. */
function Lines({ text, label }: { text: string; label: string }) {
	const screen = useMemo(() => {
		const s = new Screen()
		s.add(text)
		return s
	}, [text])
	const row = (i: number) => <TextLine key={i} line={screen.line(i)} />
	if (screen.size > shortText) return <Rows count={screen.size} height={lineHeight} label={label} class="terminal" row={row} />
	return (
		<div class="rows terminal short" tabIndex={0} role="region" aria-label={label}>
			{Array.from({ length: screen.size }, (_, i) => row(i))}
		</div>
	)
}

/** Picture shows an image. An SVG may take a browser long to draw, so it is drawn on request; scripts in it never run. */
function Picture({ output: o }: { output: NotebookOutput }) {
	const [wanted, want] = useState(!o.vector)
	return (
		<div class="output image">
			{wanted && o.image ? (
				<img src={o.image} alt={o.text || "image"} decoding="async" />
			) : (
				<button type="button" onClick={() => want(true)}>
					Show the SVG image
				</button>
			)}
		</div>
	)
}

function Table({ table: t, label }: { table: NotebookTable; label: string }) {
	const rows = (list: NotebookTable["body"] | undefined) =>
		(list ?? []).map((r, i) => (
			<tr key={i}>
				{(r.cells ?? []).map((c, k) => {
					const span = { colSpan: c.columns || undefined, rowSpan: c.rows || undefined }
					return c.header && c.text ? (
						<th key={k} {...span}>
							{c.text}
						</th>
					) : (
						<td key={k} {...span}>
							{c.text}
						</td>
					)
				})}
			</tr>
		))
	return (
		<>
			<div class="rows data" tabIndex={0} role="region" aria-label={label}>
				<table>
					{(t.head ?? []).length > 0 && <thead>{rows(t.head)}</thead>}
					<tbody>{rows(t.body)}</tbody>
				</table>
			</div>
			{!!t.rows_left_out && <p class="quiet">{count(t.rows_left_out, "more row")} not shown.</p>}
		</>
	)
}

function Variables({ list }: { list: Variable[] }) {
	return (
		<section aria-label="Variables">
			<h2>Variables</h2>
			<Listing caption="Variables of the kernel" columns={["Name", "Type", "Shape", "Size", "Saved"]}>
				<tbody>
					{list.map((v) => (
						<tr key={v.name}>
							<td data-label="Name">
								<code title={v.hash && "hash " + v.hash}>{v.name}</code>
							</td>
							<td data-label="Type">{v.type}</td>
							<td data-label="Shape">{v.shape}</td>
							<td data-label="Size">{v.bytes ? bytes(v.bytes) : ""}</td>
							<td data-label="Saved">{v.saved ? <Status of="done" text="saved" /> : <Status of="rest" text="not saved" />}</td>
						</tr>
					))}
				</tbody>
			</Listing>
		</section>
	)
}
