package watchdog_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/watchdog"
)

// TestCell: a cell is warned about once for each cause, and the next cell again.
func TestCell(t *testing.T) {
	t.Parallel()
	limits := pawl.KernelWatch{Silent: pawl.Duration(60 * time.Second), Marker: pawl.Duration(90 * time.Second), Progress: pawl.Duration(30 * time.Second), Long: pawl.Duration(4 * time.Minute)}
	progress := "progress"
	start := time.Unix(1e9, 0)
	for name, c := range map[string]struct {
		limits pawl.KernelWatch
		before []string
		at     map[int]func(*watchdog.Cell, time.Time) // second → what happens
		want   map[int][]string
	}{
		"nothing happens": {limits, nil, nil,
			map[int][]string{60: {"no output for 1m"}, 90: {"no marker for 1m30s"}, 240: {"still running after 4m; its variables are saved when it ends"}}},
		"off": {pawl.KernelWatch{}, nil, nil, nil},
		"it prints, and stops": {limits, nil, map[int]func(*watchdog.Cell, time.Time){50: (*watchdog.Cell).Output},
			map[int][]string{90: {"no marker for 1m30s"}, 110: {"no output for 1m"}, 240: {"still running after 4m; its variables are saved when it ends"}}},
		"it reports progress, and stops": {pawl.KernelWatch{Progress: limits.Progress}, nil, map[int]func(*watchdog.Cell, time.Time){
			20: func(c *watchdog.Cell, now time.Time) {
				c.Reported(&pawl.Marker{Type: "STAGE", Subtype: &progress}, now)
			}, 40: func(c *watchdog.Cell, now time.Time) { c.Reported(nil, now) }},
			map[int][]string{70: {"no progress for 30s"}}},
		"a marker is not progress": {pawl.KernelWatch{Marker: limits.Marker, Progress: limits.Progress}, nil, map[int]func(*watchdog.Cell, time.Time){
			60: func(c *watchdog.Cell, now time.Time) { c.Reported(&pawl.Marker{Type: "DATA"}, now) }},
			map[int][]string{150: {"no marker for 1m30s"}}},
		"cells": {pawl.KernelWatch{Silent: limits.Silent}, nil, map[int]func(*watchdog.Cell, time.Time){
			70: func(c *watchdog.Cell, now time.Time) { c.Begin("2 (fit)", now) }},
			map[int][]string{60: {"no output for 1m"}, 130: {"cell 2 (fit): no output for 1m"}}},
		"it ends, and its variables are saved": {limits, nil, map[int]func(*watchdog.Cell, time.Time){
			50:  func(c *watchdog.Cell, _ time.Time) { c.End() },
			120: func(c *watchdog.Cell, now time.Time) { c.Begin("2 (fit)", now) }},
			map[int][]string{180: {"cell 2 (fit): no output for 1m"}, 210: {"cell 2 (fit): no marker for 1m30s"}}},
		"an engine warned before": {pawl.KernelWatch{Silent: limits.Silent}, []string{"cell 2 (fit): no output for 1m (at 10:00:00 UTC)"}, nil, nil},
	} {
		if idle := watchdog.WatchCell(c.limits, nil, time.Time{}); len(idle.Warnings(start)) > 0 {
			t.Errorf("%s: warnings before a cell begins", name)
		}
		cell, got := watchdog.WatchCell(c.limits, c.before, start), map[int][]string{}
		for second := range 300 {
			now := start.Add(time.Duration(second) * time.Second)
			if happens := c.at[second]; happens != nil {
				happens(cell, now)
			}
			if warnings := cell.Warnings(now); len(warnings) > 0 {
				got[second] = slices.Clone(warnings)
			}
		}
		if want := c.want; want == nil && len(got) > 0 || want != nil && !cmp.Equal(want, got) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
