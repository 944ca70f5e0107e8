// Package history saves, lists, restores and prunes checkpoints, forks runs from them, and computes their lineage.
//
// A restore saves the current files first. It never writes to git's own files and never removes ignored files.
package history
