package attach

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pawl/internal/disk"
	"pawl/internal/textedit/tomledit"
)

// trust is a hook that Codex runs only after its user has trusted it.
type trust struct {
	event        string
	group, index int
	matcher      any
	handler      any
}

// key is the name of the hook in Codex's config.toml.
func (t trust) key(file string) string {
	return fmt.Sprintf("%s:%s:%d:%d", file, snake(t.event), t.group, t.index)
}

// snake writes SessionStart as session_start.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// codexShort are the events for which Codex waits no longer than codexShortSeconds, whatever the timeout says.
var codexShort = []string{"SessionEnd", "Interrupt"}

const codexShortSeconds = 3

// hash is what Codex 0.169 records of a trusted hook: the SHA-256 of the event, matcher and command in JSON with
// sorted keys.
func (t trust) hash() string {
	given, _ := t.handler.(map[string]any)
	timeout, _ := given["timeout"].(float64)
	if slices.Contains(codexShort, t.event) {
		timeout = min(timeout, codexShortSeconds)
	}
	handler := map[string]any{"type": "command", "command": given["command"], "timeout": timeout, "async": given["async"] == true}
	identity := map[string]any{"event_name": snake(t.event), "hooks": []any{handler}}
	if t.matcher != nil {
		identity["matcher"] = t.matcher
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(identity); err != nil {
		return ""
	}
	sum := sha256.Sum256(bytes.TrimSpace(b.Bytes()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// codexSettings reads the user's config.toml; it is empty if it cannot be read.
func (p Setup) codexSettings() (tomledit.Doc, string) {
	path := filepath.Join(p.home("CODEX_HOME", ".codex"), "config.toml")
	data, err := disk.ReadFile(path, largest)
	if err != nil {
		return tomledit.Doc{}, path
	}
	doc, err := tomledit.Read(data)
	if err != nil {
		return tomledit.Doc{}, path
	}
	return doc, path
}

// untrusted counts the hooks in a file that Codex does not run: never trusted, changed since, and disabled.
func untrusted(config tomledit.Doc, file string, trusts []trust) (never, other, off int) {
	for _, t := range trusts {
		state, _ := config.Get("hooks", "state", t.key(file)).(map[string]any)
		switch {
		case state["enabled"] == false:
			off++
		case state["trusted_hash"] == nil:
			never++
		case state["trusted_hash"] != t.hash():
			other++
		}
	}
	return never, other, off
}
