package resume

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pawl/internal/disk"
)

// ErrNotFile means that a path is neither a regular file nor a link to one.
var ErrNotFile = errors.New("not a regular file")

func ContentHash(path string, info fs.FileInfo) (string, error) {
	if !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return "", ErrNotFile
	}
	file, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(file, MaxHashed)); err != nil || n == MaxHashed {
		return "", cmp.Or(err, fmt.Errorf("larger than %d bytes", int64(MaxHashed)))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// MaxHashed is the maximum size of a file that is hashed, in bytes.
const MaxHashed = 512 << 20
