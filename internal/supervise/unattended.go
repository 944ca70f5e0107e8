package supervise

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// attendanceCheck is the longest interval between two looks at the engine's lock.
const attendanceCheck = time.Second

// unattended returns why a service must end: for too long no engine has worked on its run. Time asleep does not count.
func (s *supervisor) unattended() *pawl.Abort {
	limit := time.Duration(s.job.Orphan)
	if limit == 0 || time.Since(s.lockSeen) < min(attendanceCheck, limit/2) {
		return nil
	}
	s.lockSeen = time.Now()
	if s.attended() {
		s.attendedAt = s.lockSeen
	}
	if time.Since(s.attendedAt) < limit {
		return nil
	}
	return &pawl.Abort{Reason: pawl.ReasonOrphaned, Why: fmt.Sprintf("no pawl has worked on the run for %s", s.job.Orphan)}
}

// attended reports whether an engine works on the run: it holds the project, and says that it works on this run. If that cannot
// be found out, one does.
func (s *supervisor) attended() bool {
	path := filepath.Join(s.job.Root, s.job.EngineLock)
	held, err := process.Locked(path)
	if err != nil || !held {
		return err != nil
	}
	data, err := disk.ReadFile(path, disk.RecordLimit)
	var holder struct {
		Run pawl.RunID `json:"run"`
	}
	return err != nil || json.Unmarshal(data, &holder) != nil || holder.Run == "" || holder.Run == s.job.Run
}
