package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"

	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/trust"
)

// maxFile is the number of bytes that are read of a settings file.
const maxFile = 1 << 20

// Of returns the settings that count in a project: the user's own and, over them, those of the project's file. The evaluator of the
// project's file counts only after Allow, because it runs a command or sends data to a URL.
func Of(p *project.Project) (Config, error) {
	user, err := ReadUser(p.Root)
	if err != nil {
		return Config{}, err
	}
	own, err := Read(p.Config())
	if err != nil {
		return Config{}, err
	}
	if own.Evaluator == (Evaluator{}) || !allowed(p) {
		own.Evaluator = user.Evaluator
	}
	own.over(user)
	return own, nil
}

// over fills in the settings that c does not set.
func (c *Config) over(user Config) {
	c.Notify, c.Traces, c.Gates, c.RunAs, c.Temporal = user.Notify, user.Traces, user.Gates, user.RunAs, user.Temporal
	c.Parallel = cmp.Or(c.Parallel, user.Parallel)
	c.OutputCap = cmp.Or(c.OutputCap, user.OutputCap)
	if c.Heartbeat == 0 && c.Warning == 0 && c.Stalled == 0 { // they must be consistent with each other
		c.Heartbeat, c.Warning, c.Stalled = user.Heartbeat, user.Warning, user.Stalled
	}
	c.PIDNamespace = c.PIDNamespace || user.PIDNamespace
	c.Snapshots.Quota = cmp.Or(c.Snapshots.Quota, user.Snapshots.Quota)
	c.Snapshots.Off = c.Snapshots.Off || user.Snapshots.Off
	c.Snapshots.Derived = c.Snapshots.Derived || user.Snapshots.Derived
	c.Snapshots.Every = cmp.Or(c.Snapshots.Every, user.Snapshots.Every)
	c.Snapshots.Ignore = append(c.Snapshots.Ignore, user.Snapshots.Ignore...)
}

// Withheld returns the settings of the project's file that do not count until the user allows the file: those that name a command, a
// URL or a model. An unreadable file has none.
func Withheld(p *project.Project) []string {
	c, err := Read(p.Config())
	if err != nil || c.Evaluator == (Evaluator{}) || allowed(p) {
		return nil
	}
	texts := []string{"evaluator.provider: " + string(c.Evaluator.Provider)}
	for _, s := range []struct{ key, value string }{
		{"command", c.Evaluator.Command}, {"model", c.Evaluator.Model}, {"base_url", c.Evaluator.BaseURL},
	} {
		if s.value != "" {
			texts = append(texts, "evaluator."+s.key+": "+s.value)
		}
	}
	return texts
}

// allowed reports whether the user has allowed the content that the project's file has now.
func allowed(p *project.Project) bool {
	sum, err := sumOf(p)
	return err == nil && p.Trust.Trusted() && p.Trust.Config == sum
}

// Allow makes all settings of the project's file count, as long as its content stays the same.
func Allow(p *project.Project) error {
	sum, err := sumOf(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.Trust.Update(func(r *trust.Record) { r.Config = sum })
}

func sumOf(p *project.Project) (string, error) {
	data, err := disk.ReadFile(p.Config(), maxFile)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
