package variables

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pawl/internal/disk"
)

// manifestLimit is the largest manifest that is read, in bytes. Each variable takes about 300.
const manifestLimit = 256 << 20

// Store is the folder with the checkpoints of one session:
//
//	objects/SHA256       content of variables
//	manifests/ID.json    manifests
//	verified/ID.json     commit records: what the verification found
//	staging/ID/          what a kernel is writing
//
// Several processes may use it at the same time.
type Store struct {
	dir string
	mu  sync.Mutex // held while the folder lock is held or awaited, because a file lock does not exclude its own process
}

// Open returns the store in a folder, which is made if it is missing. The path is absolute.
func Open(dir string) (*Store, error) {
	for _, name := range []string{"objects", "manifests", "verified", "staging"} {
		if err := disk.MakeFolders(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return &Store{dir: dir}, nil
}

// locked calls do while no other process changes the store.
func (s *Store) locked(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := disk.OpenAppend(filepath.Join(s.dir, "lock"))
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", s.dir, err)
		}
	}
	return do()
}

func (s *Store) objects() string            { return filepath.Join(s.dir, "objects") }
func (s *Store) object(name string) string  { return filepath.Join(s.dir, "objects", name) }
func (s *Store) staging(name string) string { return filepath.Join(s.dir, "staging", name) }
func (s *Store) manifestPath(id ID) string {
	return filepath.Join(s.dir, "manifests", string(id)+".json")
}
func (s *Store) verifiedPath(id ID) string {
	return filepath.Join(s.dir, "verified", string(id)+".json")
}

// List returns the checkpoints, verified or not, oldest first. Damaged ones are left out and named in the error.
func (s *Store) List() (list []Manifest, err error) {
	entries, err := disk.ReadDir(filepath.Join(s.dir, "manifests"))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || !validID(ID(id)) {
			continue // a temporary file of a process that crashed
		}
		m, readErr := s.read(ID(id))
		if errors.Is(readErr, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		list = append(list, m)
	}
	return list, err
}

// Manifest returns the manifest of a checkpoint, verified or not.
func (s *Store) Manifest(id ID) (Manifest, error) {
	if !validID(id) {
		return Manifest{}, fmt.Errorf("%w: %q", ErrMissing, id)
	}
	m, err := s.read(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s", ErrMissing, id)
	}
	return m, err
}

func (s *Store) read(id ID) (m Manifest, err error) {
	path := s.manifestPath(id)
	data, err := disk.ReadFile(path, manifestLimit)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%w: %s: %v", ErrDamaged, path, err)
	}
	if err := m.check(); err != nil || !id.names(sum(data)) {
		return m, fmt.Errorf("%w: %s: %v", ErrDamaged, path, err)
	}
	m.ID, m.SHA256 = id, sum(data)
	var found verification
	data, err = disk.ReadFile(s.verifiedPath(id), manifestLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err != nil || found.Manifest != m.SHA256 || found.Verified.IsZero() {
		return m, fmt.Errorf("%w: %s: %v", ErrDamaged, s.verifiedPath(id), err)
	}
	m.apply(found)
	return m, nil
}

// check returns an error unless every place and name can be one that this package wrote.
func (m Manifest) check() error {
	if m.Environment.Path == nil || m.States == nil {
		return errors.New("it has no environment")
	}
	for _, v := range m.Variables {
		if (v.Kind == "value" || v.Kind == "function" || v.Kind == "class") != (v.Place != nil) {
			return fmt.Errorf("variable %q has no place", v.Name)
		}
		if v.Place != nil && !v.Place.valid() {
			return fmt.Errorf("variable %q has an impossible place", v.Name)
		}
	}
	for name, place := range m.States {
		if !place.valid() {
			return fmt.Errorf("the state of %q has an impossible place", name)
		}
	}
	return nil
}

func (p Place) valid() bool { return isHash(p.Object) && p.Offset >= 0 && p.Length >= 0 }

func isHash(name string) bool {
	data, err := hex.DecodeString(name)
	return err == nil && len(data) == sha256.Size && strings.ToLower(name) == name
}

// newNumber returns a number that is greater than those of all checkpoints in the store.
func (s *Store) newNumber() (int, error) {
	last := 0
	for _, folder := range []string{"manifests", "staging"} {
		entries, err := disk.ReadDir(filepath.Join(s.dir, folder))
		if err != nil {
			return 0, err
		}
		for _, entry := range entries {
			number, _, _ := strings.Cut(entry.Name(), "-")
			if n, err := strconv.Atoi(number); err == nil {
				last = max(last, n)
			}
		}
	}
	return last + 1, nil
}

// hashLength is how much of the hash of its manifest an id contains, in hex digits.
const hashLength = 24

func newID(number int, hash string) ID { return ID(fmt.Sprintf("%06d-%s", number, hash[:hashLength])) }

// names reports whether a manifest with a hash has this id.
func (id ID) names(hash string) bool {
	_, start, _ := strings.Cut(string(id), "-")
	return start == hash[:hashLength]
}

// validID reports whether an id is one that newID can return. It is safe as a file name then.
func validID(id ID) bool {
	number, random, ok := strings.Cut(string(id), "-")
	_, err := strconv.ParseUint(number, 10, 63)
	_, hexErr := hex.DecodeString(random)
	return ok && len(number) >= 6 && err == nil && hexErr == nil && len(random) == hashLength
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}
