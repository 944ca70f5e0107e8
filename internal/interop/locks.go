package interop

import (
	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/sessionlock"
)

// lockPaths returns the paths of the lock files for the files of a run; a nil run means all files.
func lockPaths(f format.Format, files format.Files, run *pawl.State) []string {
	folder := sessionlock.FolderHere()
	if f.Locks == nil || folder == "" {
		return nil
	}
	return f.Locks(files, run, folder)
}

// lock takes the locks of the system's sessions for the files of a run, and returns what releases them. It fails while a session holds
// one.
func (m *Mirror) lock(files format.Files, run *pawl.State) (release func() error, err error) {
	return sessionlock.Take(lockPaths(m.Format, files, run))
}

// lockFindings returns a finding for each lock file: who holds it, or that it is stale.
func lockFindings(f format.Format, files format.Files) []pawl.Finding {
	var found []pawl.Finding
	for _, l := range sessionlock.Find(lockPaths(f, files, nil)) {
		finding := pawl.Finding{Level: pawl.Warn, Where: l.Path, What: "lock held: " + l.Why}
		if !l.Held {
			finding.What, finding.Hint = "stale lock: "+l.Why, "remove it"
		}
		found = append(found, finding)
	}
	return found
}
