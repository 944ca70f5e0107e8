package sqlite

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ncruces/go-sqlite3"

	"pawl"
)

// plainly explains why a database cannot be read or written, with a hint. It returns other errors unchanged.
func plainly(path string, err error) error {
	wrong := func(kind pawl.Kind, what, hint string) error {
		return &pawl.Error{Kind: kind, Err: errors.New(what), Hint: fmt.Sprintf(hint, path)}
	}
	switch {
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		return wrong(pawl.KindHeld, "another program has locked it, and did not let go of it for 5 seconds", "wait until nothing writes to %s any more, and try again")
	case errors.Is(err, sqlite3.NOTADB):
		return wrong(pawl.KindUsage, "it is no SQLite database, or an encrypted one", "name another file than %s")
	case errors.Is(err, sqlite3.CORRUPT):
		return wrong(pawl.KindDamaged, "it is damaged, or was copied only in part", "bring back a copy, or: sqlite3 %s .recover > recovered.sql")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, sqlite3.PERM), errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, sqlite3.READONLY):
		return wrong(pawl.KindUsage, "it may not be opened", "see who may read and write %s and its folder, for instance with: chmod u+rw")
	}
	return err
}
