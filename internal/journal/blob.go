package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
)

const blobFolder = "blobs"

// PutBlob stores data that is too large for an event, and returns its SHA-256, by which an event can refer to it. The
// blob is durable when PutBlob returns.
func (l *Log) PutBlob(data []byte) (string, error) {
	name := hashOf(data)
	path := filepath.Join(l.home, blobFolder, name)
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("store blob: %w", err)
	}
	if err := disk.Replace(path, data); err != nil {
		return "", fmt.Errorf("store blob: %w", err)
	}
	return name, nil
}

// Blob returns the data with this SHA-256, after verifying it.
func (l *Log) Blob(name string) ([]byte, error) {
	if sum, err := hex.DecodeString(name); err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("read blob: invalid SHA-256 %q", name)
	}
	path := filepath.Join(l.home, blobFolder, name)
	data, err := disk.ReadFile(path, disk.CacheLimit)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("read blob: %w", err), Hint: "pawl verify"}
	}
	if hashOf(data) != name {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("read blob: %s: content does not match the SHA-256 in its name", path), Hint: "pawl verify"}
	}
	return data, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
