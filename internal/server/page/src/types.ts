// The answers of the API, by the names of its document.

export type Rights = "read" | "operate" | "run" | "approve"

export interface Session {
	name: string
	rights: Rights[]
	expires?: string
}

export interface Project {
	id: string
	path: string
	run?: string
	name?: string
	status?: RunStatus
	why?: string
	percent?: number
	updated?: string
	recovery: string
	error?: string
	looked: string
	gates?: number
	waiting_since?: string
	stuck?: boolean
	failed_step?: string
	session?: boolean
}

export type RunStatus = "active" | "waiting" | "paused" | "interrupted" | "completed" | "failed"

export interface Projects {
	projects: Project[] | null
	next?: string
	ready: boolean
}

export interface Step {
	id: string
	name?: string
	phase: string
	needs?: string[] | null
	status: string
	why?: string
	attempts: number
	items: { total: number; done: number; failed: number }
	live?: { item?: string; attempt: number; started_at: string; lost?: boolean }[] | null
	progress?: { text?: string; done?: number; total?: number; time?: string }
	summary?: string
	adopted?: string
	unsaved?: string
	seconds: number
	condition?: string
	continued?: boolean
	service?: { ready: boolean; ends?: string }
	killed?: number
	offers?: string[] | null
	started_at: string | null
	ended_at: string | null
}

export interface Run {
	run: string
	name: string
	goal?: string
	kind: string
	status: RunStatus
	why?: string
	mode: string
	progress_percent: number
	created_at: string
	updated_at: string
	deaths: number
	engine?: { pid: number; since: string }
	steps: Step[] | null
	handlers?: Step[] | null
	blockers: { id?: number; step?: string; text: string; opened?: string }[] | null
	usage?: { usd?: number; tokens?: number }
	running_seconds: number
	sessions: AgentSession[] | null
	in_doubt: InDoubt[] | null
	unverified?: boolean
}

export interface AgentSession {
	session: string
	agent: string
	worktree?: string
	branch?: string
	doing: string
	gone: boolean
	why?: string
	asked?: string
	said?: string
	operations_done: number
	since: string
	seen_at: string
	pid?: number
	calls?: { tool: string; summary?: string; dir?: string; since: string }[] | null
}

export interface InDoubt {
	id?: string
	session: string
	tool: string
	summary?: string
	dir?: string
	began: string
	seq: number
	verdict: string
	evidence: string[] | null
	touched?: string[] | null
}

export interface Finding {
	level: "ok" | "warn" | "bad"
	what: string
	where?: string
	evidence?: string
	hint?: string
}

export interface Verdict {
	verdict: "continue" | "restart" | "next" | "human_review"
	rule: string
	reasons: string[] | null
	by?: string
	doubt?: string
}

export interface Judged {
	step: string
	item?: string
	attempt: number
	case: Record<string, string | boolean>
	verdict: Verdict
}

export interface Recovery {
	run: string
	findings: Finding[] | null
	verdicts: Judged[] | null
	steps: { step: string; do: string; runs: boolean; why: string; items?: string[] | null }[] | null
	edited?: boolean
	patch?: string
	weakened?: string[] | null
}

export interface Gate {
	id: string
	project: string
	run: string
	gate: string
	type: string
	purpose?: string
	step?: string
	item?: string
	ask: string
	expect?: string
	options?: string[] | null
	default?: string
	opened: string
	expires?: string
	shown: string
	diff?: DiffFile[] | null
	checks?: { name: string; ok: boolean; text?: string }[] | null
	covers?: { step: string; status: string; result?: string }[] | null
	changed?: string[] | null
	more?: boolean
}

export interface DiffFile {
	path: string
	kind: string
	binary?: boolean
	more?: boolean
	hunks: { header: string; lines: { op: string; text: string }[] | null }[] | null
}

export interface Event {
	seq: number
	time: string
	epoch: number
	by: { kind: string; name?: string; session?: string }
	type: string
	data: Record<string, unknown>
	text?: string
}

export interface Checkpoint {
	checkpoint: string
	run: string
	kind: string
	step?: string
	item?: string
	why?: string
	seq?: number
	time?: string
	snapshot: string
	none?: string
	files: number
	bytes: number
	added_bytes: number
}

export interface Restored {
	changes: { path: string; change: string; kind: string }[] | null
	plan?: string
	before?: string
}

export interface RunSummary {
	run: string
	name?: string
	status: RunStatus
	created?: string
	updated?: string
	percent?: number
}
