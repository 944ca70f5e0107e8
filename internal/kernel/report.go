package kernel

import (
	"encoding/json"
	"path/filepath"

	"pawl/internal/disk"
)

// Report says where an attempt at a kernel step ended, for those who look at the attempt later.
type Report struct {
	Executed int    `json:"execution_count"`     // of the last cell that ended; 0: unknown
	InFlight string `json:"in_flight,omitempty"` // name of the cell that did not finish
	Code     string `json:"code,omitempty"`      // of that cell
	Output   string `json:"output,omitempty"`    // the end of what that cell put out
	Stacks   string `json:"stacks,omitempty"`    // of the kernel's threads when it was interrupted
}

// reportFile is the report's file in the folder of the attempt.
const reportFile = "kernel.json"

// maxReport limits the file, in bytes.
const maxReport = 4 << 20

// Write writes the report of the attempt in a folder.
func (r Report) Write(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(dir, reportFile), data)
}

// ReadReport returns the report of the attempt in a folder; a zero one if there is none.
func ReadReport(dir string) (r Report) {
	data, err := disk.ReadFile(filepath.Join(dir, reportFile), maxReport)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return Report{}
	}
	return r
}
