// Package address opens remotes by their URLs.
package address

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"pawl"
	"pawl/internal/remote"
	"pawl/internal/remote/folder"
	"pawl/internal/remote/oci"
	"pawl/internal/remote/request"
	"pawl/internal/remote/s3"
)

// Examples are the forms of URLs.
const Examples = "file:///mnt/share/pawl, s3://bucket/prefix or oci://registry.example.com/team/pawl"

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
		return nil, fmt.Errorf("%q is not a URL; expected %s", text, Examples)
	case u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return nil, fmt.Errorf("the URL of a remote has neither a query nor a fragment; expected %s", Examples)
	}
	switch u.Scheme {
	case "file":
		return parseFolder(u)
	case "s3":
		bucket, prefix, err := s3.ParseURL(u)
		return &url.URL{Scheme: u.Scheme, Host: bucket, Path: below(prefix)}, err
	case "oci":
		host, repository, err := oci.ParseURL(u)
		return &url.URL{Scheme: u.Scheme, Host: host, Path: below(repository)}, err
	}
	return nil, fmt.Errorf("unknown scheme %q; expected file, s3 or oci", u.Scheme)
}

// below returns a path in a URL.
func below(path string) string {
	if path == "" {
		return ""
	}
	return "/" + path
}

func parseFolder(u *url.URL) (*url.URL, error) {
	switch {
	case u.Host != "" && u.Host != "localhost":
		return nil, fmt.Errorf("file://%s names a host; write three slashes: file:///folder", u.Host)
	case !filepath.IsAbs(u.Path) || filepath.Clean(u.Path) == "/":
		return nil, fmt.Errorf("%q is not the path of a folder; expected file:///folder", u.Path)
	}
	return &url.URL{Scheme: "file", Path: filepath.Clean(u.Path)}, nil
}

// Folder returns the folder of a remote that is one.
func Folder(text string) (path string, ok bool) {
	u, err := parse(text)
	if err != nil || u.Scheme != "file" {
		return "", false
	}
	return u.Path, true
}

// Open opens a remote. allowHTTP are the hosts that may be reached without TLS. Endpoints and credentials are found as the clients of the
// servers find them, in the user's environment and files.
func Open(text string, allowHTTP []string) (remote.Store, error) {
	u, err := parse(text)
	if err != nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: err}
	}
	switch u.Scheme {
	case "s3":
		return s3.Open(u, request.New(allowHTTP), os.Getenv)
	case "oci":
		return oci.Open(u, request.New(allowHTTP), os.Getenv)
	}
	return folder.Open(u.Path)
}
