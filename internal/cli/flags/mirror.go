package flags

import (
	"fmt"
	"strconv"
)

// Mirror is the value of --mirror. Giving it twice is an error, because a run has one mirror.
type Mirror string

// Set implements pflag.Value.
func (m *Mirror) Set(value string) error {
	if *m != "" {
		return fmt.Errorf("a run can have only one mirror; already set: %s", *m)
	}
	*m = Mirror(value)
	return nil
}

func (m *Mirror) String() string { return string(*m) }

// Type returns the placeholder in help.
func (m *Mirror) Type() string { return "SYSTEM[=PATH]" }

// Bool is the value of a flag for yes or no. Given tells a no from a flag that is missing.
type Bool struct{ Given, Value bool }

// Set implements pflag.Value.
func (b *Bool) Set(text string) (err error) {
	b.Given = true
	b.Value, err = strconv.ParseBool(text)
	return err
}

func (b *Bool) String() string { return strconv.FormatBool(b.Value) }

// Type is the name that help leaves out.
func (b *Bool) Type() string { return "bool" }
