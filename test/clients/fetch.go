package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// release is one version of a package in the npm registry.
type release struct {
	spec      string // name and exact version, as npm takes them
	integrity string // SHA-512 of the tarball, as npm writes it
	native    bool   // a binary for Linux on x86-64
}

// folder is where the release lies once it is unpacked.
func (r release) folder(cache string) string {
	return filepath.Join(cache, strings.NewReplacer("@", "-", "/", "-").Replace(strings.TrimPrefix(r.spec, "@")))
}

// tries is the maximum number of downloads.
const tries = 3

// fetch unpacks the release into the cache, if it is missing. The folder appears atomically.
func (r release) fetch(ctx context.Context, cache string, out io.Writer) error {
	if _, err := os.Stat(r.folder(cache)); err == nil {
		return nil
	}
	if r.native && runtime.GOARCH != "amd64" {
		return fmt.Errorf("%s is for x86-64; choose others with PAWL_REAL_AGENTS", r.spec)
	}
	began := time.Now()
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(cache, ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tarball, err := r.download(ctx, dir)
	if err != nil {
		return err
	}
	unpacked := filepath.Join(dir, "unpacked")
	if err := unpack(tarball, unpacked); err != nil {
		return fmt.Errorf("unpack %s: %w", r.spec, err)
	}
	if err := os.Rename(unpacked, r.folder(cache)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	fmt.Fprintf(out, "fetched %s in %s\n", r.spec, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// download downloads the tarball into dir with npm, and compares its checksum.
func (r release) download(ctx context.Context, dir string) ([]byte, error) {
	var errs []error
	for range tries {
		tarball, err := r.pack(ctx, dir)
		if err == nil {
			return tarball, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%w\n  tried %d times; the agents come from npm's registry, see `npm config get registry`", errs[len(errs)-1], tries)
}

func (r release) pack(ctx context.Context, dir string) ([]byte, error) {
	dir, err := os.MkdirTemp(dir, "pack-")
	if err != nil {
		return nil, err
	}
	npm := exec.CommandContext(ctx, "npm", "pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", dir,
		"--fetch-retries=2", "--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=10000", "--fetch-timeout=120000", r.spec)
	npm.Dir = dir
	if said, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm pack %s: %w\n%s", r.spec, err, bytes.TrimSpace(said))
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(names) != 1 {
		return nil, fmt.Errorf("npm pack %s: it left %d tarballs", r.spec, len(names))
	}
	tarball, err := os.ReadFile(names[0])
	if err != nil {
		return nil, err
	}
	sum := sha512.Sum512(tarball)
	if is := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); is != r.integrity {
		return nil, fmt.Errorf("npm pack %s: the tarball's checksum is %s, not %s", r.spec, is, r.integrity)
	}
	return tarball, nil
}

// unpack writes the files of a tarball below dir, without its first folder. Nothing in it can lead out of dir.
func unpack(tarball []byte, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	plain, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return err
	}
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackFile(root, header, files); err != nil {
			return err
		}
	}
}

// unpackFile writes one file; npm's tarballs have no other entries that matter.
func unpackFile(root *os.Root, header *tar.Header, content io.Reader) error {
	_, name, inside := strings.Cut(path.Clean(header.Name), "/")
	if !inside || header.Typeflag != tar.TypeReg {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|os.FileMode(header.Mode)&0o100)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
