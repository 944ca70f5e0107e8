// Package tokens keeps the tokens of the clients of `pawl serve`: who a client is, what it may do, and until when.
//
// The file lies in the user's state folder and only the user can read it. It contains no secrets, only their hashes: a secret has 256
// random bits, so its hash cannot be reversed. Every change replaces the whole file under a lock. Every check reads it again, so a
// revoked token ends at once, in all servers.
package tokens

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/lazyregexp"
	"pawl/internal/project"
	"pawl/internal/userdir"
)

// Right is something that a client may do. No right contains another one.
type Right string

// The rights.
const (
	Read    Right = "read"    // see projects, runs, output and files
	Operate Right = "operate" // resume, pause, stop, retry, skip, restore, fork and roll back runs
	Run     Right = "run"     // start runs of plans
	Approve Right = "approve" // answer gates, and mark steps as done
)

// Rights are all rights.
var Rights = []Right{Read, Operate, Run, Approve}

// Default are the rights of the token that `pawl serve` makes.
var Default = []Right{Read, Operate}

// Kind says what a token is for.
type Kind string

// The kinds.
const (
	Client  Kind = "token"   // a program sends it with each request
	Link    Kind = "link"    // a browser exchanges it once for a session
	Browser Kind = "browser" // a session: the browser sends it as a cookie, and a second secret with each write
	Proxied Kind = "proxy"   // no secret: a proxy names the client
)

// How long links and sessions last.
const (
	LinkLasts    = 2 * time.Minute
	SessionLasts = 12 * time.Hour
)

