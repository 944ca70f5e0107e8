package supervise

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"pawl"
)

// A Seal signs the exit record of one attempt. The engine journals the public key with the intent and passes the private
// one to the supervisor through a pipe. So a step, which can write any file of its attempt and kill its supervisor, cannot
// write an exit record that counts.
type Seal struct {
	public  ed25519.PublicKey
	private ed25519.PrivateKey
}

// NewSeal returns a new seal.
func NewSeal() Seal {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic("crypto/rand never fails: " + err.Error())
	}
	return Seal{public, private}
}

// Public returns the public key in the form in which the journal has it.
func (s Seal) Public() string { return base64.RawStdEncoding.EncodeToString(s.public) }

// keyFD is the descriptor from which a supervisor reads the private key of its seal.
const keyFD = lockFD + 1

// pipe returns a pipe that contains the private key. A pipe holds more than a key, so the write does not block.
func (s Seal) pipe() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(s.private.Seed())
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// readKey reads the private key that the engine has passed, and closes the pipe before a child can inherit it.
func readKey() (ed25519.PrivateKey, error) {
	pipe := os.NewFile(keyFD, "key")
	seed, err := io.ReadAll(io.LimitReader(pipe, ed25519.SeedSize+1))
	if err = errors.Join(err, pipe.Close()); err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("descriptor %d has no key: only pawl itself starts supervisors", keyFD)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// sealMember is the last member of a sealed exit record; the signature of everything before it follows.
const sealMember = `,"seal":"`

// Sign returns an exit record, a JSON object, with the seal.
func (s Seal) Sign(record []byte) []byte { return sealed(record, s.private) }

// sealed returns an exit record, a JSON object, with its signature.
func sealed(record []byte, key ed25519.PrivateKey) []byte {
	body := bytes.TrimSuffix(record, []byte("}"))
	signature := base64.RawStdEncoding.EncodeToString(ed25519.Sign(key, body))
	return fmt.Appendf(nil, "%s%s%s\"}", body, sealMember, signature)
}

// sealedWith reports whether a record was signed with the private key of public.
func sealedWith(record []byte, public string) bool {
	i := bytes.LastIndex(record, []byte(sealMember))
	key, err := base64.RawStdEncoding.DecodeString(public)
	if i < 0 || err != nil || len(key) != ed25519.PublicKeySize {
		return false
	}
	text, closed := bytes.CutSuffix(bytes.TrimSpace(record[i+len(sealMember):]), []byte(`"}`))
	signature, err := base64.RawStdEncoding.DecodeString(string(text))
	return closed && err == nil && ed25519.Verify(key, record[:i], signature)
}

// ExitSealed returns the exit record if it has the seal with this public key, or nil. Attempts of an older pawl have no
// seal: for them public is "", and any record counts.
func (s Status) ExitSealed(public string) *pawl.Exit {
	if s.Exit == nil || public != "" && !s.sent && !sealedWith(s.exitRecord, public) {
		return nil
	}
	return s.Exit
}
