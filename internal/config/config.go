// Package config reads a project's settings, .pawl/config.yaml, strictly: what it does not know it refuses, with line
// and column. It writes nothing.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/strictyaml"
)

// Config is what a project may set. Zero values stand for the defaults, which their users fill in.
type Config struct {
	Parallel  int           `yaml:"parallel,omitempty"`   // attempts at a time. Defaults to the plan's, then to the number of processors.
	OutputCap Size          `yaml:"output_cap,omitempty"` // kept of each output file. Defaults to 256MiB.
	Heartbeat pawl.Duration `yaml:"heartbeat,omitempty"`  // between two looks at an attempt. Defaults to 5m.
	Warning   pawl.Duration `yaml:"warning,omitempty"`    // without a heartbeat. Defaults to 10m.
	Stalled   pawl.Duration `yaml:"stalled,omitempty"`    // without a heartbeat. Defaults to 30m.

	PIDNamespace bool `yaml:"pid_namespace,omitempty"` // each attempt runs in a PID namespace of its own. Defaults to false.

	Snapshots Snapshots `yaml:"snapshots,omitempty"`
	Evaluator Evaluator `yaml:"evaluator,omitempty"` // asked where recovery's rules leave something open
}

// Snapshots says what is kept of the workspace's files.
type Snapshots struct {
	Quota  Size     `yaml:"quota,omitempty"`  // of the project's store. Defaults to 2GiB.
	Ignore []string `yaml:"ignore,omitempty"` // patterns as in .gitignore that come before all others; "!x" brings x back. Defaults to none.
	Off    bool     `yaml:"off,omitempty"`    // runs take none. Defaults to false.
}

// Read returns the settings in a file. A missing file is the zero Config; a wrong one is an error of pawl.KindUsage.
func Read(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read settings: %w", err)
	}
	var c Config
	file := strictyaml.Read("config file", data, &c)
	c.check(func(pointer any, format string, args ...any) {
		if file.Good(pointer) {
			file.Errorf(pointer, format, args...)
		}
	})
	if err := file.Err(path); err != nil {
		return Config{}, &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	return c, nil
}

// check says which of the given values make no sense.
func (c *Config) check(wrong func(pointer any, format string, args ...any)) {
	if c.Parallel < 1 {
		wrong(&c.Parallel, `"parallel" must be at least 1`)
	}
	for _, s := range []struct {
		value *Size
		key   string
	}{{&c.OutputCap, "output_cap"}, {&c.Snapshots.Quota, "quota"}} {
		if *s.value == 0 {
			wrong(s.value, "%q must be greater than 0; use a form such as 256MiB", s.key)
		}
	}
	for _, d := range []struct {
		value *pawl.Duration
		key   string
	}{{&c.Heartbeat, "heartbeat"}, {&c.Warning, "warning"}, {&c.Stalled, "stalled"}} {
		if *d.value == 0 {
			wrong(d.value, "%q must be greater than 0; use a form such as 90s, 4m or 1h30m", d.key)
		}
	}
	c.checkOrder(wrong)
	c.Evaluator.check(wrong)
}

// The defaults, as far as the others must fit to them.
const (
	defaultHeartbeat = pawl.Duration(5 * time.Minute)
	defaultWarning   = pawl.Duration(10 * time.Minute)
	defaultStalled   = pawl.Duration(30 * time.Minute)
)

// checkOrder sees to it that silence is longer than the time between two heartbeats: a healthy attempt would be ended.
func (c *Config) checkOrder(wrong func(pointer any, format string, args ...any)) {
	heartbeat, warning, stalled := cmp.Or(c.Heartbeat, defaultHeartbeat), cmp.Or(c.Warning, defaultWarning), cmp.Or(c.Stalled, defaultStalled)
	if warning <= heartbeat {
		const text = `"warning" (%s) must be more than "heartbeat" (%s)`
		wrong(&c.Heartbeat, text, warning, heartbeat)
		wrong(&c.Warning, text, warning, heartbeat)
	}
	if stalled <= warning {
		const text = `"stalled" (%s) must be more than "warning" (%s)`
		wrong(&c.Warning, text, stalled, warning)
		wrong(&c.Stalled, text, stalled, warning)
	}
}

// Size is a number of bytes, written like 256MiB or, without a unit, in bytes.
type Size int64

// units are the units of sizes. One that ends another comes after it.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// Notation says how sizes are written.
func (Size) Notation() (noun, example string) { return "a size", "use a form such as 256MiB" }

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	for _, unit := range units {
		digits, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil || n > math.MaxInt64/uint64(unit.bytes) {
			break
		}
		*s = Size(n) * Size(unit.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size; use a form such as 256MiB", text)
}
