//go:build !linux

package agentstest

import "os/exec"

// die does nothing: this system cannot make a command die with its parent.
func (a *Agent) die(*exec.Cmd) {}
