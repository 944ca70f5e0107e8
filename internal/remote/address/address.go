// Package address opens remotes by their URLs.
package address

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"pawl"
	"pawl/internal/remote"
	"pawl/internal/remote/folder"
)

// Parse returns the URL of a remote in its usual form. A URL has no credentials: they would be stored with it.
func Parse(text string) (string, error) {
	u, err := parse(text)
	if err != nil {
		return "", &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "pawl remote add NAME file:///mnt/share/pawl"}
	}
	return u.String(), nil
}

func parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("invalid URL of a remote: %w", errors.Unwrap(err))
	case u.User != nil:
		return nil, errors.New("the URL of a remote must not have credentials")
	case u.Scheme == "":
		return nil, fmt.Errorf("%q is not a URL; expected file:///folder", text)
	case u.Scheme != "file":
		return nil, fmt.Errorf("unknown scheme %q; expected file", u.Scheme)
	case u.Host != "" && u.Host != "localhost":
		return nil, fmt.Errorf("file://%s names a host; write three slashes: file:///folder", u.Host)
	case u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return nil, errors.New("the URL of a remote has only a path: file:///folder")
	case !filepath.IsAbs(u.Path) || filepath.Clean(u.Path) == "/":
		return nil, fmt.Errorf("%q is not the path of a folder; expected file:///folder", u.Path)
	}
	return &url.URL{Scheme: "file", Path: filepath.Clean(u.Path)}, nil
}

// Folder returns the folder of a remote that is one.
func Folder(text string) (path string, ok bool) {
	u, err := parse(text)
	if err != nil {
		return "", false
	}
	return u.Path, true
}

// Open opens a remote.
func Open(text string) (remote.Store, error) {
	u, err := parse(text)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	return folder.Open(u.Path)
}
