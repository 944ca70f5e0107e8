package tokens

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
)

var now = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

func TestTokens(t *testing.T) {
	t.Parallel()
	s := Store{t.TempDir()}
	made, secret, err := s.Create("ci", []Right{Read, Run}, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Find(secret, Client, now)
	if err != nil || found.Name != "ci" || found.ID != made.ID || !found.May(Run) || found.May(Approve) {
		t.Errorf("found %+v, %v", found, err)
	}
	if data, err := os.ReadFile(s.path()); err != nil || strings.Contains(string(data), secret) {
		t.Errorf("the file has the secret: %v", err)
	}
	if info, err := os.Stat(s.path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for what, c := range map[string]struct {
		secret string
		kind   Kind
		at     time.Time
	}{
		"expired": {secret, Client, now.Add(time.Hour)}, "other kind": {secret, Browser, now}, "link": {secret, Link, now},
		"wrong": {secret[1:] + "0", Client, now}, "hash": {made.SHA256, Client, now}, "none": {"", Client, now},
	} {
		if _, err := s.Find(c.secret, c.kind, c.at); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := s.Create("ci", Rights, time.Hour, now); pawl.KindOf(err) != pawl.KindUsage {
		t.Errorf("a second token of the name: %v", err)
	}
	for _, name := range []string{"", "a b", "../x", "a\n", strings.Repeat("x", 65), "pawl serve"} {
		if _, _, err := s.Create(name, Rights, time.Hour, now); pawl.KindOf(err) != pawl.KindUsage {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if list, err := s.List(now); err != nil || len(list) != 1 || list[0].SHA256 != "" {
		t.Errorf("list %+v, %v", list, err)
	}
	if n, err := s.Revoke("ci", now); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, err := s.Find(secret, Client, now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := s.Revoke("ci", now); pawl.KindOf(err) != pawl.KindUsage {
		t.Error(err)
	}
}

// TestLink: of browsers that use one link together, one gets a session, with the rights of the link.
func TestLink(t *testing.T) {
	t.Parallel()
	s := Store{t.TempDir()}
	code, err := s.Link("ann", []Right{Read, Approve}, now)
	if err != nil {
		t.Fatal(err)
	}
	late, err := s.Link("ann", Rights, now)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	sessions := make(chan [2]string, 8)
	for range 8 {
		all.Go(func() {
			switch _, secret, key, err := s.Session(code, now); {
			case err == nil:
				sessions <- [2]string{secret, key}
			case !errors.Is(err, ErrCode):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(sessions) != 1 {
		t.Fatalf("%d sessions", len(sessions))
	}
	got := <-sessions
	found, err := s.Find(got[0], Browser, now)
	if err != nil || found.Name != "ann" || !slices.Equal(found.Rights, []Right{Read, Approve}) {
		t.Errorf("%+v, %v", found, err)
	}
	if !found.HasKey(got[1]) || found.HasKey(got[0]) || found.HasKey("") || (Token{}).HasKey("") {
		t.Error("the second secret")
	}
	if _, _, _, err := s.Session(late, now.Add(LinkLasts)); !errors.Is(err, ErrCode) {
		t.Errorf("a late browser: %v", err)
	}
	if n, err := s.Revoke(found.ID, now); n != 1 || err != nil {
		t.Error(n, err)
	}
}

func TestParseRights(t *testing.T) {
	t.Parallel()
	if rights, err := ParseRights("read, approve,read"); err != nil || List(rights) != "read,approve" {
		t.Error(rights, err)
	}
	for _, list := range []string{"", "all", "read,,run", "Read"} {
		if rights, err := ParseRights(list); err == nil {
			t.Errorf("%q: %v", list, rights)
		}
	}
}

// FuzzParse reads any file. It never gives a right that does not exist.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"instance":"0","tokens":[{"id":"1","name":"a","kind":"token","rights":["read","all"],"sha256":"00"}]}`))
	f.Add([]byte(`{"tokens":[{"rights":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse(data)
		for _, token := range c.Tokens {
			if err != nil || slices.ContainsFunc(token.Rights, func(r Right) bool { return !slices.Contains(Rights, r) }) {
				t.Errorf("%+v, %v", token, err)
			}
		}
		if c.find("", Client) >= 0 && !strings.Contains(string(data), hash("")) {
			t.Error("a token without a secret")
		}
	})
}

// TestServers finds the servers that run, and not those that ended, also without a word.
func TestServers(t *testing.T) {
	t.Parallel()
	s := Store{t.TempDir()}
	old, err := s.Announce("http://127.0.0.1:1", now)
	if err != nil {
		t.Fatal(err)
	}
	release, err := s.Announce("http://127.0.0.1:2", now.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Folder+"/server-0.json", []byte(`{"url":"http://127.0.0.1:3"}`), 0o600); err != nil { // nobody holds its lock
		t.Fatal(err)
	}
	for range 2 {
		if running, err := s.Servers(); err != nil || len(running) != 2 || running[0].URL != "http://127.0.0.1:2" {
			t.Errorf("%+v, %v", running, err)
		}
	}
	if err := errors.Join(old(), release()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(s.Folder); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}
