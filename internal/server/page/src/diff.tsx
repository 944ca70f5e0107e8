// A difference between files, as tables of lines.
import type { DiffFile, DiffHunk } from "./types"
import { count } from "./format"

const words: Record<string, string> = { "+": "added", "-": "removed", " ": "unchanged" }

export function Diff({ files, more }: { files: DiffFile[]; more?: boolean }) {
	if (files.length === 0) return <p class="quiet">No file differs.</p>
	return (
		<div class="diff">
			{files.map((f) => (
				<details key={f.path} open={files.length <= 20}>
					<summary>
						<span class={`change ${f.kind}`}>{f.kind}</span> <code>{f.path}</code> <span class="quiet">{sizeOf(f)}</span>
					</summary>
					{f.binary && <p class="quiet">Binary or very large: its lines are not shown.</p>}
					{f.more && <p class="quiet">Only the first changes of this file are shown.</p>}
					{(f.hunks ?? []).length > 0 && (
						<div class="scroll" tabIndex={0} role="region" aria-label={`Changes of ${f.path}`}>
							<table>
								<thead class="hidden">
									<tr>
										<th scope="col">Old line</th>
										<th scope="col">New line</th>
										<th scope="col">Change</th>
										<th scope="col">Text</th>
									</tr>
								</thead>
								{f.hunks!.map((h, i) => (
									<Hunk key={i} {...h} />
								))}
							</table>
						</div>
					)}
				</details>
			))}
			{more && <p class="quiet">The difference is larger. Only its beginning is shown.</p>}
		</div>
	)
}

function Hunk({ header, lines }: DiffHunk) {
	let [before, after] = starts(header)
	return (
		<tbody>
			<tr class="hunk">
				<td colSpan={4}>{header}</td>
			</tr>
			{(lines ?? []).map((line, i) => {
				const old = line.op === "+" ? "" : before++
				const fresh = line.op === "-" ? "" : after++
				return (
					<tr key={i} class={words[line.op]}>
						<td class="number">{old}</td>
						<td class="number">{fresh}</td>
						<td class="op">
							<span aria-label={words[line.op]} role="img">
								{line.op}
							</span>
						</td>
						<td>
							<code>{line.text.replace(/\n$/, "")}</code>
						</td>
					</tr>
				)
			})}
		</tbody>
	)
}

/** starts returns the first lines that a header such as "@@ -1,4 +1,5 @@" names. */
function starts(header: string): [number, number] {
	const [, before, after] = /-(\d+)(?:,\d+)? \+(\d+)/.exec(header) ?? []
	return [Number(before ?? 1), Number(after ?? 1)]
}

function sizeOf(f: DiffFile): string {
	let added = 0
	let removed = 0
	for (const h of f.hunks ?? [])
		for (const line of h.lines ?? []) {
			if (line.op === "+") added++
			if (line.op === "-") removed++
		}
	return added + removed === 0 ? "" : `${count(added, "line")} added, ${removed} removed`
}
