//go:build !linux

package disk

import "errors"

// PunchHole returns errors.ErrUnsupported.
func (f File) PunchHole(int64, int64) error { return errors.ErrUnsupported }
