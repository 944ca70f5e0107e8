package watchdog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/supervise/process"
)

// Observe examines an attempt's lock, last heartbeat and supervisor process at the time now. About the step itself it
// knows only what the heartbeat contains.
func Observe(dir string, now time.Time) (Observation, error) {
	seen, err := observe(dir, now)
	if err != nil {
		return Observation{}, fmt.Errorf("observe attempt: %w", err)
	}
	return seen, nil
}

func observe(dir string, now time.Time) (Observation, error) {
	lock := filepath.Join(dir, pawl.LockFile)
	held, err := process.Locked(lock)
	if err != nil || !held {
		return Observation{}, err
	}
	seen := Observation{Held: true, Stopped: stopped(dir)}
	var beat pawl.Beat
	switch err := readJSON(filepath.Join(dir, pawl.BeatFile), &beat); {
	case err == nil:
		seen.Silence = silence(beat, process.Uptime(), now)
		seen.CPUSeconds, seen.OutputBytes = beat.CPUSeconds, beat.OutputBytes
	case errors.Is(err, fs.ErrNotExist): // no heartbeat yet: the lock is as old as the attempt
		info, err := disk.Lstat(lock)
		if err != nil {
			return Observation{}, err
		}
		seen.Silence = max(now.Sub(info.ModTime()), 0)
	default:
		return Observation{}, err
	}
	return seen, nil
}

// silence returns the age of beat, measured on a clock that stops while the machine sleeps. The lock is held, so the
// machine has not rebooted since.
func silence(beat pawl.Beat, uptime time.Duration, now time.Time) time.Duration {
	if beat.Uptime > 0 && uptime > 0 {
		return max(uptime-time.Duration(beat.Uptime*float64(time.Second)), 0)
	}
	return max(now.Sub(beat.Time), 0)
}

// stopped reports whether the supervisor is stopped by a signal or a debugger, as far as that is visible.
func stopped(dir string) bool {
	var begun pawl.Begun
	if err := readJSON(filepath.Join(dir, pawl.BegunFile), &begun); err != nil {
		return false
	}
	stat, err := process.Find(begun.Supervisor)
	return err == nil && stat.Stopped
}

// readJSON reads the first JSON value in a file.
func readJSON(path string, value any) error {
	f, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := firstValue(f, value); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func firstValue(r io.Reader, value any) error {
	return json.NewDecoder(io.LimitReader(r, disk.RecordLimit)).Decode(value)
}
