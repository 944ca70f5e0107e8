package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// facts says what it is measured on. A disk that is none is refused.
func (b *bench) facts() (string, error) {
	disk, err := diskUnder(b.dir)
	if err != nil {
		return "", err
	}
	syncs, err := b.syncTime()
	if err != nil {
		return "", err
	}
	load := "unknown"
	if data, err := os.ReadFile("/proc/loadavg"); err == nil { // of Linux only
		load, _, _ = strings.Cut(string(data), " ")
	}
	return fmt.Sprintf("%s, %s/%s, %d processors (%s), kernel %s, %s; one write of 300 bytes + fdatasync there: %s; load before: %s.",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), release(), disk, syncs.Round(time.Microsecond), load), nil
}

// processor is the model's name, where the system says it.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none
	for text := range strings.Lines(string(data)) {
		if name, value, _ := strings.Cut(text, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown model"
}

func release() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// syncTime is the median of some bare appends, for people to know the disk.
func (b *bench) syncTime() (time.Duration, error) {
	f, err := b.bareFile()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var times []time.Duration
	for range 50 {
		begin := time.Now()
		if err := f.append(1); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	return median(times), nil
}
