// Command manual writes what a package of pawl contains beyond the programs, into a folder: a man page for each command, and the unit of
// `pawl serve` for the user's systemd.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"

	"pawl/internal/cli"
	"pawl/internal/interop"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/grid"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/interop/format/projectstate"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/schedule"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manual VERSION FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes the files of a version into a folder. They have the time of SOURCE_DATE_EPOCH, if it is set.
func write(version, folder string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	date := time.Unix(seconds, 0).UTC()
	if err != nil {
		date = time.Now().UTC()
	}
	pages := filepath.Join(folder, "man")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	root := cli.Commands(cli.Parts{Formats: interop.Formats{grid.Format(), dotagent.Format(), sitebuilder.Format(), projectstate.Format(), gyoshu.Format()}})
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "pawl " + version, Manual: "pawl"}
	if err := doc.GenManTree(root, header, pages); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, schedule.ServiceUnit), []byte(unit()), 0o644)
}

// unit returns the unit of a package, which starts the program where the package installs it.
func unit() string {
	text := schedule.Service{Program: "/usr/bin/pawl", Args: []string{"serve", "--listen", "127.0.0.1:7778"}}.Unit()
	_, text, _ = strings.Cut(text, "\n") // it says that a command wrote the unit, as does its last section
	text, _, _ = strings.Cut(text, "\n[X-Pawl]")
	return text
}
