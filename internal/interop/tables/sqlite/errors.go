package sqlite

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ncruces/go-sqlite3"

	"pawl"
)

// explain replaces errors of SQLite that a user can fix with a plain text and a hint. It returns other errors unchanged.
func explain(path string, err error) error {
	wrong := func(kind pawl.Kind, what, hint string) error {
		return &pawl.Error{Kind: kind, Err: errors.New(what), Hint: fmt.Sprintf(hint, path)}
	}
	switch {
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED):
		return wrong(pawl.KindHeld, "locked by another program for more than 5 seconds", "wait until no program writes to %s, then try again")
	case errors.Is(err, sqlite3.NOTADB):
		return wrong(pawl.KindUsage, "not an SQLite database, or encrypted", "pass another file than %s")
	case errors.Is(err, sqlite3.CORRUPT):
		return wrong(pawl.KindDamaged, "the database is damaged or incomplete", "restore a backup, or run: sqlite3 %s .recover > recovered.sql")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, sqlite3.PERM), errors.Is(err, sqlite3.CANTOPEN), errors.Is(err, sqlite3.READONLY):
		return wrong(pawl.KindUsage, "cannot open the database", "check the permissions of %s and its folder")
	}
	return err
}
