package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/project"
)

// imports measures `pawl import` of folders with many checkpoints of other systems, the whole program, against reading the
// files that it reads.
func (b *bench) imports() ([]line, error) {
	n := b.full(10_000, 500)
	var lines []line
	for _, s := range []struct {
		system, what string
		make         func(root string, n int) error
	}{
		{"gyoshu", "checkpoints, each with an artifact", manyManifests},
		{"grid", "blocks, each with plan, summary and a file", manyBlocks},
	} {
		root := filepath.Join(b.dir, "import-"+s.system)
		if err := s.make(root, n); err != nil {
			return nil, err
		}
		var peak int64
		m, err := inTurns(b.full(7, 3), 1, func() (time.Duration, error) {
			if err := os.RemoveAll(filepath.Join(root, project.Folder)); err != nil {
				return 0, err
			}
			took, _, err := b.timed(root, nil, b.pawl, "import", s.system)
			peak = max(peak, took.peak)
			return took.time, err
		}, timed(func() error { return readAll(root) }))
		if err != nil {
			return nil, err
		}
		work := fmt.Sprintf("`pawl import %s` of %d %s: at most %s of memory", s.system, n, s.what, inMegabytes(peak))
		lines = append(lines, m.line(work, "reading these files", goal{}))
	}
	return lines, nil
}

// readAll reads every file of a project, one after the other.
func readAll(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == project.Folder:
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		_, err = os.ReadFile(path)
		return err
	})
}

// write makes a file with the folders above it.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// manyManifests makes a research whose hundred stages have been done again and again.
func manyManifests(root string, n int) error {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		artifact, text := fmt.Sprintf("data/%d.csv", i), fmt.Sprintf("%d\n", i)
		sum := sha256.Sum256([]byte(text))
		m := gyoshu.Manifest{
			CheckpointID: fmt.Sprintf("ckpt-%06d", i), Session: "ses_many", Title: "many", Run: "run-1", Stage: fmt.Sprintf("S%02d_run_part", i%100),
			Status: gyoshu.Saved, Trust: gyoshu.Local, Created: start.Add(time.Duration(i) * time.Second).Format("2006-01-02T15:04:05.000Z"),
			Notebook:    gyoshu.NotebookRef{Path: "notebooks/many.ipynb", Cell: fmt.Sprint("cell-", i)},
			Python:      gyoshu.Python{Path: "python3", Platform: "linux"},
			Artifacts:   []gyoshu.Artifact{{Path: artifact, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text))}},
			Rehydration: gyoshu.Rehydration{Mode: gyoshu.ArtifactsOnly},
		}
		manifest := filepath.Join(root, "reports/many/checkpoints/run-1", m.CheckpointID, "checkpoint.json")
		if err := write(filepath.Join(root, artifact), text); err != nil {
			return err
		}
		if err := write(manifest, string(m.Encode())); err != nil {
			return err
		}
	}
	return nil
}

// manyBlocks makes a cluster of phases of a hundred blocks, all of which are complete.
func manyBlocks(root string, n int) error {
	for i := 1; i <= n; i++ {
		id, folder := fmt.Sprintf("%05d", i), filepath.Join(root, ".grid/phases", fmt.Sprintf("%03d-part", (i+99)/100))
		for path, text := range map[string]string{
			filepath.Join(root, "src", id+".js"): "x\n",
			filepath.Join(folder, id+"-PLAN.md"): fmt.Sprintf("---\nid: %q\nwave: %d\nobjective: part %d\n---\n%s", id, i, i, strings.Repeat("Do it.\n", 20)),
			filepath.Join(folder, id+"-SUMMARY.md"): fmt.Sprintf("---\ncluster: many\nblock: %q\nstatus: complete\nartifacts_created:\n  - path: src/%s.js\n"+
				"    lines: 1\nlessons_learned:\n  gotchas: [\"part %d is odd\"]\n---\n", id, id, i),
		} {
			if err := write(path, text); err != nil {
				return err
			}
		}
	}
	state := fmt.Sprintf("---\ncluster: many\nstatus: interrupted\nposition: {phase: 1, block: %d, block_total: %d}\n---\n", n, n)
	return write(filepath.Join(root, ".grid/STATE.md"), state)
}
