//go:build !linux

package storytest

import "github.com/rogpeppe/go-internal/testscript"

// terminalCommands are missing: only Linux has terminals for tests.
var terminalCommands = map[string]func(*testscript.TestScript, bool, []string){}
