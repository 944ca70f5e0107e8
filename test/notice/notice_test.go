package main

import (
	"bytes"
	"os"
	"testing"
)

// TestNoticeIsCurrent compares NOTICE with the licenses of the modules that the binary links.
func TestNoticeIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := notice("pawl/cmd/pawl")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Error("NOTICE is out of date: run `make notice`")
	}
}
