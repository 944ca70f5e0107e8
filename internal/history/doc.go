// Package history saves, lists, restores and prunes checkpoints, forks runs from them and draws their lineage.
//
// Restoring saves what is there first. It never writes to git's own files and never removes ignored ones.
package history
