package process

import "errors"

// HasLock fails: macOS does not report lock holders.
func HasLock(int, string) (bool, error) {
	return false, errors.New("macOS does not report which process holds a lock")
}

// PathOf is not supported: if a project is moved while a step runs, the step's record is lost.
func PathOf(int) (string, error) { return "", errors.ErrUnsupported }
