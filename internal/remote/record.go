package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/lazyregexp"
	"pawl/internal/snapshot/pack"
)

// Record is what a push stored. The next push of the run has the next number.
type Record struct {
	Format   int        `json:"format"`
	Run      pawl.RunID `json:"run"`
	Number   int        `json:"number"`
	Previous string     `json:"previous,omitempty"` // SHA-256 of the record before
	Time     time.Time  `json:"time"`
	Owner    Owner      `json:"owner"`
	Name     string     `json:"name,omitempty"`     // of the run
	Status   string     `json:"status,omitempty"`   // of the run
	Seq      pawl.Seq   `json:"seq"`                // of the last event
	Database string     `json:"database,omitempty"` // ID of the database that has the journal; then there are no Files
	Live     []string   `json:"live,omitempty"`     // attempts whose end the journal does not have
	Packs    []PackRef  `json:"packs"`              // that have the objects below, oldest first
	Files    []File     `json:"files"`              // of the run's folder
	Commits  []Part     `json:"snapshots"`          // objects with the IDs of the snapshots' commit records, 32 bytes each, oldest first
	Sum      string     `json:"-"`                  // SHA-256 of the record
}

// Owner is who pushed.
type Owner struct {
	Host    string     `json:"host"`
	Machine string     `json:"machine"` // derived from the machine's ID
	Project string     `json:"project"` // ID of the project there
	Epoch   pawl.Epoch `json:"epoch"`   // of the run's last engine
	Pawl    string     `json:"pawl"`    // version
}

// PackRef names a pack and its index.
type PackRef struct {
	Pack  string `json:"pack"` // SHA-256
	Size  int64  `json:"size"`
	Index string `json:"index"` // SHA-256
}

// File is a file of a run's folder.
type File struct {
	Name  string `json:"name"` // with slashes
	Parts []Part `json:"parts"`
}

// Size returns the size of the file.
func (f File) Size() (n int64) {
	for _, p := range f.Parts {
		n += p.Size
	}
	return n
}

// Part is a part of a file: an object.
type Part struct {
	ID   pack.ID `json:"id"`
	Size int64   `json:"size"`
}

// Limits of what a record may contain.
const (
	recordFormat = 1
	maxRecord    = 32 << 20
	maxFile      = 1 << 30 // bytes of a file of a run's folder
	maxFiles     = 8 << 30 // bytes of all of them
	hashSize     = 16      // digits of a record's SHA-256 in its name
)

// validSum matches a SHA-256.
var validSum = lazyregexp.New(`^[0-9a-f]{64}$`)

// validRecord matches the last component of a record's key.
var validRecord = lazyregexp.New(`^[0-9]{6,9}(-[0-9a-f]{16})?\.json$`)

// A Ref names a record of a run.
type Ref struct {
	Number int
	Hash   string // the first 16 digits of the SHA-256; only on a remote that ignores conditions
}

func recordKey(run pawl.RunID, ref Ref) string {
	hash := ref.Hash
	if hash != "" {
		hash = "-" + hash
	}
	return fmt.Sprintf("%s%s/%06d%s.json", runPrefix, run, ref.Number, hash)
}

// parseRecordKey is the inverse of recordKey.
func parseRecordKey(key string) (run pawl.RunID, ref Ref, ok bool) {
	rest, ok := strings.CutPrefix(key, runPrefix)
	name, file, found := strings.Cut(rest, "/")
	if !ok || !found || !validRecord.MatchString(file) {
		return "", ref, false
	}
	run, err := pawl.ParseRunID(name)
	digits, hash, _ := strings.Cut(strings.TrimSuffix(file, ".json"), "-")
	number, errNumber := strconv.Atoi(digits)
	ref = Ref{number, hash}
	return run, ref, err == nil && errNumber == nil && number > 0 && recordKey(run, ref) == key
}

// Heads returns the newest record of each run, or only of one, unless run is empty. If a run has several, two machines have pushed it at
// the same time.
func Heads(ctx context.Context, s Store, run pawl.RunID) (map[pawl.RunID][]Ref, error) {
	prefix := runPrefix
	if run != "" {
		prefix += string(run) + "/"
	}
	there, err := s.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	newest := map[pawl.RunID][]Ref{}
	for _, o := range there {
		run, ref, ok := parseRecordKey(o.Key)
		if !ok {
			continue
		}
		heads := newest[run]
		if len(heads) > 0 && heads[0].Number < ref.Number {
			heads = nil
		}
		if len(heads) == 0 || heads[0].Number == ref.Number {
			newest[run] = append(heads, ref)
		}
	}
	return newest, nil
}

// Read returns a record of a run.
func Read(ctx context.Context, s Store, run pawl.RunID, ref Ref) (*Record, error) {
	data, err := s.Get(ctx, recordKey(run, ref), maxRecord)
	if err != nil {
		return nil, err
	}
	return parseRecord(data, run, ref)
}

