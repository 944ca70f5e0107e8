// Checkpoints: what the files were at some moment, what differs, and the way back.
import { useState } from "preact/hooks"
import { lacks, ofRun, post, useFetch, type Problem } from "./api"
import { changed, versionOf } from "./events"
import { bytes, count } from "./format"
import { link, route, setQuery } from "./route"
import type { Changes, Checkpoint, Checkpoints as List, Difference, Run } from "./types"
import { Act, Dialog, Listing, Loading, Time, Wrong } from "./ui"
import { Diff } from "./diff"

export function Checkpoints({ project, run }: { project: string; run: Run }) {
	const { data, error, reload } = useFetch<List>(ofRun(project, run.run, "checkpoints"), versionOf("run:" + run.run))
	const { query } = route.value
	const from = query.get("from") ?? ""
	const to = query.get("to") ?? ""
	const all = [...(data?.checkpoints ?? [])].reverse()
	const usable = all.filter((c) => c.snapshot === "kept")
	const [travel, setTravel] = useState<{ verb: Verb; checkpoint: string }>()
	return (
		<section aria-label="Checkpoints">
			<h2>Checkpoints</h2>
			<Wrong problem={error} retry={reload} />
			{!data && !error && <Loading what="checkpoints" />}
			{data && all.length === 0 && <p class="empty">No checkpoints yet. pawl saves one after each step.</p>}
			{all.length > 0 && (
				<>
					<div class="fields">
						<Choose label="Compare" value={from} all={usable} set={(v) => setQuery({ from: v })} none="choose a checkpoint" />
						<Choose label="with" value={to} all={usable} set={(v) => setQuery({ to: v })} none="the files as they are now" />
					</div>
					{from && <Compared project={project} run={run.run} from={from} to={to} />}
					<Listing caption="Checkpoints, newest first" columns={["Checkpoint", "Saved", "Kind", "About", "Files", "Actions"]}>
						<tbody>
							{all.map((c) => (
								<tr key={c.checkpoint + c.seq}>
									<th scope="row">
										<code>{c.checkpoint}</code>
									</th>
									<td data-label="Saved">
										<Time at={c.time} />
									</td>
									<td data-label="Kind">{c.kind.replaceAll("_", " ")}</td>
									<td data-label="About">{[c.step && c.step + (c.item ? "/" + c.item : ""), c.why?.split("\n")[0]].filter(Boolean).join(": ")}</td>
									<td data-label="Files">{c.snapshot === "kept" ? `${count(c.files, "file")}, ${bytes(c.bytes)}` : c.none ? `no snapshot: ${c.none}` : c.snapshot}</td>
									<td data-label="Actions" class="verbs">
										{c.snapshot === "kept" && (
											<>
												<button type="button" class="link" onClick={() => setQuery({ from: c.checkpoint, to: undefined })}>
													Compare<span class="hidden"> {c.checkpoint}</span>
												</button>
												{[restore, ...(run.kind === "session" ? [] : [fork])].map((verb) => (
													<button key={verb.verb} type="button" class="link" onClick={() => setTravel({ verb, checkpoint: c.checkpoint })}>
														{verb.label}…<span class="hidden"> {c.checkpoint}</span>
													</button>
												))}
											</>
										)}
									</td>
								</tr>
							))}
						</tbody>
					</Listing>
				</>
			)}
			{travel && <Travel {...travel} project={project} run={run} close={() => setTravel(undefined)} />}
		</section>
	)
}

function Choose({ label, value, all, set, none }: { label: string; value: string; all: Checkpoint[]; set: (v: string) => void; none: string }) {
	return (
		<label class="field">
			<span>{label}</span>
			<select value={value} onChange={(e) => set(e.currentTarget.value)}>
				<option value="">{none}</option>
				{all.map((c) => (
					<option key={c.checkpoint} value={c.checkpoint}>
						{[c.checkpoint, c.kind.replaceAll("_", " "), c.step].filter(Boolean).join(" · ")}
					</option>
				))}
			</select>
		</label>
	)
}

function Compared({ project, run, from, to }: { project: string; run: string; from: string; to: string }) {
	const { data, error } = useFetch<Difference>(ofRun(project, run, "diff", { from, ...(to && { to }) }))
	return (
		<div class="compared">
			<Wrong problem={error} />
			{!data && !error && <Loading what="the difference" />}
			{data && <Diff files={data.files ?? []} more={data.more} />}
		</div>
	)
}

