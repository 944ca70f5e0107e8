// Package forkview prints what a fork does, and what the new run needs.
package forkview

import (
	"fmt"
	"io"
	"strings"

	"pawl"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/restoreview"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/shellwords"
	"pawl/internal/snapshot"
)

// Report is what `pawl fork --json` prints.
type Report struct {
	Run        pawl.RunID         `json:"run"`
	Project    string             `json:"project"` // its folder
	From       pawl.RunID         `json:"from"`
	Checkpoint pawl.CheckpointID  `json:"checkpoint"`
	Before     pawl.CheckpointID  `json:"before,omitempty"`            // checkpoint of the files before the restore
	Start      pawl.CheckpointID  `json:"start,omitempty"`             // the run's first checkpoint, in another folder
	Again      []history.Redo     `json:"again,omitempty"`             // finished, but missing in the snapshot: will rerun
	NotIn      []snapshot.LeftOut `json:"not_in_checkpoint,omitempty"` // what another folder does not get
	Secrets    []string           `json:"secrets,omitempty"`           // variables to set for `pawl resume`
	Dotenv     []string           `json:"missing_dotenv,omitempty"`    // dotenv files of the plan to put into the project
}

// Of returns the report of a fork.
func Of(f *history.Fork, done history.Forked, from history.SavedCheckpoint) Report {
	return Report{
		Run: done.Run, Project: done.Root, From: from.Run, Checkpoint: from.ID, Before: done.Before, Start: done.Start,
		Again: f.Redo, NotIn: done.LeftOut, Secrets: done.Variables, Dotenv: done.Dotenv,
	}
}

// PrintRedo prints which finished work will rerun.
func PrintRedo(w io.Writer, redo []history.Redo) {
	for _, again := range redo {
		fmt.Fprintf(w, "rerun    %s: finished while the checkpoint was being saved, and not part of it\n", rerunName(again))
	}
}

func rerunName(again history.Redo) string {
	if len(again.Items) == 0 {
		return "step " + string(again.Step)
	}
	return fmt.Sprintf("items of step %s: %s", again.Step, layout.JoinIDs(again.Items))
}

// Print prints the new run, what its folder does not have, and how secrets reach it.
func (r Report) Print(w io.Writer, elsewhere bool) {
	if r.Before != "" {
		fmt.Fprintf(w, "restored; previous state saved as checkpoint %s\n", r.Before)
	}
	where := ""
	if elsewhere {
		where = " in " + r.Project
	}
	fmt.Fprintf(w, "run %s%s: forked from run %s at checkpoint %s\n", r.Run, where, r.From, r.Checkpoint)
	if r.Start != "" {
		fmt.Fprintf(w, "first checkpoint: %s\n", r.Start)
	}
	restoreview.PrintNotWritten(w, r.NotIn)
	if text := r.secrets(); text != "" {
		fmt.Fprintln(w, text)
	}
}

// secrets says how secrets reach the run; "" if it needs none.
func (r Report) secrets() string {
	var todo []string
	if len(r.Dotenv) > 0 {
		todo = append(todo, "copy "+oneline.Paths(r.Dotenv)+" to "+r.Project)
	}
	if len(r.Secrets) > 0 {
		todo = append(todo, "set "+strings.Join(r.Secrets, ", "))
	}
	if todo == nil {
		return ""
	}
	return "pawl stores no secrets; before you resume the run: " + strings.Join(todo, "; ")
}

// Next returns the command that continues the run; "" for a session.
func (r Report) Next(kind pawl.RunKind, elsewhere bool) string {
	switch {
	case kind == pawl.SessionRun:
		return ""
	case elsewhere:
		return fmt.Sprintf("pawl -C %s resume %s", shellwords.Word(r.Project), r.Run)
	}
	return "pawl resume " + string(r.Run)
}
