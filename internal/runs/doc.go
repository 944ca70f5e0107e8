// Package runs creates, opens, lists and archives the runs of a project, and records what a person or a step does to one.
//
// Everything that changes a run without an engine goes through Perform: it takes the journal's lock, reads what others
// appended, decides on the state as it is now, and appends in one batch. What it reads it verifies; a run with a damaged
// or missing journal is an error that names the command that rebuilds it.
package runs