// Newest returns the newest record of a run; nil if there is none. If there are several, the error is a *ConflictError.
func Newest(ctx context.Context, s Store, run pawl.RunID) (*Record, error) {
	all, err := Heads(ctx, s, run)
	if err != nil {
		return nil, err
	}
	var records []*Record
	for _, ref := range all[run] {
		r, err := Read(ctx, s, run, ref)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	switch len(records) {
	case 0:
		return nil, nil
	case 1:
		return records[0], nil
	}
	return nil, &ConflictError{Run: run, Records: records}
}

// ConflictError means that several machines have pushed the same number of a run, to a remote that ignores conditions.
type ConflictError struct {
	Run     pawl.RunID
	Records []*Record
}

func (e *ConflictError) Error() string {
	var by []string
	for _, r := range e.Records {
		by = append(by, fmt.Sprintf("%s (%s, %s)", r.Sum[:hashSize], r.Owner.Host, r.Time.Local().Format("2006-01-02 15:04 MST")))
	}
	return fmt.Sprintf("run %s has a conflict on the remote: several machines have pushed it as push %d: %s; nothing is merged: delete all but one",
		e.Run, e.Records[0].Number, strings.Join(by, ", "))
}

// Unwrap gives the error its kind.
func (e *ConflictError) Unwrap() error {
	return &pawl.Error{Kind: pawl.KindDamaged, Err: ErrPushed, Hint: "pawl remote delete " + string(e.Run) + " --push HASH"}
}

// parseRecord parses a record of a run. It returns only valid ones.
func parseRecord(data []byte, run pawl.RunID, ref Ref) (*Record, error) {
	r := &Record{Sum: sumOf(data)}
	dec := json.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(r)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("data after the record")
		}
	}
	if err == nil && r.Format != recordFormat {
		return nil, damaged("%s has format %d, and this pawl reads format %d", recordKey(run, ref), r.Format, recordFormat)
	}
	if err == nil {
		err = r.check(run, ref.Number)
	}
	if err == nil && !strings.HasPrefix(r.Sum, ref.Hash) {
		err = errors.New("content does not match the SHA-256 in its name")
	}
	if err != nil {
		return nil, damaged("%s on the remote: %w", recordKey(run, ref), err)
	}
	return r, nil
}

func (r *Record) check(run pawl.RunID, number int) error {
	if r.Run != run || r.Number != number {
		return fmt.Errorf("it is record %d of run %q", r.Number, r.Run)
	}
	for _, p := range r.Packs {
		if !validSum.MatchString(p.Pack) || !validSum.MatchString(p.Index) || p.Size < 0 || p.Size > maxPackSize {
			return fmt.Errorf("invalid pack %q", p.Pack)
		}
	}
	var total int64
	seen := map[string]bool{}
	for _, f := range append([]File{{Parts: r.Commits}}, r.Files...) {
		var size int64
		for _, p := range f.Parts {
			if p.Size < 0 || p.Size > pack.MaxObject {
				return fmt.Errorf("invalid part of %q", f.Name)
			}
			size += p.Size
		}
		if total += size; size > maxFile || total > maxFiles {
			return fmt.Errorf("file %q is too large", f.Name)
		}
		if f.Name != "" && !ValidFile(f.Name) || seen[f.Name] {
			return fmt.Errorf("invalid file %q", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// validFile matches the files of a run's folder that travel: journal, plans, blobs, and the records of attempts.
var validFile = lazyregexp.New(`^(journal(\.[0-9]{1,18})?\.jsonl|plan(\.[0-9]{1,9})?\.yaml|blobs/[0-9a-f]{64}|` +
	`steps/` + id + `(/` + id + `)?/[0-9]{1,9}/(job\.json|script|begun\.json|events\.jsonl|out\.log|err\.log|result\.json|exit\.json|abort\.json))$`)

const id = `[A-Za-z0-9._-]{1,64}`

// ValidFile reports whether a file of a run's folder may be part of a Record.
func ValidFile(name string) bool {
	for component := range strings.SplitSeq(name, "/") {
		if strings.Trim(component, ".") == "" {
			return false
		}
	}
	return validFile.MatchString(name)
}

// ErrPushed means that another machine has pushed the run.
var ErrPushed = errors.New("another machine has pushed the run")

// Commit creates the record, as the newest one of its run. It returns ErrPushed if there is another one with its number, or a newer one.
func (r *Record) Commit(ctx context.Context, s Store, content []byte, on Identity) error {
	ref := Ref{Number: r.Number}
	if on.Unconditional {
		ref.Hash = r.Sum[:hashSize]
	}
	created, err := s.Create(ctx, recordKey(r.Run, ref), content)
	if err != nil {
		return err
	}
	heads, err := Heads(ctx, s, r.Run)
	if err == nil && (!created && !on.Unconditional || !slices.Equal(heads[r.Run], []Ref{ref})) {
		err = ErrPushed
	}
	return err
}

// DeleteRun deletes the pushes of a run, the oldest first; only the one whose SHA-256 begins with hash, unless that is empty. It returns
// how many it has deleted. What they alone need is left to Prune.
func DeleteRun(ctx context.Context, s Store, run pawl.RunID, hash string) (deleted int, err error) {
	there, err := s.List(ctx, runPrefix+string(run)+"/")
	if err != nil {
		return 0, err
	}
	for _, o := range there {
		_, ref, ok := parseRecordKey(o.Key)
		if !ok || hash != "" && (ref.Hash == "" || !strings.HasPrefix(ref.Hash, hash)) {
			continue
		}
		if err := s.Delete(ctx, o.Key); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// Encode returns the content of the record, and sets Sum.
func (r *Record) Encode() ([]byte, error) {
	r.Format = recordFormat
	content, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	content = append(content, '\n')
	if len(content) > maxRecord {
		return nil, fmt.Errorf("the record of run %s would have %d bytes; at most %d", r.Run, len(content), maxRecord)
	}
	r.Sum = sumOf(content)
	return content, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
