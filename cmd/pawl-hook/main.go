//go:build !windows

// Command pawl-hook is pawl without everything that a hook and a supervisor do without. It starts in half the time. `pawl
// attach` writes it into agents' settings, and pawl starts supervisors with it, if it is in pawl's folder and was built
// from the same sources.
package main

import (
	"context"
	"fmt"
	"os"

	"pawl/internal/faststart"
	"pawl/internal/version"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if code, done := faststart.Run(context.Background(), args); done {
		return code
	}
	if len(args) == 1 && (args[0] == "version" || args[0] == "--version") {
		fmt.Println("pawl-hook version", version.Read())
		return 0
	}
	fmt.Fprintln(os.Stderr, "pawl-hook: error: only coding agents and pawl start this program\npawl-hook: hint: pawl --help")
	return 2
}
