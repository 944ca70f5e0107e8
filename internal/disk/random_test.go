package disk_test

import (
	"encoding/hex"
	"testing"

	"pawl/internal/disk"
)

func TestRandomHexIsUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		text := disk.RandomHex(8)
		if b, err := hex.DecodeString(text); err != nil || len(b) != 8 || seen[text] {
			t.Fatalf("%q, %v", text, err)
		}
		seen[text] = true
	}
}
