package project

import (
	"context"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/oneline"
)

// edited is the source of a memory that no commit contains.
const edited = "edited"

// blameTime limits how long git may take to say who wrote a memory.
const blameTime = 2 * time.Second

// FindSources sets the source of unverified memories in this project's MEMORY.md: the commit that last changed one and its author, as git
// has them, or "edited". Both can be made up. It asks git only in a trusted project.
func (p *Project) FindSources(ctx context.Context, all []Remembered) {
	commits := map[pawl.Memory]string{}
	asked := false
	for i := range all {
		m := &all[i]
		if !m.Unverified || m.File != p.Memory() || !p.Trust.Trusted() {
			continue
		}
		if !asked {
			asked, commits = true, p.committedMemories(ctx)
		}
		if m.Source = commits[m.Memory]; m.Source == "" {
			m.Source = edited
		}
	}
}

// committedMemories returns the source of each memory that HEAD contains; none without a repository.
func (p *Project) committedMemories(ctx context.Context) map[pawl.Memory]string {
	ctx, cancel := context.WithTimeout(ctx, blameTime)
	defer cancel()
	lines, err := git.Blame(ctx, p.Root, Folder+"/MEMORY.md")
	if err != nil {
		return nil // without an answer of git they count as edited
	}
	var doc []byte
	for _, l := range lines {
		doc = append(append(doc, l.Text...), '\n')
	}
	sources := map[pawl.Memory]string{}
	for _, m := range locatedMemories(doc) {
		newest := lines[m.first]
		for _, l := range lines[m.first : m.last+1] {
			if l.Time.After(newest.Time) {
				newest = l
			}
		}
		sources[m.Memory] = fmt.Sprintf("commit %.12s by %s", newest.Commit, oneline.Quote(newest.Author))
	}
	return sources
}