/** Verb is what a checkpoint can be used for. */
interface Verb {
	verb: "restore" | "fork"
	label: string
	title: (checkpoint: string) => string
	text: string
	nothing: string // what it changes if it changes no file
	act: (changes: number) => string
}

const restore: Verb = {
	verb: "restore",
	label: "Restore",
	title: (checkpoint) => `Restore checkpoint ${checkpoint}`,
	text: "pawl first saves the files as they are now, so that you can undo the restore. It removes no ignored files.",
	nothing: "Nothing to restore",
	act: (changes) => `Restore ${count(changes, "path")}`,
}

const fork: Verb = {
	verb: "fork",
	label: "Fork",
	title: (checkpoint) => `Fork from checkpoint ${checkpoint}`,
	text: "A new run starts from this checkpoint: what was finished by then stays finished. pawl first saves the files as they are now, then restores those of the checkpoint. The run that you fork stays as it is.",
	nothing: "No file changes",
	act: () => "Create the new run",
}

/** Travel restores or forks. It first shows the changes, then makes exactly those. If the changes differ by then, the server refuses. */
function Travel({ verb: v, project, run, checkpoint, close }: { verb: Verb; project: string; run: Run; checkpoint: string; close: () => void }) {
	const path = ofRun(project, run.run, v.verb)
	const [planned, setPlanned] = useState<Changes>()
	const [restored, setRestored] = useState<Changes>()
	const [problem, setProblem] = useState<Problem>()
	const look = async () => setPlanned(await post<Changes>(path, { checkpoint }))
	const act = async () => {
		const all = await post<Changes>(path, { checkpoint, plan: planned!.plan })
		changed("run:" + run.run)
		changed("project:" + project)
		if (all.run) location.hash = link(["projects", project]) // the new run, which is the current one by now
		else setRestored(all)
	}
	const done = (p?: Problem) => {
		setProblem(p)
		if (p) setPlanned(undefined)
	}
	const changes = planned?.changes ?? []
	const useless = v.verb === "restore" && changes.length === 0
	return (
		<Dialog title={v.title(checkpoint)} close={close} wide>
			<p>{v.text}</p>
			<Wrong problem={problem} />
			{restored ? (
				<>
					<p class="note good" role="status">
						Restored {count((restored.changes ?? changes).length, "path")}.{restored.before && ` The files before it are checkpoint ${restored.before}.`}
					</p>
					<button type="button" class="main" onClick={close}>
						Close
					</button>
				</>
			) : planned ? (
				<>
					<h3>{changes.length === 0 ? v.nothing : `This changes ${count(changes.length, "path")}`}</h3>
					<ul class="plain changes" tabIndex={0} aria-label="Paths that change">
						{changes.map((c) => (
							<li key={c.path}>
								<span class={`change ${c.change}`}>{words[c.change] ?? c.change}</span> <code>{c.path}</code>
							</li>
						))}
					</ul>
					<Redone steps={planned.redo ?? []} />
					<div class="buttons">
						{!useless && <Act label={v.act(changes.length)} kind="danger" why={lacks("operate")} act={act} done={done} />}
						<button type="button" onClick={close}>
							Cancel
						</button>
					</div>
				</>
			) : (
				<div class="buttons">
					<Act label="Show what would change" kind="main" why={lacks("operate")} act={look} done={done} />
					<button type="button" onClick={close}>
						Cancel
					</button>
				</div>
			)}
		</Dialog>
	)
}

/** Redone lists finished work that a fork repeats, because its outputs are not in the snapshot. */
function Redone({ steps }: { steps: NonNullable<Changes["redo"]> }) {
	if (steps.length === 0) return null
	return (
		<>
			<h3>Will rerun: their outputs are not in the checkpoint</h3>
			<ul class="plain">
				{steps.map((s) => (
					<li key={s.step}>
						step {s.step}
						{s.items && `, ${count(s.items.length, "item")}`}
					</li>
				))}
			</ul>
		</>
	)
}

const words: Record<string, string> = { added: "create", removed: "remove", changed: "replace" }
