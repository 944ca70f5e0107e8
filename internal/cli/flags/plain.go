package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/strictyaml"
)

// Plain returns an error of parsing flags in plain words: an unknown flag with the one that the user probably meant, and a wrong
// value with the name of its flag. usages is the list of flags in the help of the command. Other errors stay as they are.
func Plain(err error, usages string) error {
	if bad, ok := errors.AsType[badNumber](err); ok {
		return bad
	}
	if name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		if near := strictyaml.Nearest(name, names(usages)); near != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	// pflag prints: invalid argument "x" for "-o, --output" flag: …
	if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "invalid argument ") {
		head := strings.TrimSuffix(err.Error(), `" flag: `+cause.Error())
		name := head[strings.LastIndex(head, "--"):]
		if errors.Is(cause, strconv.ErrSyntax) {
			return fmt.Errorf("%s must be true or false", name)
		}
		return fmt.Errorf("%s: %w", name, cause)
	}
	return err
}

// names returns the names of the flags in a list such as that of a help.
func names(usages string) (list []string) {
	for line := range strings.Lines(usages) {
		fields := strings.Fields(line)
		for _, field := range fields[:min(len(fields), 2)] {
			if name, ok := strings.CutPrefix(field, "--"); ok {
				name, _, _ = strings.Cut(name, "[") // --wait[=DURATION]
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return list
}
