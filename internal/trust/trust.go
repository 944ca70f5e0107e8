// Package trust records which projects this user trusts. Files that arrived in a project (by clone, archive or shared folder) prove
// nothing, so the record lies in the user's state folder and names a random value that only the project's folder holds.
//
// A project is trusted if its .pawl belongs to this user, its file "local" holds the value of a record, and the record names its
// path and this machine. The file is written last but for project.json: a crash leaves an untrusted folder, or a trusted one that
// the next command completes.
package trust

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl/internal/disk"
	"pawl/internal/userdir"
)

// File is the name in .pawl of the file with the random value.
const File = "local"

const (
	valueSize = 32      // bytes of randomness in the value
	maxFile   = 1 << 10 // bytes that are read of the file
	maxRecord = 1 << 20 // bytes that are read of a record
)

// How a project came to be trusted.
const (
	Created = "created" // this user's pawl made its .pawl
	Told    = "trusted" // the user ran "pawl trust"
)

// Record is what the user's state folder holds about a trusted project.
type Record struct {
	Path    string    `json:"path"`              // canonical path of the project
	Hosts   []string  `json:"hosts"`             // machine ids where it is trusted
	Owner   int       `json:"owner"`             // user id that .pawl belonged to
	Project string    `json:"project"`           // id of the project
	Device  uint64    `json:"device"`            // of .pawl; shown, not required
	Inode   uint64    `json:"inode"`             // of .pawl; shown, not required
	Since   time.Time `json:"since"`             // time of the user's consent
	How     string    `json:"how"`               // Created or Told
	Brought bool      `json:"brought,omitempty"` // the value was in the folder before the user trusted it, so whoever made it can bring it again
	Config  string    `json:"config,omitempty"`  // SHA-256 of the config.yaml whose commands and URLs the user allowed

	Mirrors []string `json:"mirrors,omitempty"` // canonical paths of mirrored files outside the project that the user named
}

// Standing says whether a project is trusted.
type Standing struct {
	Record
	Folder string // folder of the user's data about the project; empty if it has no record
	Reason string // why the project is not trusted; empty if it is
	Moved  string // the recorded path, if the project has moved since
	Copy   bool   // the reason is that another folder holds the same value

	Replaced bool // .pawl is another folder than the recorded one: it was moved, restored, or its device has another number
}

// Trusted reports whether the project is trusted.
func (s Standing) Trusted() bool { return s.Reason == "" }

// Check returns the standing of the project whose .pawl is home. It writes nothing.
func Check(home string) Standing {
	if reason := checkFolder(home); reason != "" {
		return Standing{Reason: reason}
	}
	value, reason := readValue(home)
	if reason != "" {
		return Standing{Reason: reason}
	}
	folder, err := folderOf(value)
	if err != nil {
		return Standing{Reason: err.Error()}
	}
	root := filepath.Dir(home)
	if userdir.Within(folder, root) {
		return Standing{Reason: fmt.Sprintf("the state folder %s is in the project", folder)}
	}
	record, err := readRecord(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return Standing{Reason: "you have not trusted it on this machine"}
	}
	if err != nil {
		return Standing{Reason: err.Error()}
	}
	s := Standing{Record: record, Folder: folder}
	s.compare(root, value)
	return s
}

// compare sets Reason, Moved and Copy from the record and the project's present path, machine and owner.
func (s *Standing) compare(root, value string) {
	host := Host()
	switch {
	case !slices.Contains(s.Hosts, host):
		s.Reason = "you trusted it on another machine"
	case s.Path != root && !sameFolder(s.Path, root):
		other, _ := readValue(home(s.Path)) // an unreadable one is not a copy
		if other == value {
			s.Reason, s.Copy = fmt.Sprintf("it is a copy of the project at %s", s.Path), true
		} else {
			s.Moved = s.Path
		}
	}
	device, inode := identityOf(home(root))
	s.Replaced = s.Moved != "" || s.Device != device || s.Inode != inode
	if s.Reason == "" && s.Brought && (s.Moved != "" || s.Inode != inode) {
		s.Reason, s.Moved = "it is another folder than the one that you trusted; its .pawl/local was copied from there", ""
	}
}

// identityOf returns the device and the inode of a folder; 0 if they are unknown.
func identityOf(folder string) (device, inode uint64) {
	info, err := os.Lstat(folder)
	if err != nil {
		return 0, 0
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev), stat.Ino
	}
	return 0, 0
}

// home returns the .pawl folder of a project.
func home(root string) string { return filepath.Join(root, ".pawl") }

// checkFolder returns why a .pawl folder must not be adopted; empty if it may.
func checkFolder(home string) string {
	info, err := os.Lstat(home)
	if err != nil {
		return err.Error()
	}
	if !info.IsDir() {
		return "it is not a folder"
	}
	if owner := OwnerOf(info); !OwnerAllowed(owner) {
		return fmt.Sprintf("it belongs to another user (id %d)", owner)
	}
	return ""
}

// OwnerAllowed reports whether this process may adopt folders of a user: its own, and for root the ones of the user who called sudo.
func OwnerAllowed(owner int) bool {
	me := os.Geteuid()
	return owner == me || me == 0 && os.Getenv("SUDO_UID") == strconv.Itoa(owner)
}

