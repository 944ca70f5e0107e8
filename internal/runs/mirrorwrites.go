package runs

import (
	"encoding/json"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/project"
)

// RemovedFile stands for the hash of a file that pawl removed.
const RemovedFile = "removed"

// MirrorWrites returns what pawl itself last wrote to the files of a run's mirror: by path relative to the project, the
// SHA-256 of the content, or RemovedFile. It is empty if that is unknown.
func MirrorWrites(p *project.Project, run pawl.RunID) map[string]string {
	var cache struct {
		Written map[string]string `json:"written"`
	}
	data, err := disk.ReadFile(p.MirrorFile(run), disk.ViewLimit)
	if err != nil || json.Unmarshal(data, &cache) != nil {
		return nil
	}
	return cache.Written
}
