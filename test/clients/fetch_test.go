package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// tarball packs files as npm does.
func tarball(t *testing.T, files ...*tar.Header) []byte {
	t.Helper()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	all := tar.NewWriter(zip)
	for _, header := range files {
		content := []byte("content of " + header.Name)
		header.Size = int64(len(content))
		if header.Typeflag != tar.TypeReg {
			header.Size, content = 0, nil
		}
		if err := all.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := all.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func TestUnpackWritesFilesWithTheirModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "unpacked")
	packed := tarball(t,
		&tar.Header{Name: "package/package.json", Mode: 0o644, Typeflag: tar.TypeReg},
		&tar.Header{Name: "package/bin/tool", Mode: 0o755, Typeflag: tar.TypeReg},
		&tar.Header{Name: "package/link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink},
	)
	if err := unpack(packed, dir); err != nil {
		t.Fatal(err)
	}
	for name, executable := range map[string]bool{"package.json": false, "bin/tool": true} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if is := info.Mode()&0o100 != 0; is != executable {
			t.Errorf("%s: executable %v, want %v", name, is, executable)
		}
	}
	if exists(filepath.Join(dir, "link")) {
		t.Error("a link was unpacked")
	}
}

func TestUnpackStaysInItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	packed := tarball(t, &tar.Header{Name: "package/../../../escaped", Mode: 0o644, Typeflag: tar.TypeReg})
	if err := unpack(packed, filepath.Join(dir, "a", "unpacked")); err == nil {
		t.Error("a path that leads out was taken")
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*", "escaped")); err != nil || len(names) > 0 {
		t.Errorf("written outside: %v %v", names, err)
	}
}

// fakeNPM puts a program named npm before all others, which does what script says.
func fakeNPM(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestFetchRefusesAnotherTarball(t *testing.T) {
	fakeNPM(t, "echo once >> ../../../tries; echo not what was agreed on > x.tgz")
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	r := release{spec: "@some/agent@1.2.3", integrity: "sha512-other"}
	err := r.fetch(t.Context(), cache, os.Stdout)
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("checksum is sha512-")) {
		t.Errorf("another tarball: %v", err)
	}
	said, err := os.ReadFile(filepath.Join(dir, "tries"))
	if err != nil || string(said) != "once\nonce\nonce\n" {
		t.Errorf("tried %q, %v; want three times", said, err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}

func TestFetchSaysWhatNpmSaid(t *testing.T) {
	fakeNPM(t, "echo no such registry >&2; exit 7")
	err := release{spec: "agent@1"}.fetch(t.Context(), t.TempDir(), os.Stdout)
	for _, want := range []string{"npm pack agent@1", "exit status 7", "no such registry", "tried 3 times"} {
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestReleasesArePinned(t *testing.T) {
	t.Parallel()
	var folders []string
	for _, a := range agents() {
		if len(a.from.integrity) != len("sha512-")+88 {
			t.Errorf("%s: %q is no SHA-512", a.name, a.from.integrity)
		}
		folders = append(folders, a.from.folder("cache"))
	}
	slices.Sort(folders)
	if len(slices.Compact(folders)) != len(agents()) {
		t.Errorf("two agents share a folder: %v", folders)
	}
}
