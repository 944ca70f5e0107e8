package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestAuditParts: two servers write lines while the file is split again and again. Each line is there once, in order, in a file of limited
// size.
func TestAuditParts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const lines, most = 200, 1000
	var writers sync.WaitGroup
	for name := range 2 {
		a := &audit{path: filepath.Join(folder, "audit.jsonl"), partSize: most}
		writers.Go(func() {
			for i := range lines {
				if err := a.append(fmt.Appendf(nil, "%d %03d", name, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	parts, err := filepath.Glob(filepath.Join(folder, "audit-*.jsonl"))
	if err != nil || len(parts) < 2*lines*6/(2*most) {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	next := [2]int{}
	for _, part := range append(parts, filepath.Join(folder, "audit.jsonl")) {
		data, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(part); err != nil || info.Mode().Perm() != 0o600 || info.Size() > most+100 {
			t.Errorf("%s: %d bytes, %v, %v", part, info.Size(), info.Mode(), err)
		}
		for line := range strings.Lines(string(data)) {
			var name, i int
			if _, err := fmt.Sscanf(line, "%d %d", &name, &i); err != nil || next[name] != i {
				t.Fatalf("%s: %q, want %d; %v", part, line, next[name], err)
			}
			next[name]++
		}
	}
	if !slices.Equal(next[:], []int{lines, lines}) {
		t.Errorf("%d lines", next)
	}
}

// TestAuditOfDeadServer: a server was killed between the rename and the first line of the new file, or while it wrote a line.
func TestAuditOfDeadServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	a := &audit{path: filepath.Join(folder, "audit.jsonl"), partSize: 10}
	for _, line := range []string{"one one one", "two"} {
		if err := a.append([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(a.path, []byte("two\ntor"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.append([]byte("three")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(a.path); string(data) != "two\ntor\nthree\n" {
		t.Errorf("%q, %v", data, err)
	}
}
