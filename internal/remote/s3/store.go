// Package s3 is a remote.Store in a bucket of an object storage that speaks the S3 protocol.
//
// A key is an object. It is created by a PUT with If-None-Match, so of two machines one creates it. Signatures and the credentials of
// machines in a cloud come from AWS's own library; files, endpoints and the few requests are this package's.
package s3

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"pawl"
	"pawl/internal/lazyregexp"
	"pawl/internal/remote"
	"pawl/internal/remote/request"
)

// Store is a bucket, or what has a prefix in it, as a remote.Store.
type Store struct {
	client      *request.Client
	base        *url.URL // of the bucket
	prefix      string   // of keys; empty, or ends with a slash
	bucket      string
	region      string
	credentials aws.CredentialsProvider
	signer      *v4.Signer
}

var _ remote.Store = (*Store)(nil)

// validBucket matches the names of buckets.
var validBucket = lazyregexp.New(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// validPrefix matches prefixes, without slashes at their ends.
var validPrefix = lazyregexp.New(`^([A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$`)

// ParseURL returns the bucket and the prefix of a URL: s3://BUCKET/PREFIX.
func ParseURL(u *url.URL) (bucket, prefix string, err error) {
	bucket, prefix = u.Host, strings.Trim(u.Path, "/")
	switch {
	case !validBucket.MatchString(bucket) || strings.Contains(bucket, ".."):
		return "", "", fmt.Errorf("invalid bucket %q; expected s3://bucket/prefix", bucket)
	case !validPrefix.MatchString(prefix) || len(prefix) > 500:
		return "", "", fmt.Errorf("invalid prefix %q; expected letters, digits, -, _, . and /", prefix)
	}
	return bucket, prefix, nil
}

// Open returns the store in a bucket. Endpoint, region and credentials are those that the AWS CLI would use with this environment; see
// Settings.
func Open(u *url.URL, client *request.Client, getenv func(string) string) (*Store, error) {
	bucket, prefix, err := ParseURL(u)
	if err != nil {
		return nil, err
	}
	set, err := readSettings(getenv)
	if err != nil {
		return nil, err
	}
	base, err := set.bucketURL(bucket)
	if err == nil {
		err = client.Check(base)
	}
	if err != nil {
		return nil, fmt.Errorf("endpoint of S3: %w", err)
	}
	if prefix != "" {
		prefix += "/"
	}
	return &Store{
		client: client, base: base, prefix: prefix, bucket: bucket, region: set.region, credentials: aws.NewCredentialsCache(set.chain(client)),
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }),
	}, nil
}

// do sends a request about an object; an empty key stands for the bucket.
func (s *Store) do(ctx context.Context, method, key string, query url.Values, header http.Header, body []byte, limit int64) (*request.Answer, error) {
	u := *s.base
	u.Path, u.RawQuery = u.Path+key, query.Encode()
	hash := sha256.Sum256(body)
	sum := hex.EncodeToString(hash[:])
	if _, err := s.credentials.Retrieve(ctx); err != nil {
		return nil, cmp.Or(errors.Unwrap(err), err) // without the words of the cache
	}
	sign := func(r *http.Request) error {
		credentials, err := s.credentials.Retrieve(r.Context())
		if err != nil {
			return err
		}
		r.Header.Set("X-Amz-Content-Sha256", sum)
		return s.signer.SignHTTP(r.Context(), credentials, r, sum, "s3", s.region, time.Now())
	}
	return s.client.Do(ctx, request.Request{Method: method, URL: &u, Header: header, Body: body, Limit: limit, Sign: sign})
}

// Get returns the content of a key; see remote.Store.
func (s *Store) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := check(key); err != nil {
		return nil, err
	}
	a, err := s.do(ctx, http.MethodGet, s.prefix+key, nil, nil, nil, limit)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	if !a.OK() {
		return nil, s.refusal("get", key, a)
	}
	return a.Body, nil
}

// conflicts is how often a PUT is repeated that the server refuses because another one for the same key is in progress.
const conflicts = 10

