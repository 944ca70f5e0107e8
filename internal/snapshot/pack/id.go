package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ID is the SHA-256 of an object's content, or of a commit record.
type ID [sha256.Size]byte

// IDOf returns the ID of content.
func IDOf(content []byte) ID { return sha256.Sum256(content) }

// ParseID parses 64 hex digits.
func ParseID(text string) (ID, error) {
	var id ID
	if len(text) != hex.EncodedLen(len(id)) {
		return id, fmt.Errorf("invalid object id %q: want %d hex digits", text, hex.EncodedLen(len(id)))
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return ID{}, fmt.Errorf("invalid object id %q: %w", text, err)
	}
	return id, nil
}

// String returns 64 hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns 64 hex digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses 64 hex digits.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}