// OwnerOf returns the id of the user that a file belongs to; -1 if unknown.
func OwnerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// readValue returns the value in a project's file, or why there is none.
func readValue(home string) (value, reason string) {
	data, err := disk.ReadFile(filepath.Join(home, File), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "you have not trusted it"
	}
	if err != nil {
		return "", err.Error()
	}
	if value, ok := parseValue(data); ok {
		return value, ""
	}
	return "", fmt.Sprintf("%s does not contain a value that pawl wrote", filepath.Join(home, File))
}

func parseValue(data []byte) (value string, ok bool) {
	value = strings.TrimSpace(string(data))
	raw, err := hex.DecodeString(value)
	return value, err == nil && len(raw) == valueSize
}

// folderOf returns the folder of the user's data about the project that holds value.
func folderOf(value string) (string, error) {
	sum := sha256.Sum256([]byte(value))
	return userdir.State("trusted", hex.EncodeToString(sum[:]))
}

func recordPath(folder string) string { return filepath.Join(folder, "record.json") }

func readRecord(folder string) (Record, error) {
	data, err := disk.ReadFile(recordPath(folder), maxRecord)
	if err != nil {
		return Record{}, err
	}
	r, err := parseRecord(data)
	if err != nil {
		return Record{}, fmt.Errorf("read %s: %w", recordPath(folder), err)
	}
	return r, nil
}

func parseRecord(data []byte) (r Record, err error) { return r, json.Unmarshal(data, &r) }

// Grant trusts the project at root from now on: it writes the record, then the project's value. An existing value is kept unless
// fresh is set; without a record it proves nothing in another folder. The caller holds the project's edit lock.
func Grant(root, project, how string, fresh bool, now time.Time) (Standing, error) {
	info, err := os.Lstat(home(root))
	if err != nil {
		return Standing{}, err
	}
	value, reason := readValue(home(root))
	if reason != "" || fresh {
		value = newValue()
	}
	folder, err := folderOf(value)
	if err != nil {
		return Standing{}, err
	}
	if userdir.Within(folder, root) {
		return Standing{}, fmt.Errorf("the state folder %s is in the project: set PAWL_STATE to a folder outside", folder)
	}
	r, err := readRecord(folder)
	if errors.Is(err, fs.ErrNotExist) {
		r.Brought, err = reason == "" && !fresh, nil
	}
	if err != nil {
		return Standing{}, err
	}
	r.Path, r.Owner, r.Project, r.Since, r.How = root, OwnerOf(info), project, now.UTC(), how
	if host := Host(); !slices.Contains(r.Hosts, host) {
		r.Hosts = append(r.Hosts, host)
	}
	r.Device, r.Inode = identityOf(home(root))
	if err := r.write(folder); err != nil {
		return Standing{}, err
	}
	if err := writeValue(home(root), value); err != nil {
		return Standing{}, err
	}
	return Standing{Record: r, Folder: folder}, nil
}

func newValue() string {
	var raw [valueSize]byte
	rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

// writeValue writes the project's file, unless it holds the value already.
func writeValue(home, value string) error {
	path, line := filepath.Join(home, File), []byte(value+"\n")
	if data, err := disk.ReadFile(path, maxFile); err == nil && bytes.Equal(data, line) {
		return nil
	}
	return disk.Replace(path, line)
}

func (r Record) write(folder string) error {
	if err := disk.MakeFolders(folder); err != nil {
		return fmt.Errorf("record the trust in this project: %w", err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(recordPath(folder), append(data, '\n'))
}

// Mend records where a trusted project is now.
func (s *Standing) Mend(root string) error {
	err := s.Update(func(r *Record) {
		r.Path = root
		r.Device, r.Inode = identityOf(home(root))
	})
	s.Replaced = s.Replaced && err != nil
	return err
}

// Update changes the record of a trusted project.
func (s *Standing) Update(change func(*Record)) error {
	changed := s.Record
	change(&changed)
	if err := changed.write(s.Folder); err != nil {
		return err
	}
	s.Record, s.Moved = changed, ""
	return nil
}

// Revoke removes the record. The user's data about the project stays, for the case that the user trusts it again.
func (s Standing) Revoke() error { return disk.Remove(recordPath(s.Folder)) }

// List returns the standing of all recorded projects, ordered by path. The error reports unreadable records.
func List() ([]Standing, error) {
	base, err := userdir.State("trusted")
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Standing
	var faults []error
	for _, entry := range entries {
		folder := filepath.Join(base, entry.Name())
		r, err := readRecord(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		s := Check(home(r.Path))
		if s.Folder != folder {
			s = Standing{Reason: "the folder is gone, or holds another project"}
		}
		s.Record, s.Folder = r, folder
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Standing) int { return strings.Compare(a.Path, b.Path) })
	return all, errors.Join(faults...)
}

// Host returns the id of this machine; empty if it has none, as in most containers.
func Host() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if data, err := disk.ReadFile(path, maxFile); err == nil && len(bytes.TrimSpace(data)) > 0 {
			return string(bytes.TrimSpace(data))
		}
	}
	return machineID()
}

func sameFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
