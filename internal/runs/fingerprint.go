package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// Fingerprint returns a text that changes when the files change that tell how a project's runs stand: the list of runs, their journals,
// and the records of which runs are the user's own. It compares sizes and times, not contents.
func Fingerprint(p *project.Project) (string, error) {
	ids, err := journal.Runs(p.Runs())
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, run := range ids {
		for _, path := range []string{p.RunDir(run), filepath.Join(p.RunDir(run), journal.FileName), markPath(p, run)} {
			info, err := disk.Lstat(path)
			if err != nil {
				fmt.Fprintln(h, run, "-")
				continue
			}
			fmt.Fprintln(h, run, info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
