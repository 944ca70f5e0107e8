// Package oci is a remote.Store in a repository of a registry that speaks the OCI distribution protocol.
//
// A key is a tag. Its manifest has the content as its only layer, and names the key. Content is uploaded first, and the tag last, so a key
// is there whole or not at all. The protocol has no conditions: unless the registry protects its tags, two machines that create the same
// key overwrite each other, which remote.Probe finds.
package oci

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/remote"
	"pawl/internal/remote/request"
)

// Store is a repository as a remote.Store.
type Store struct {
	client     *request.Client
	base       *url.URL // of the repository
	repository string
	access     *access

	mu   sync.Mutex // guards seen
	seen map[string]descriptor
}

var _ remote.Store = (*Store)(nil)

// Media types and annotations of manifests.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	artifactType = "application/vnd.pawl.object.v1"
	emptyType    = "application/vnd.oci.empty.v1+json"
	contentType  = "application/octet-stream"
	keyLabel     = "dev.pawl.key"
	timeLabel    = "org.opencontainers.image.created"
)

// manifest is the manifest of a key.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations"`
}

// descriptor names content.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`

	created time.Time // of the key that has this content
}

const (
	maxManifest = 64 << 10
	maxAnswer   = 8 << 20 // bytes of a list of tags
	maxPages    = 10_000
	readers     = 8 // manifests that List reads at a time
)

var emptyConfig = []byte("{}")

// Open returns the store in a repository. Credentials are those that docker, podman or oras has stored.
func Open(u *url.URL, client *request.Client, getenv func(string) string) (*Store, error) {
	host, repository, err := ParseURL(u)
	if err != nil {
		return nil, err
	}
	base := &url.URL{Scheme: "https", Host: host, Path: "/v2/" + repository}
	if request.Loopback(base.Hostname()) || slices.Contains(client.Allowed, host) {
		base.Scheme = "http"
	}
	if host == dockerHub {
		base.Host = "registry-1.docker.io"
	}
	return &Store{client: client, base: base, repository: repository, access: &access{client: client, host: host, plain: base.Scheme == "http", getenv: getenv}, seen: map[string]descriptor{}}, nil
}

func (s *Store) url(path string, query url.Values) *url.URL {
	u := *s.base
	u.Path, u.RawQuery = u.Path+path, query.Encode()
	return &u
}

// Get returns the content of a key; see remote.Store.
func (s *Store) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	tag, err := tagOf(key)
	if err != nil {
		return nil, err
	}
	content, err := s.get(ctx, tag, key, limit)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return content, nil
}

func (s *Store) get(ctx context.Context, tag, key string, limit int64) ([]byte, error) {
	layer, _, err := s.manifest(ctx, tag, key)
	if err != nil {
		return nil, err
	}
	if layer.Size > limit {
		return nil, disk.ErrTooLarge
	}
	a, err := s.access.do(ctx, request.Request{Method: http.MethodGet, URL: s.url("/blobs/"+layer.Digest, nil), Limit: layer.Size})
	if err == nil && redirected(a.Status) {
		a, err = s.follow(ctx, a, layer.Size)
	}
	switch {
	case err != nil:
		return nil, err
	case !a.OK():
		return nil, s.refusal(a)
	case digestOf(a.Body) != layer.Digest:
		return nil, errors.New("content does not match its digest")
	}
	return a.Body, nil
}

