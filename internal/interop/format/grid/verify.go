package grid

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/oneline"
)

// verify runs the document's five validations: the state is readable, claimed commits and files exist, there is at most one
// checkpoint, and each pending block has a plan. Each is one OK finding or a finding per fault. Then it reports impossible
// and missing values, and adds the findings of reading.
func (s scope) verify(files format.Files, env format.Env) []pawl.Finding {
	r := readCluster(files, s.at, format.Env{Now: env.Now}) // as its files say
	if len(r.out.Phases) == 0 && r.state.file == nil && r.point == nil {
		return []pawl.Finding{{Level: pawl.Bad, What: "no state of The Grid found here", Where: ".grid/STATE.md"}}
	}
	v := &clusterVerifier{clusterReader: r, env: env}
	v.state()
	v.commits()
	v.claims()
	v.checkpoints()
	v.plans()
	v.schema()
	v.found.Add(r.Findings()...)
	return v.found.Findings()
}

type clusterVerifier struct {
	*clusterReader
	env   format.Env
	found report.Report
}

func (v *clusterVerifier) state() {
	var faults []pawl.Finding
	if v.clusterReader.state.shape == "" {
		faults = append(faults, pawl.Finding{Level: pawl.Bad, What: "STATE.md is missing or cannot be read", Where: v.grid + "STATE.md",
			Hint: "pawl import grid rebuilds it from the summaries and git"})
	}
	v.found.Check("STATE.md can be read ("+v.clusterReader.state.shape+")", faults)
}

// commits checks the commits that summaries and the checkpoint claim.
func (v *clusterVerifier) commits() {
	claimed := map[string]string{} // hash → where
	var hashes []string
	claim := func(hash, where string) {
		if _, known := claimed[hash]; hash != "" && !known {
			claimed[hash] = where
			hashes = append(hashes, hash)
		}
	}
	for _, b := range v.order() {
		for _, c := range b.Commits {
			claim(c.Hash, b.Where)
		}
		for _, t := range b.threads {
			claim(t.Commit, v.threadWhere(b))
		}
	}
	if v.env.HasCommit == nil {
		if len(hashes) > 0 {
			v.found.Check("", []pawl.Finding{{Level: pawl.Warn, What: fmt.Sprintf("%d commits are claimed, but there is no git repository to check", len(hashes))}})
		}
		return
	}
	var faults []pawl.Finding
	for _, hash := range hashes {
		if !hexWord.MatchString(strings.ToLower(hash)) || !v.env.HasCommit(hash) {
			faults = append(faults, pawl.Finding{Level: pawl.Bad, What: "the claimed commit " + oneline.Quote(hash) + " does not exist", Where: claimed[hash]})
		}
	}
	v.found.Check(fmt.Sprintf("all %d claimed commits exist", len(hashes)), faults)
}

// threadWhere returns the file that lists a block's threads.
func (v *clusterVerifier) threadWhere(b *block) string {
	if b.summary == "" && v.point != nil && v.point.block == b.id {
		return v.grid + "CHECKPOINT.md"
	}
	return b.Where
}

// claims checks the files that blocks claim, and reports planned files that were not created.
func (v *clusterVerifier) claims() {
	var faults, unmade []pawl.Finding
	seen := map[string]bool{}
	for _, b := range v.order() {
		for _, name := range b.claims() {
			if !seen[name] && v.env.Exists != nil && !v.env.Exists(name) {
				faults = append(faults, pawl.Finding{Level: pawl.Bad, What: "block " + b.id + " claims a file that does not exist: " + name, Where: v.threadWhere(b)})
			}
			seen[name] = true
		}
		unmade = append(unmade, v.missingFiles(b)...)
	}
	v.found.Check(fmt.Sprintf("all %d claimed files exist", len(seen)), faults)
	v.found.Add(unmade...)
}

// missingFiles reports the missing files that a complete block should have changed according to its plan.
func (v *clusterVerifier) missingFiles(b *block) []pawl.Finding {
	var found []pawl.Finding
	for _, name := range b.named {
		if b.complete() && v.env.Exists != nil && !strings.ContainsAny(name, "*?[$") && !v.env.Exists(name) {
			found = append(found, pawl.Finding{Level: pawl.Warn, What: "block " + b.id + " is complete, but its plan names a file that does not exist: " + name, Where: b.namedAt})
		}
	}
	return found
}

// claims returns the files that a block and its finished threads claim.
func (b *block) claims() []string {
	var names []string
	for _, c := range b.Claims {
		names = append(names, c.Path)
	}
	for _, t := range b.threads {
		if t.Status == pawl.ItemIsDone {
			names = append(names, t.Outputs...)
		}
	}
	return names
}

func (v *clusterVerifier) checkpoints() {
	var faults []pawl.Finding
	all := v.checkpointFiles()
	for _, f := range all[min(1, len(all)):] {
		faults = append(faults, pawl.Finding{Level: pawl.Bad, What: "there is more than one checkpoint", Where: f.Path, Evidence: all[0].Path, Hint: "archive one of them"})
	}
	v.found.Check("there is at most one checkpoint", faults)
}

func (v *clusterVerifier) plans() {
	var faults []pawl.Finding
	open := v.pending()
	for _, b := range open {
		if !b.planned {
			faults = append(faults, pawl.Finding{Level: pawl.Bad, What: "block " + b.id + " is pending and has no plan", Where: v.grid + "plans/"})
		}
	}
	v.found.Check(fmt.Sprintf("all %d pending blocks have a plan", len(open)), faults)
}
