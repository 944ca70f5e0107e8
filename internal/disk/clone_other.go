//go:build !linux

package disk

import (
	"errors"
	"os"
)

// CloneFrom returns errors.ErrUnsupported.
func (f File) CloneFrom(*os.File, int64) error { return errors.ErrUnsupported }
