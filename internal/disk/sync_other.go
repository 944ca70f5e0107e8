//go:build !linux

package disk

import "os"

// syncData calls Sync, which uses F_FULLFSYNC on macOS.
func syncData(f *os.File) error { return f.Sync() }

// SyncFileSystem returns false: on other systems sync(2) only starts writing.
func SyncFileSystem(string) (done bool, err error) { return false, nil }