// Token is what is known of a client.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"` // of the person, the author of what the client does
	Kind    Kind      `json:"kind"`
	Rights  []Right   `json:"rights"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: never, for the token that the server makes

	SHA256 string `json:"sha256,omitempty"`     // of the secret
	Key    string `json:"key_sha256,omitempty"` // of the second secret of a session
}

// May reports whether the token has a right.
func (t Token) May(r Right) bool { return slices.Contains(t.Rights, r) }

// HasKey reports whether key is the second secret of the session.
func (t Token) HasKey(key string) bool {
	return t.Key != "" && subtle.ConstantTimeCompare([]byte(hash(key)), []byte(t.Key)) == 1
}

// Store is the file with the tokens.
type Store struct{ Folder string } // that of the servers in the user's state folder

// Open returns the store of this user.
func Open() (Store, error) {
	folder, err := userdir.State("serve")
	return Store{folder}, err
}

// content is what the file has.
type content struct {
	Instance string  `json:"instance"` // names the cookies: a browser sends those of one port of a host to all its ports
	Tokens   []Token `json:"tokens"`
}

func (s Store) path() string { return filepath.Join(s.Folder, "tokens.json") }

func (s Store) read() (c content, err error) {
	data, err := disk.ReadFile(s.path(), disk.ConfigLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	return parse(data)
}

// parse reads the content of the file. A token with a right that this version does not know does not have it.
func parse(data []byte) (c content, err error) {
	if err := json.Unmarshal(data, &c); err != nil {
		return content{}, fmt.Errorf("tokens: %w", err)
	}
	for i, t := range c.Tokens {
		c.Tokens[i].Rights = slices.DeleteFunc(t.Rights, func(r Right) bool { return !slices.Contains(Rights, r) })
	}
	return c, nil
}

// change changes the content under the lock of the folder, and removes what has expired.
func (s Store) change(now time.Time, change func(*content) error) error {
	if err := disk.MakeFolders(s.Folder); err != nil {
		return err
	}
	return project.WithFolderLock(s.Folder, func() error {
		c, err := s.read()
		if err != nil {
			return err
		}
		c.Instance = cmp.Or(c.Instance, disk.RandomHex(4))
		c.Tokens = slices.DeleteFunc(c.Tokens, func(t Token) bool { return !t.Expires.After(now) })
		if err := change(&c); err != nil {
			return err
		}
		data, err := json.MarshalIndent(c, "", "\t")
		if err != nil {
			return err
		}
		return disk.Replace(s.path(), append(data, '\n'))
	})
}

// Instance returns the name of this user's servers in cookies.
func (s Store) Instance(now time.Time) (instance string, err error) {
	if c, err := s.read(); err != nil || c.Instance != "" {
		return c.Instance, err
	}
	err = s.change(now, func(c *content) error {
		instance = c.Instance
		return nil
	})
	return instance, err
}

// maxTokens is how many tokens of each kind there can be.
const maxTokens = 500

// named matches names of tokens. The token that a server makes has a name with a space.
var named = lazyregexp.New(`^[A-Za-z0-9._@-]{1,64}$`)

// ValidName reports whether a client can have a name.
func ValidName(name string) bool { return named.MatchString(name) }

// Create makes a token and returns its secret, which is stored nowhere.
func (s Store) Create(name string, rights []Right, lasts time.Duration, now time.Time) (t Token, secret string, err error) {
	if !named.MatchString(name) {
		return t, "", usage("", "invalid name %q: a name has 1 to 64 letters, digits, '.', '_', '@' or '-'", name)
	}
	t, secret = issue(Client, name, rights, lasts, now)
	return t, secret, s.change(now, func(c *content) error {
		if slices.ContainsFunc(c.Tokens, func(old Token) bool { return old.Kind == Client && old.Name == name }) {
			return usage("pawl serve token revoke "+name, "a token named %s exists", name)
		}
		return c.add(t)
	})
}

// Link makes a one-time code that a browser exchanges for a session.
func (s Store) Link(name string, rights []Right, now time.Time) (code string, err error) {
	t, code := issue(Link, name, rights, LinkLasts, now)
	return code, s.change(now, func(c *content) error { return c.add(t) })
}

// ErrCode means that a code does not exist, was used, or has expired.
var ErrCode = errors.New("the link was used or has expired")

// Session exchanges a code for a session with the same name and rights. secret and key are its two secrets.
func (s Store) Session(code string, now time.Time) (t Token, secret, key string, err error) {
	err = s.change(now, func(c *content) error {
		i := c.find(code, Link)
		if i < 0 {
			return ErrCode
		}
		t, secret = issue(Browser, c.Tokens[i].Name, c.Tokens[i].Rights, SessionLasts, now)
		key = disk.RandomHex(32)
		t.Key = hash(key)
		c.Tokens = slices.Delete(c.Tokens, i, i+1)
		return c.add(t)
	})
	return t, secret, key, err
}

// Find returns the token of a kind with a secret. It is an error of fs.ErrNotExist that there is none, or that it has expired.
func (s Store) Find(secret string, kind Kind, now time.Time) (Token, error) {
	c, err := s.read()
	if err != nil {
		return Token{}, err
	}
	if i := c.find(secret, kind); i >= 0 && c.Tokens[i].Expires.After(now) {
		return c.Tokens[i], nil
	}
	return Token{}, fs.ErrNotExist
}

// List returns the tokens and sessions that have not expired, oldest first, without hashes.
func (s Store) List(now time.Time) ([]Token, error) {
	c, err := s.read()
	list := []Token{}
	for _, t := range c.Tokens {
		if t.Kind != Link && t.Expires.After(now) {
			t.SHA256, t.Key = "", ""
			list = append(list, t)
		}
	}
	return list, err
}

// Revoke ends a token or session, by name or id. A name stands for the token and all sessions with it. It returns how many ended.
func (s Store) Revoke(name string, now time.Time) (ended int, err error) {
	err = s.change(now, func(c *content) error {
		before := len(c.Tokens)
		c.Tokens = slices.DeleteFunc(c.Tokens, func(t Token) bool { return t.Name == name || t.ID == name })
		if ended = before - len(c.Tokens); ended == 0 {
			return usage("pawl serve token list", "no token or session named %s", name)
		}
		return nil
	})
	return ended, err
}

// find returns the index of the token with a secret. Its time does not depend on how much of the secret is right.
func (c *content) find(secret string, kind Kind) int {
	want := []byte(hash(secret))
	return slices.IndexFunc(c.Tokens, func(t Token) bool {
		return t.Kind == kind && subtle.ConstantTimeCompare([]byte(t.SHA256), want) == 1
	})
}

func (c *content) add(t Token) error {
	same := 0
	for _, old := range c.Tokens {
		if old.Kind == t.Kind {
			same++
		}
	}
	if same >= maxTokens {
		return usage("pawl serve token list", "there are %d tokens of this kind", same)
	}
	c.Tokens = append(c.Tokens, t)
	return nil
}

func issue(kind Kind, name string, rights []Right, lasts time.Duration, now time.Time) (t Token, secret string) {
	secret = disk.RandomHex(32)
	return Token{
		ID: disk.RandomHex(4), Name: name, Kind: kind, SHA256: hash(secret), Rights: slices.Clone(rights),
		Created: now.UTC(), Expires: now.Add(lasts).UTC(),
	}, secret
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// ParseRights reads a list of rights, such as "read,operate".
func ParseRights(list string) (rights []Right, err error) {
	for name := range strings.SplitSeq(list, ",") {
		r := Right(strings.TrimSpace(name))
		switch {
		case !slices.Contains(Rights, r):
			return nil, fmt.Errorf("unknown right %q; rights: %s", r, List(Rights))
		case !slices.Contains(rights, r):
			rights = append(rights, r)
		}
	}
	return rights, nil
}

// List returns rights as ParseRights reads them.
func List(rights []Right) string {
	words := make([]string, len(rights))
	for i, r := range rights {
		words[i] = string(r)
	}
	return strings.Join(words, ",")
}

func usage(hint, format string, args ...any) error {
	return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}
