package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
)

const blobFolder = "blobs"

// PutBlob stores data that is too large for an event, and returns its SHA-256, by which an event can refer to it. The
// blob is durable when PutBlob returns, also in the store of the run.
func (l *Log) PutBlob(data []byte) (string, error) {
	l.mu.Lock()
	err := l.syncNames()
	l.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("store blob: %w", err)
	}
	name, err := l.putBlobFile(data)
	if err != nil {
		return "", err
	}
	if err := l.sendBlob(name, data); err != nil {
		return "", fmt.Errorf("store blob: %w", err)
	}
	return name, nil
}

// putBlobFile stores data in a file named by its SHA-256.
func (l *Log) putBlobFile(data []byte) (string, error) {
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
	if errors.Is(err, fs.ErrNotExist) {
		data, err = l.fetchBlob(name, err)
	}
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("read blob: %w", err), Hint: "pawl verify"}
	}
	if hashOf(data) != name {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("read blob: %s: content does not match the SHA-256 in its name", path), Hint: "pawl verify"}
	}
	return data, nil
}

// sendBlob stores a blob in the store of the run, if it has one.
func (l *Log) sendBlob(name string, data []byte) error {
	m, err := readMarker(l.home)
	if err != nil || !m.remote() {
		return err
	}
	store, ctx, cancel, err := forReading(m.Store, filepath.Dir(l.home))
	if err != nil {
		return err
	}
	defer cancel()
	return store.PutBlob(ctx, m.Key, name, data)
}

// fetchBlob returns a blob from the store of the run, and keeps it in a file. Without a store it returns the error missing.
func (l *Log) fetchBlob(name string, missing error) ([]byte, error) {
	m, err := readMarker(l.home)
	if err != nil || !m.remote() {
		return nil, missing
	}
	store, ctx, cancel, err := forReading(m.Store, filepath.Dir(l.home))
	if err != nil {
		return nil, errors.Join(missing, err)
	}
	defer cancel()
	data, err := store.Blob(ctx, m.Key, name)
	if err == nil && hashOf(data) == name {
		_, err = l.putBlobFile(data)
	}
	return data, err
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
