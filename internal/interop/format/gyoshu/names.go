package gyoshu

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"pawl"
)

// The folders in a project.
const (
	notebooks = "notebooks"
	reports   = "reports"
)

func notebookPath(title string) string { return path.Join(notebooks, title+".ipynb") }

func manifestPath(title, run, id string) string {
	return path.Join(reports, title, "checkpoints", run, id, "checkpoint.json")
}

func loopPath(title string) string { return path.Join(reports, title, "auto", "loop-state.json") }

func queuePath(title, run string) string { return path.Join(reports, title, "queue", run+".json") }

func reportPath(title string) string { return path.Join(reports, title, "README.md") }

// maxSegment is the maximum length of a file name, in bytes.
const maxSegment = 255

// CheckSegment returns, in Gyoshu's words, why a text is not a valid name of a file or a folder: it is empty or too long,
// leads elsewhere, or names a device on Windows. It is empty for a valid one. name is the kind of name: reportTitle, runId,
// checkpointId.
//
// Gyoshu normalizes the text to NFC. The only other character that composes to a rejected name is the kelvin sign, which
// composes to K.
func CheckSegment(name, segment string) string {
	switch {
	case segment == "":
		return fmt.Sprintf("%s is required and must be a string", name)
	case strings.TrimSpace(segment) == "":
		return fmt.Sprintf("Invalid %s: cannot be empty or whitespace", name)
	case strings.Contains(segment, "..") || strings.ContainsAny(segment, `/\`) || segment == ".":
		return fmt.Sprintf("Invalid %s: contains path traversal characters", name)
	case strings.ContainsRune(segment, 0):
		return fmt.Sprintf("Invalid %s: contains null byte", name)
	case len(segment) > maxSegment:
		return fmt.Sprintf("Invalid %s: exceeds maximum length of %d bytes", name, maxSegment)
	case strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " "):
		return fmt.Sprintf("Invalid %s: ends with a dot or a space", name)
	case isDevice(segment):
		return fmt.Sprintf("%s contains Windows reserved name: %s", name, segment)
	}
	return ""
}

// isDevice reports whether Windows takes a name for a device, with any extension.
func isDevice(segment string) bool {
	base, _, _ := strings.Cut(segment, ".")
	base = strings.ToUpper(strings.ReplaceAll(strings.TrimRight(base, " "), "\u212a", "K"))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	port, isPort := strings.CutPrefix(base, "COM")
	if !isPort {
		port, isPort = strings.CutPrefix(base, "LPT")
	}
	return isPort && utf8.RuneCountInString(port) == 1 && strings.Contains("123456789¹²³", port)
}

// CheckPath returns why a path does not name a file in the project: it is absolute, leads out or to a device, or is not
// clean. It is empty for a valid path.
func CheckPath(relative string) string {
	if relative == "" {
		return "Artifact path cannot be empty"
	}
	if strings.HasPrefix(relative, "/") || strings.HasPrefix(relative, `\`) || hasDrive(relative) {
		return fmt.Sprintf("Absolute paths not allowed: %s", relative)
	}
	for segment := range strings.SplitSeq(relative, "/") {
		if segment == ".." || segment == "." {
			return fmt.Sprintf("Path traversal detected: %s", relative)
		}
		if issue := CheckSegment("artifact path", segment); issue != "" {
			return issue + " in " + relative
		}
	}
	return ""
}

// hasDrive reports whether a path begins with a Windows drive.
func hasDrive(p string) bool {
	return len(p) > 1 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// titleOf returns the title of a run's notebook and reports: the run's name if it is valid as a title and in a marker, which
// has no escapes; else its valid characters.
func titleOf(name string) string {
	if CheckSegment("reportTitle", name) == "" && inMarker(name) {
		return name
	}
	if slug := pawl.SlugOf(name); CheckSegment("reportTitle", slug) == "" {
		return slug
	}
	return "run-" + strings.Trim(pawl.SlugOf(name), ".")
}

// inMarker reports whether a text is valid as the value of an attribute in a marker.
func inMarker(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return r == ':' || r == ']' || r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029'
	}) < 0
}
