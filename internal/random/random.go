// Package random makes names that nobody else has: of runs, attempts, checkpoints, sessions, and of files that stand for a moment.
package random

import (
	"crypto/rand"
	"encoding/hex"
)

// Hex returns so many random bytes, as two hex digits each. Who knows others knows nothing of it.
func Hex(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b) // never fails, says crypto/rand
	return hex.EncodeToString(b)
}
