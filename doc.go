// Package pawl holds the words and the rules of pawl, which keeps agent work from slipping back.
//
// A run is one execution of a plan. Everything that happens to it is an [Event], one durable line of the run's
// journal; [State] is the fold of those events, and [State.Apply] alone knows how. What is to be done is a [Plan],
// which package planfile reads and checks; [Key] says when finished work counts as finished.
//
// The package is pure: it opens no file, starts no process, reads no clock.
package pawl
