// The answers of the API. schema.d.ts is made of the API's document, internal/server/testdata/openapi.json, when the page is built.
import type { components } from "./schema"

type Schemas = components["schemas"]

export type Right = "read" | "operate" | "run" | "approve"
export type Session = Schemas["Session"]
export type Project = Schemas["Project"]
export type Projects = Schemas["Projects"]
export type Reason = Schemas["Reason"]
export type Bulk = Schemas["Bulk"]
export type BulkProject = Schemas["BulkProject"]
export type Run = Schemas["StatusReport"]
export type Runs = Schemas["RunLines"]
export type Step = Schemas["StatusStep"]
export type AgentSession = Schemas["StatusSession"]
export type InDoubt = Schemas["SessionsReconciledOperation"]
export type Recovery = Schemas["Recovery"]
export type Finding = Schemas["Finding"]
export type Judged = Schemas["ResumeJudged"]
export type Why = Schemas["ResumeForecast"]
export type Gate = Schemas["OpenGate"]
export type Gates = Schemas["Gates"]
export type DiffFile = Schemas["SnapshotFileDiff"]
export type DiffHunk = Schemas["SnapshotHunk"]
export type Difference = Schemas["Diff"]
export type Checkpoint = Schemas["CheckpointReport"]
export type Checkpoints = Schemas["Checkpoints"]
export type Changes = Schemas["Changes"]
export type Acted = Schemas["Acted"]
export type Notebook = Schemas["Notebook"]
export type NotebookCell = Schemas["DisplayCell"]
export type NotebookOutput = Schemas["DisplayOutput"]
export type NotebookTable = Schemas["DisplayTable"]
export type Variable = Schemas["Variable"]
export type LoggedIn = Schemas["LoggedIn"]

/** Events is a page of a journal. The document does not describe its events, which docs/format.md does. */
export type Events = Omit<Schemas["Events"], "events"> & { events: Event[] | null }

export interface Event {
	seq: number
	time: string
	by: { kind: string; name?: string }
	type: string
	data: Record<string, unknown>
	text: string
}
