package oci

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"pawl/internal/lazyregexp"
	"pawl/internal/remote"
)

const dockerHub = "docker.io"

var (
	validHost       = lazyregexp.New(`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$`)
	validRepository = lazyregexp.New(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	validDigest     = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	validTag        = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	sum             = lazyregexp.New(`[0-9a-f]{64}`)
)

// ParseURL returns the host and the repository of a URL: oci://HOST/REPOSITORY.
func ParseURL(u *url.URL) (host, repository string, err error) {
	host, repository = u.Host, strings.Trim(u.Path, "/")
	switch {
	case !validHost.MatchString(host):
		return "", "", fmt.Errorf("invalid registry %q; expected oci://registry.example.com/team/pawl", host)
	case !validRepository.MatchString(repository) || len(repository) > 255:
		return "", "", fmt.Errorf("invalid repository %q; expected lower-case letters, digits, and single -, _, . and /", repository)
	}
	return host, repository, nil
}

// tagOf returns the tag of a key. A tag has at most 128 characters and no slash: "_." stands for a slash, "__" for "_", and "_h" and 43
// characters for a SHA-256.
func tagOf(key string) (string, error) {
	if !remote.ValidKey(key) {
		return "", fmt.Errorf("invalid key %q", key)
	}
	tag := strings.NewReplacer("_", "__", "/", "_.").Replace(key)
	tag = sum.ReplaceAllStringFunc(tag, func(digits string) string {
		bytes, err := hex.DecodeString(digits)
		if err != nil {
			return digits
		}
		return "_h" + base64.RawURLEncoding.EncodeToString(bytes)
	})
	if !validTag.MatchString(tag) {
		return "", fmt.Errorf("the name %s is too long for a registry", key)
	}
	return tag, nil
}

// sumSize is the length of a SHA-256 in a tag.
var sumSize = base64.RawURLEncoding.EncodedLen(32)

// keyOf is the inverse of tagOf.
func keyOf(tag string) (key string, ok bool) {
	var out strings.Builder
	for rest := tag; rest != ""; {
		plain, escaped, found := strings.Cut(rest, "_")
		out.WriteString(plain)
		if rest = escaped; !found {
			break
		}
		switch {
		case strings.HasPrefix(rest, "_"):
			out.WriteString("_")
		case strings.HasPrefix(rest, "."):
			out.WriteString("/")
		case strings.HasPrefix(rest, "h") && len(rest) > sumSize:
			bytes, err := base64.RawURLEncoding.DecodeString(rest[1 : 1+sumSize])
			if err != nil {
				return "", false
			}
			out.WriteString(hex.EncodeToString(bytes))
			rest = rest[sumSize:]
		default:
			return "", false
		}
		rest = rest[1:]
	}
	key = out.String()
	again, err := tagOf(key)
	return key, err == nil && again == tag
}
