package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errNoFile means that at a path is neither a file nor a link to one.
var errNoFile = errors.New("it is no file")

func contentHash(path string, info fs.FileInfo) (string, error) {
	if !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0 {
		return "", errNoFile
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(file, maxHashed)); err != nil || n == maxHashed {
		return "", cmp.Or(err, fmt.Errorf("it is larger than %d bytes", int64(maxHashed)))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// maxHashed is the largest file that is hashed, in bytes.
const maxHashed = 512 << 20
