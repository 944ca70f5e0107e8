// Package webhooks sends signed messages about runs to the receivers in the user's settings: that a run ended, that it waits for a
// person, that a gate expires soon.
//
// A message is the notice that the plan's own receivers get (pawl.Notice). Its headers and its signature follow Standard Webhooks
// (https://www.standardwebhooks.com): webhook-id, webhook-timestamp, and webhook-signature, an HMAC-SHA256 over id, timestamp and body.
//
// Each message is delivered at least once, with the same id each time, also if servers are killed in between: it is a file of the user's
// state folder from before the place in the journal is recorded until a receiver has answered 2xx. The messages of a run arrive in their
// order. A message that fails is tried again, later and later, for three days. While a receiver has maxWaiting messages, nothing more is
// queued for it: the journals keep what comes after.
package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/httpaccess"
)

// Config is what the receivers need.
type Config struct {
	Folder   string           // in the user's state folder
	Webhooks []config.Webhook // from the user's own settings
	Settings string           // folder of the settings
	Say      func(format string, args ...any)

	// Post posts a body once. Unless private is true, a name in the URL must not have a private address.
	Post func(ctx context.Context, url string, headers map[string]string, body []byte, private bool) error
}

// Hooks are the receivers of this user. Of several servers of the user, one at a time sends.
type Hooks struct {
	Config
	all []*hook

	mu   sync.Mutex // guards lock
	lock *os.File   // held by the server that sends; nil: another one does, or nobody yet

	saying sync.Mutex        // guards said
	said   map[string]string // by receiver and what it is about
}

// hook is a receiver.
type hook struct {
	config.Webhook
	*Hooks
	secret  []byte
	folder  string
	since   time.Time        // what happened before that, it does not hear of
	marks   map[string]marks // by project; what follows is used by one look at a time
	unsaved map[string]bool  // projects whose marks are not on disk
	queue
}

// Open returns the receivers. It reads their secrets, and changes nothing.
func Open(c Config) (*Hooks, error) {
	h := &Hooks{Config: c, said: map[string]string{}}
	for _, w := range c.Webhooks {
		path := w.SecretFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Settings, path)
		}
		data, err := httpaccess.ReadPrivate(path)
		if err != nil {
			return nil, fmt.Errorf("webhook %s: %w", w.Name, err)
		}
		secret, err := parseSecret(string(data))
		if err != nil {
			return nil, fmt.Errorf("webhook %s: %s: %w", w.Name, path, err)
		}
		h.all = append(h.all, &hook{Webhook: w, Hooks: h, secret: secret, folder: filepath.Join(c.Folder, "to-"+w.Name)})
	}
	return h, nil
}

// Configured reports whether there is a receiver.
func (h *Hooks) Configured() bool { return len(h.all) > 0 }

// Sizes of a secret in bytes, by Standard Webhooks.
const minSecret, maxSecret = 24, 64

// parseSecret reads a secret in the form of Standard Webhooks.
func parseSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), "whsec_")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(secret) < minSecret || len(secret) > maxSecret {
		return nil, fmt.Errorf("the file must contain whsec_ and %d to %d bytes in base64; make them with: echo whsec_$(head -c 32 /dev/urandom | base64)", minSecret, maxSecret)
	}
	return secret, nil
}

// sign returns the signature of a message.
func sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// idOf returns the id of a message: the same whenever the message is made.
func idOf(project, run, notice, hook string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{project, run, notice, hook}, "\n")))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// begin makes this server the one that sends, unless another one is. It reads what waits.
func (h *Hooks) begin(now time.Time) (mine bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock != nil {
		return true, nil
	}
	if err := disk.MakeFolders(h.Folder); err != nil {
		return false, err
	}
	file, err := disk.OpenAppend(filepath.Join(h.Folder, "lock"))
	if err != nil {
		return false, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = nil
		}
		return false, errors.Join(err, file.Close())
	}
	for _, x := range h.all {
		if err := x.open(now); err != nil {
			return false, errors.Join(fmt.Errorf("webhook %s: %w", x.Name, err), file.Close())
		}
	}
	h.lock = file
	return true, nil
}

// Close lets another server send.
func (h *Hooks) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock == nil {
		return nil
	}
	file := h.lock
	h.lock = nil
	return file.Close()
}

// about is the file with what is known of a receiver.
type about struct {
	Since time.Time `json:"since"`
}

// open reads the state of a receiver. A new one hears of what happens from now on.
func (x *hook) open(now time.Time) error {
	path := filepath.Join(x.folder, "about.json")
	var known about
	data, err := disk.ReadFile(path, disk.IdentityLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		known.Since = now.UTC()
		if data, err = json.Marshal(known); err == nil {
			err = errors.Join(disk.MakeFolders(filepath.Join(x.folder, "marks")), disk.MakeFolders(filepath.Join(x.folder, "queue")), disk.Replace(path, data))
		}
	case err == nil:
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		return err
	}
	x.since, x.marks, x.unsaved = known.Since, map[string]marks{}, map[string]bool{}
	return x.load()
}

// tell prints a line about a receiver, unless it was the last one about the same thing. An empty text forgets that.
func (x *hook) tell(about, text string) {
	x.saying.Lock()
	before := x.said[x.Name+" "+about]
	x.said[x.Name+" "+about] = text
	x.saying.Unlock()
	if text != "" && text != before {
		x.Say("webhook %s: %s", x.Name, text)
	}
}
