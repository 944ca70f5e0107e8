//go:build !linux

package disk

// StartWriteback does nothing.
func (f File) StartWriteback(int64, int64) {}
