package pack

import (
	"errors"
	"fmt"

	"pawl"
)

var (
	// ErrOver means that a batch has been committed or aborted.
	ErrOver = errors.New("the batch is over")
	// ErrTooLarge means that an object or a record is larger than the store takes.
	ErrTooLarge = errors.New("too large for the store")
)

// MissingError means that an object is not in the store.
type MissingError struct{ ID ID }

// Error names the object.
func (e *MissingError) Error() string { return fmt.Sprintf("object %s is missing", e.ID) }

// Unwrap makes it a case of damage.
func (e *MissingError) Unwrap() error { return errDamaged }

// DamagedError means that an object is in the store, but not as it was put there.
type DamagedError struct {
	ID     ID
	File   string
	Offset int64
	Why    string
}

// Error names the object and its place.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: byte %d: object %s: %s", e.File, e.Offset, e.ID, e.Why)
}

// Unwrap makes it a case of damage.
func (e *DamagedError) Unwrap() error { return errDamaged }

// errClosed means that the store was closed.
var errClosed = errors.New("the store is closed")

var errDamaged = &pawl.Error{Kind: pawl.KindDamaged, Err: errors.New("the snapshots are damaged"), Hint: "pawl verify"}
