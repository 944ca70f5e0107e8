package config

import (
	"slices"

	"pawl/internal/userdir"
)

// Agents says which commands attached agents may use, beside those that they may use anyway. It counts only in the user's
// own settings.
type Agents struct {
	Allow  []string `yaml:"allow,omitempty"`  // commands for persons that agents may use too. Defaults to none.
	Refuse []string `yaml:"refuse,omitempty"` // commands that agents may not use. Defaults to none.
}

// Mirrors says what counts of what others write into the files of another system. It counts only in the user's own
// settings.
type Mirrors struct {
	Answers bool `yaml:"answers,omitempty"` // answers to gates in mirrored files count as the user's. Defaults to false.
}

// UserFile returns the path of the user's own settings, which may be missing.
func UserFile() (string, error) { return userdir.Config("config.yaml") }

// ReadUser returns the user's own settings.
func ReadUser() (Config, error) {
	path, err := UserFile()
	if err != nil {
		return Config{}, nil // without a home folder there are no settings
	}
	return read(path, true)
}

// checkUser reports settings that count only in the user's own file.
func (c *Config) checkUser(wrong func(pointer any, format string, args ...any)) {
	if len(c.Agents.Allow)+len(c.Agents.Refuse) > 0 {
		wrong(&c.Agents, `"agents" counts only in your own settings`)
	}
	if c.Mirrors.Answers {
		wrong(&c.Mirrors, `"mirrors" counts only in your own settings`)
	}
}

// both returns a command that is allowed and refused, "" for none.
func (a Agents) both() string {
	for _, verb := range a.Allow {
		if slices.Contains(a.Refuse, verb) {
			return verb
		}
	}
	return ""
}
