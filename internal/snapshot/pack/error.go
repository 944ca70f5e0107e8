package pack

import (
	"errors"
	"fmt"

	"pawl"
)

var (
	// ErrBatchEnded means that the batch was already committed or aborted.
	ErrBatchEnded = errors.New("the batch has ended")
	// ErrTooLarge means that an object or a record exceeds MaxObject or MaxRecord.
	ErrTooLarge = errors.New("too large for the snapshot store")
)

// MissingError means that an object is not in the store.
type MissingError struct{ ID ID }

// Error names the object.
func (e *MissingError) Error() string { return fmt.Sprintf("object %s is missing", e.ID) }

// Unwrap makes the error a pawl.Error of KindDamaged.
func (e *MissingError) Unwrap() error { return errDamaged }

// DamagedError means that the stored bytes of an object are damaged.
type DamagedError struct {
	ID     ID
	File   string
	Offset int64
	Why    string
}

// Error names the object and its location.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: byte %d: object %s: %s", e.File, e.Offset, e.ID, e.Why)
}

// Unwrap makes the error a pawl.Error of KindDamaged.
func (e *DamagedError) Unwrap() error { return errDamaged }

// errClosed means that the store was closed.
var errClosed = errors.New("the store is closed")

var errDamaged = &pawl.Error{Kind: pawl.KindDamaged, Err: errors.New("the snapshots are damaged"), Hint: "pawl verify"}
