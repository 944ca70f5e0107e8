//go:build !linux

package disk

import (
	"errors"
	"os"
)

// CloneFrom gives the empty file the content of another one, without reading it. errors.ErrUnsupported: not here.
func (f File) CloneFrom(*os.File, int64) error { return errors.ErrUnsupported }