func redirected(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// follow gets content from where a registry stores it, without credentials.
func (s *Store) follow(ctx context.Context, a *request.Answer, limit int64) (*request.Answer, error) {
	at := s.base
	for range 3 {
		next, err := at.Parse(a.Header.Get("Location"))
		if err != nil {
			return nil, errors.New("the registry redirects to an invalid URL")
		}
		if next.Scheme != "https" && next.Host != s.base.Host {
			return nil, fmt.Errorf("the registry redirects to http://%s, which is not encrypted", next.Host)
		}
		if a, err = s.client.Do(ctx, request.Request{Method: http.MethodGet, URL: next, Limit: limit}); err != nil || !redirected(a.Status) {
			return a, err
		}
		at = next
	}
	return nil, errors.New("the registry redirects again and again")
}

// manifest returns what the manifest of a key names, and the manifest's own digest.
func (s *Store) manifest(ctx context.Context, tag, key string) (layer descriptor, digest string, err error) {
	a, err := s.access.do(ctx, request.Request{Method: http.MethodGet, URL: s.url("/manifests/"+tag, nil), Header: http.Header{"Accept": {manifestType}}, Limit: maxManifest})
	if err != nil {
		return layer, "", err
	}
	if !a.OK() {
		return layer, "", s.refusal(a)
	}
	layer, err = parseManifest(a.Body, key)
	return layer, digestOf(a.Body), err
}

func parseManifest(data []byte, key string) (layer descriptor, err error) {
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil || len(m.Layers) != 1 || m.Annotations[keyLabel] != key {
		return layer, fmt.Errorf("the manifest of %s is not one of pawl", key)
	}
	layer = m.Layers[0]
	layer.created, err = time.Parse(time.RFC3339Nano, m.Annotations[timeLabel])
	if err != nil || layer.Size < 0 || !validDigest.MatchString(layer.Digest) {
		return layer, fmt.Errorf("the manifest of %s is invalid", key)
	}
	return layer, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Create creates a key; see remote.Store. Registries that protect their tags refuse to overwrite one.
func (s *Store) Create(ctx context.Context, key string, content []byte) (created bool, err error) {
	tag, err := tagOf(key)
	if err != nil {
		return false, err
	}
	created, err = s.create(ctx, tag, key, content)
	if err != nil {
		err = fmt.Errorf("create %s: %w", key, err)
	}
	return created, err
}

func (s *Store) create(ctx context.Context, tag, key string, content []byte) (created bool, err error) {
	config, err := s.upload(ctx, emptyConfig, emptyType)
	if err != nil {
		return false, err
	}
	layer, err := s.upload(ctx, content, contentType)
	if err != nil {
		return false, err
	}
	body, err := json.Marshal(manifest{
		SchemaVersion: 2, MediaType: manifestType, ArtifactType: artifactType, Config: config, Layers: []descriptor{layer},
		Annotations: map[string]string{keyLabel: key, timeLabel: time.Now().UTC().Format(time.RFC3339Nano)},
	})
	if err != nil {
		return false, err
	}
	a, err := s.access.do(ctx, request.Request{Method: http.MethodPut, URL: s.url("/manifests/"+tag, nil), Body: body, Limit: maxAnswer,
		Header: http.Header{"Content-Type": {manifestType}, "If-None-Match": {"*"}}})
	switch {
	case err != nil:
		return false, err
	case a.OK():
		return true, nil
	}
	refusal := s.refusal(a)
	if a.Status/100 != 4 || a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden || a.Status == http.StatusTooManyRequests {
		return false, refusal
	}
	there, _, err := s.manifest(ctx, tag, key) // registries tell that a tag is protected in many ways
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, refusal
	case err != nil:
		return false, err
	}
	return a.Repeated && there.Digest == layer.Digest, nil
}

// uploads is how often an upload is begun again, because its answer was lost, and the registry may have all of it, or a part.
const uploads = 3

// upload stores content, unless the repository has it.
func (s *Store) upload(ctx context.Context, content []byte, mediaType string) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: digestOf(content), Size: int64(len(content))}
	for try := 1; ; try++ {
		a, err := s.access.do(ctx, request.Request{Method: http.MethodHead, URL: s.url("/blobs/"+d.Digest, nil)})
		if err != nil || a.OK() {
			return d, err
		}
		a, err = s.uploadOnce(ctx, content, d.Digest)
		switch {
		case err != nil || a.OK():
			return d, err
		case !a.Repeated || try == uploads:
			return d, s.refusal(a)
		}
	}
}

// uploadOnce begins an upload, and completes it.
func (s *Store) uploadOnce(ctx context.Context, content []byte, digest string) (*request.Answer, error) {
	a, err := s.access.do(ctx, request.Request{Method: http.MethodPost, URL: s.url("/blobs/uploads/", nil), Limit: maxAnswer})
	switch {
	case err != nil:
		return nil, err
	case a.Status == http.StatusNotFound:
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("no repository %s at %s", s.repository, s.base.Host)}
	case !a.OK():
		return nil, s.refusal(a)
	}
	to, err := s.base.Parse(a.Header.Get("Location"))
	if err != nil || to.Host != s.base.Host || to.Scheme != s.base.Scheme {
		return nil, errors.New("the registry takes uploads at another server, which pawl does not do")
	}
	query := to.Query()
	query.Set("digest", digest)
	to.RawQuery = query.Encode()
	return s.access.do(ctx, request.Request{Method: http.MethodPut, URL: to, Body: content, Limit: maxAnswer, Header: http.Header{"Content-Type": {contentType}}})
}

