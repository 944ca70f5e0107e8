package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Value is the value of a flag.
type Value interface {
	String() string
	Set(string) error
	Type() string
}

// Named is the value of a flag with the name of its type replaced: help prints the type as the placeholder.
type Named struct {
	Value
	Name string
}

// Type is what help prints as the name of the value.
func (v Named) Type() string { return v.Name }

// Need says that flags need something: "--update and --resume need".
func Need(given []string) string {
	if len(given) == 1 {
		return given[0] + " needs"
	}
	return strings.Join(given[:len(given)-1], ", ") + " and " + given[len(given)-1] + " need"
}

// CheckDefault returns an error if --default is not one of the values of --option.
func CheckDefault(byDefault string, options []string) error {
	switch {
	case byDefault == "" || slices.Contains(options, byDefault):
		return nil
	case len(options) == 0:
		return errors.New("--default needs --option")
	}
	return fmt.Errorf("--default %q is not one of the options: %s", byDefault, strings.Join(options, ", "))
}