// Create creates a key; see remote.Store.
func (s *Store) Create(ctx context.Context, key string, content []byte) (created bool, err error) {
	if err := check(key); err != nil {
		return false, err
	}
	header := http.Header{"If-None-Match": {"*"}, "Content-Type": {"application/octet-stream"}}
	for range conflicts {
		a, err := s.do(ctx, http.MethodPut, s.prefix+key, nil, header, content, maxAnswer)
		switch {
		case err != nil:
			return false, fmt.Errorf("create %s: %w", key, err)
		case a.OK():
			return true, nil
		case a.Status == http.StatusConflict:
			continue
		case a.Status != http.StatusPreconditionFailed:
			return false, s.refusal("create", key, a)
		case a.Repeated: // perhaps by the try whose answer was lost
			return remote.Has(ctx, s, key, content)
		}
		return false, nil
	}
	return false, fmt.Errorf("create %s: another machine creates it at the same time; repeat the command", key)
}

// Delete deletes a key; see remote.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(key); err != nil {
		return err
	}
	a, err := s.do(ctx, http.MethodDelete, s.prefix+key, nil, nil, nil, maxAnswer)
	if err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	if !a.OK() {
		if err := s.refusal("delete", key, a); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func check(key string) error {
	if !remote.ValidKey(key) {
		return fmt.Errorf("invalid key %q", key)
	}
	return nil
}

const (
	maxAnswer = 8 << 20   // bytes of an answer about objects
	maxKeys   = 1_000_000 // of a listing
)

// page is a part of a listing.
type page struct {
	Truncated bool   `xml:"IsTruncated"`
	Next      string `xml:"NextContinuationToken"`
	Objects   []struct {
		Key          string
		Size         int64
		LastModified time.Time
	} `xml:"Contents"`
}

// List returns the keys with a prefix; see remote.Store.
func (s *Store) List(ctx context.Context, prefix string) ([]remote.Object, error) {
	var list []remote.Object
	query := url.Values{"list-type": {"2"}, "prefix": {s.prefix + prefix}}
	for seen := 0; seen < maxKeys; {
		a, err := s.do(ctx, http.MethodGet, "", query, nil, nil, maxAnswer)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		if !a.OK() {
			return nil, s.refusal("list", prefix, a)
		}
		p, err := parsePage(a.Body)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		for _, o := range p.Objects {
			key, ok := strings.CutPrefix(o.Key, s.prefix)
			if ok && strings.HasPrefix(key, prefix) && remote.ValidKey(key) && o.Size >= 0 {
				list = append(list, remote.Object{Key: key, Size: o.Size, Modified: o.LastModified})
			}
		}
		if !p.Truncated {
			return ordered(list), nil
		}
		query.Set("continuation-token", p.Next)
		seen += max(len(p.Objects), 1)
	}
	return nil, fmt.Errorf("list %s: more than %d keys", prefix, maxKeys)
}

func parsePage(data []byte) (p page, err error) {
	if err := xml.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("parse the server's answer: %w", err)
	}
	if p.Truncated && p.Next == "" {
		return p, errors.New("the server's answer is incomplete")
	}
	return p, nil
}

// ordered returns a listing by key, each key once.
func ordered(list []remote.Object) []remote.Object {
	slices.SortFunc(list, func(a, b remote.Object) int { return cmp.Compare(a.Key, b.Key) })
	return slices.CompactFunc(list, func(a, b remote.Object) bool { return a.Key == b.Key })
}

// failure is the error that a server describes.
type failure struct {
	Code    string
	Message string
	Region  string
}

// refusal returns the error of a request that was refused.
func (s *Store) refusal(what, key string, a *request.Answer) error {
	var said failure
	_ = xml.Unmarshal(a.Body, &said) // an answer without an explanation says enough by its status
	switch {
	case a.Status == http.StatusNotFound && said.Code != "NoSuchBucket":
		return fmt.Errorf("%s %s: %w", what, key, fs.ErrNotExist)
	case a.Status == http.StatusNotFound:
		return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("no bucket %q at %s", s.bucket, s.base.Host)}
	}
	err := fmt.Errorf("%s %s: %w", what, key, &request.StatusError{Host: s.base.Host, Status: a.Status, Code: said.Code, Message: said.Message})
	if region := cmp.Or(a.Header.Get("X-Amz-Bucket-Region"), said.Region); region != "" && region != s.region && validRegion.MatchString(region) {
		return &pawl.Error{Kind: pawl.KindUsage, Err: err, Hint: "export AWS_REGION=" + region}
	}
	return err
}
