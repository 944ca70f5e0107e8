package format

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of paths, in bytes.
const (
	maxPath = 4096
	maxName = 255
)

// Inside validates a path that was read from a file, and returns it cleaned, relative to the project's root. A path that leads out
// of the project, or could on some system, is an error: an absolute one, one with "..", one that begins with "~" or a drive, one
// with NUL or other control characters, and one that names a device.
func Inside(name string) (string, error) {
	clean := path.Clean(name)
	if why := cmp.Or(unsafe(name), unsafe(clean)); why != "" {
		return "", fmt.Errorf("%q is rejected: %s", short(name), why)
	}
	if clean == "." {
		return "", errors.New("an empty path is rejected")
	}
	return clean, nil
}

func unsafe(name string) string {
	switch {
	case len(name) > maxPath:
		return "it is too long"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "it contains control characters"
	case strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`) || len(name) > 1 && name[1] == ':':
		return "it is absolute"
	case strings.HasPrefix(name, "~"):
		return "it begins with the home folder"
	}
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == '\\' }) {
		switch {
		case part == "..":
			return "it leads out of its folder"
		case len(part) > maxName:
			return "it is too long"
		case isDevice(part):
			return "it names a device"
		}
	}
	return ""
}

// isDevice reports whether a name is a device on some system, whatever follows its first dot.
func isDevice(name string) bool {
	first, _, _ := strings.Cut(strings.ToUpper(name), ".")
	switch first = strings.TrimRight(first, " "); first {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	port, number := strings.CutPrefix(first, "COM")
	if !number {
		port, number = strings.CutPrefix(first, "LPT")
	}
	return number && len(port) == 1 && port[0] >= '0' && port[0] <= '9'
}

func short(name string) string {
	const enough = 80
	if len(name) <= enough {
		return name
	}
	return strings.ToValidUTF8(name[:enough], "") + "…"
}
