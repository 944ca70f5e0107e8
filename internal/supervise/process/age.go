package process

import "time"

// Age returns how long ago a process started, including time asleep.
func (s Stat) Age() time.Duration {
	return max(0, Uptime()+Asleep()-StartedAt(s.Start))
}