// Delete deletes a key; see remote.Store. The content goes when the registry collects its garbage.
func (s *Store) Delete(ctx context.Context, key string) error {
	tag, err := tagOf(key)
	if err != nil {
		return err
	}
	s.forget(tag)
	_, digest, err := s.manifest(ctx, tag, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	a, err := s.access.do(ctx, request.Request{Method: http.MethodDelete, URL: s.url("/manifests/"+digest, nil), Limit: maxAnswer})
	if err == nil && !a.OK() {
		err = s.refusal(a)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

func (s *Store) forget(tag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, tag)
}

// List returns the keys with a prefix; see remote.Store. Sizes and times are in the manifests, which it reads once. Records, of which there
// are many, have none.
func (s *Store) List(ctx context.Context, prefix string) ([]remote.Object, error) {
	tags, err := s.tags(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	var list []remote.Object
	for _, tag := range tags {
		if key, ok := keyOf(tag); ok && strings.HasPrefix(key, prefix) {
			list = append(list, remote.Object{Key: key})
		}
	}
	if err := s.describe(ctx, list); err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	list = slices.DeleteFunc(list, func(o remote.Object) bool { return o.Key == "" })
	slices.SortFunc(list, func(a, b remote.Object) int { return cmp.Compare(a.Key, b.Key) })
	return slices.CompactFunc(list, func(a, b remote.Object) bool { return a.Key == b.Key }), nil
}

// describe sets the sizes and times of objects. It removes the keys of those that are gone.
func (s *Store) describe(ctx context.Context, list []remote.Object) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan *remote.Object)
	var workers sync.WaitGroup
	for range readers {
		workers.Go(func() {
			for o := range next {
				if err := s.describeOne(ctx, o); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := range list {
		if !strings.HasPrefix(list[i].Key, "runs/") && ctx.Err() == nil {
			next <- &list[i]
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

func (s *Store) describeOne(ctx context.Context, o *remote.Object) error {
	tag, err := tagOf(o.Key)
	if err != nil {
		return err
	}
	s.mu.Lock()
	layer, seen := s.seen[tag]
	s.mu.Unlock()
	if !seen {
		layer, _, err = s.manifest(ctx, tag, o.Key)
		if errors.Is(err, fs.ErrNotExist) {
			o.Key = ""
			return nil
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.seen[tag] = layer
		s.mu.Unlock()
	}
	o.Size, o.Modified = layer.Size, layer.created
	return nil
}

// tags returns the tags of the repository.
func (s *Store) tags(ctx context.Context) ([]string, error) {
	var all []string
	at := s.url("/tags/list", url.Values{"n": {"1000"}})
	for range maxPages {
		a, err := s.access.do(ctx, request.Request{Method: http.MethodGet, URL: at, Limit: maxAnswer})
		if err != nil {
			return nil, err
		}
		if a.Status == http.StatusNotFound { // nothing was pushed
			return all, nil
		}
		if !a.OK() {
			return nil, s.refusal(a)
		}
		var page struct {
			Tags []string `json:"tags"`
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			return nil, errors.New("the registry's list of tags is invalid")
		}
		all = append(all, page.Tags...)
		next, ok := nextPage(at, a.Header.Get("Link"))
		if !ok {
			return all, nil
		}
		if next.Host != s.base.Host || next.Scheme != s.base.Scheme || next.Path != at.Path {
			return nil, errors.New("the registry's list of tags continues at another host or path")
		}
		at = next
	}
	return nil, fmt.Errorf("more than %d pages of tags", maxPages)
}

// nextPage returns the URL in a header such as `</v2/a/tags/list?last=b>; rel="next"`.
func nextPage(at *url.URL, link string) (*url.URL, bool) {
	address, rest, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if !ok || !strings.HasPrefix(link, "<") || !strings.Contains(rest, "next") {
		return nil, false
	}
	next, err := at.Parse(address)
	return next, err == nil
}

// refusal returns the error of a request that was refused.
func (s *Store) refusal(a *request.Answer) error {
	var said struct {
		Errors []struct{ Code, Message string }
	}
	_ = json.Unmarshal(a.Body, &said) // an answer without an explanation says enough by its status
	if a.Status == http.StatusNotFound {
		return fs.ErrNotExist
	}
	failure := &request.StatusError{Host: s.base.Host, Status: a.Status}
	if len(said.Errors) > 0 {
		failure.Code, failure.Message = said.Errors[0].Code, said.Errors[0].Message
	}
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &pawl.Error{Kind: pawl.KindUsage, Err: failure, Hint: "docker login " + s.access.host}
	case http.StatusMethodNotAllowed:
		return fmt.Errorf("%w; the registry does not allow deletions", failure)
	}
	return failure
}
