// Package sessions serves attached agents: it reconciles tool calls without an outcome, finds the processes that a
// session left behind, and gathers the brief for the next session.
//
// Every claim of a brief is checked against the disk just before it is made, within a time limit.
package sessions
