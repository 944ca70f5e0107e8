package disk

import (
	"crypto/rand"
	"encoding/hex"
)

// RandomHex returns n random bytes in hex, for names that must be unique and for tokens that must not be guessed.
func RandomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never returns an error
	return hex.EncodeToString(b)
}
