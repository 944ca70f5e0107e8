// Package config reads a project's settings, .pawl/config.yaml. It rejects unknown keys and invalid values, with line
// and column. It writes nothing.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/stepenv"
	"pawl/internal/strictyaml"
)

// Config is a project's settings. A zero value means the default, which the code that uses the setting fills in.
type Config struct {
	Parallel  int           `yaml:"parallel,omitempty"`   // maximum concurrent attempts. Defaults to the plan's value, then to the number of processors.
	OutputCap Size          `yaml:"output_cap,omitempty"` // maximum size of each output file. Defaults to 256MiB.
	Heartbeat pawl.Duration `yaml:"heartbeat,omitempty"`  // interval between heartbeats of an attempt. Defaults to 5m.
	Warning   pawl.Duration `yaml:"warning,omitempty"`    // warn after this long without a heartbeat. Defaults to 10m.
	Stalled   pawl.Duration `yaml:"stalled,omitempty"`    // an attempt counts as stalled after this long without a heartbeat. Defaults to 30m.

	PIDNamespace bool `yaml:"pid_namespace,omitempty"` // run each attempt in a PID namespace of its own. Defaults to false.

	Snapshots Snapshots `yaml:"snapshots,omitempty"`
	Evaluator Evaluator `yaml:"evaluator,omitempty"` // program or model that judges what recovery's rules leave open

	Agents  Agents  `yaml:"agents,omitempty"`  // commands that attached agents may use; only in the user's own settings
	Mirrors Mirrors `yaml:"mirrors,omitempty"` // answers in mirrored files; only in the user's own settings

	Traces Traces        `yaml:"traces,omitempty"` // collector of traces; only in the user's own settings
	Notify []pawl.Notify `yaml:"notify,omitempty"` // notifications of every run; only in the user's own settings

	Webhooks []Webhook `yaml:"webhooks,omitempty"` // receivers of `pawl serve`; only in the user's own settings

	Gates GatePolicy `yaml:"gates,omitempty"`  // who may answer gates; only in the user's own settings. Defaults to every person.
	RunAs string     `yaml:"run_as,omitempty"` // the system user that executes steps, if pawl runs as root; only in the user's own settings. Defaults to pawl's own.

	Proxy Proxy `yaml:"proxy,omitempty"` // who the clients of pawl serve --behind-proxy are; only in the user's own settings

	TakeOver pawl.Duration `yaml:"take_over,omitempty"` // how long a run in the database may be without an engine before pawl serve continues it on another host; only in the user's own settings. Defaults to never.

	Remotes Remotes `yaml:"remotes,omitempty"` // how remotes are reached; only in the user's own settings

	Postgres string `yaml:"postgres,omitempty"` // DSN of the database for runs; only in the user's own settings. Defaults to PAWL_POSTGRES.

	Temporal Temporal `yaml:"temporal,omitempty"` // server that carries steps to workers; only in the user's own settings. Defaults to none.
}

// Snapshots configures the snapshots of the workspace.
type Snapshots struct {
	Quota   Size     `yaml:"quota,omitempty"`   // maximum size of the project's store. Defaults to 2GiB.
	Ignore  []string `yaml:"ignore,omitempty"`  // patterns as in .gitignore that precede all others; "!x" includes x. Defaults to none.
	Derived bool     `yaml:"derived,omitempty"` // store also folders that tools can make again, such as node_modules. Defaults to false.
	Off     bool     `yaml:"off,omitempty"`     // runs take no snapshots. Defaults to false.

	Every pawl.Duration `yaml:"every,omitempty"` // the longest time that a run with running steps has no checkpoint. Defaults to 4m.
}

// Read returns the settings in a project's file. A missing file is the zero Config; an invalid one is an error of
// pawl.KindUsage.
func Read(path string) (Config, error) { return read(path, false) }

// read reads the user's own settings, or those of a project.
func read(path string, own bool) (Config, error) {
	data, err := disk.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read settings: %w", err)
	}
	return parse(path, data, own)
}

// parse returns the settings in the content of a file; path is for messages.
func parse(path string, data []byte, own bool) (Config, error) {
	var c Config
	file := strictyaml.Read("config file", data, &c)
	wrong := func(pointer any, format string, args ...any) {
		if file.Good(pointer) {
			file.Errorf(pointer, format, args...)
		}
	}
	c.check(wrong)
	checkWebhooks(c.Webhooks, wrong)
	if stepenv.CheckNotify(c.Notify, wrong); !own {
		c.checkUser(wrong)
	} else {
		c.checkOwn(wrong)
	}
	if err := file.Err(path); err != nil {
		return Config{}, &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	return c, nil
}

// check reports invalid values among those that the file sets.
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
	}{{&c.Heartbeat, "heartbeat"}, {&c.Warning, "warning"}, {&c.Stalled, "stalled"}, {&c.Snapshots.Every, "every"}} {
		if *d.value == 0 {
			wrong(d.value, "%q must be greater than 0; use a form such as 90s, 4m or 1h30m", d.key)
		}
	}
	c.checkOrder(wrong)
	c.Evaluator.check(wrong)
}

// DefaultHeartbeat is the interval between heartbeats.
const DefaultHeartbeat = pawl.Duration(5 * time.Minute)

// Defaults that other settings must be consistent with.
const (
	defaultWarning = pawl.Duration(10 * time.Minute)
	defaultStalled = pawl.Duration(30 * time.Minute)
)

// checkOrder requires thresholds longer than the heartbeat interval: otherwise healthy attempts would be ended.
func (c *Config) checkOrder(wrong func(pointer any, format string, args ...any)) {
	heartbeat, warning, stalled := cmp.Or(c.Heartbeat, DefaultHeartbeat), cmp.Or(c.Warning, defaultWarning), cmp.Or(c.Stalled, defaultStalled)
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

// Size is a number of bytes, written like 256MiB, or without unit for bytes.
type Size int64

// Notation describes the notation of sizes for error messages.
func (Size) Notation() (noun, example string) { return "a size", "use a form such as 256MiB" }

// UnmarshalText parses a size.
func (s *Size) UnmarshalText(text []byte) error {
	bytes, err := strictyaml.ParseSize(string(text))
	*s = Size(bytes)
	return err
}
