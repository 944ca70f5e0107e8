// Package rebuild reconstructs a run whose journal is lost or damaged, from attempt records, views, git commits and
// snapshots. It says how certain each part is, and writes nothing until a person accepts the result.
package rebuild
