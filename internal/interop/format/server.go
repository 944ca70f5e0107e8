package format

import "pawl/internal/interop/tables/dump"

// ServerFile is the name that stands for the user's database server where the name of a file with tables is expected.
const ServerFile = "postgres:"

// A Server is a database server with tables. root is the folder of the project that asks: settings in it do not count.
type Server interface {
	// Dump returns the existing ones of these tables as SQL text; nothing if there are none.
	Dump(root string, parts []dump.Part) ([]byte, error)
	// Apply applies to the database the difference between two texts: was, which Dump returned for these parts, and now. It is one
	// transaction, and returns ErrChanged if someone else has changed the rows.
	Apply(root string, parts []dump.Part, was, now []byte) error
	// Stamp returns a text that changes whenever a row of the parts that are limited to a value is written.
	Stamp(root string, parts []dump.Part) (string, error)
	// Hear returns a channel that gets a value when somebody else announces that the rows have changed, or may have. stop ends that.
	Hear(root string, parts []dump.Part) (heard <-chan struct{}, stop func())
}
