package runs

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// mark is what the user's state folder holds about a run that was made or adopted here: how far its journal was the user's own.
type mark struct {
	Run     pawl.RunID `json:"run"`
	Segment int        `json:"segment"`           // number of the journal's segments that were sealed
	Bytes   int64      `json:"bytes"`             // length of the segment after them
	Sum     string     `json:"sha256,omitempty"`  // of these bytes; empty if the length is 0
	Foreign bool       `json:"foreign,omitempty"` // events of others were added, and the user has not adopted the run
	Words   []string   `json:"words,omitzero"`    // of the events with which the run was created; nil: unknown, as in the marks of earlier versions

	words      []string             // those, and what was announced since
	serverOnly func() (bool, error) // whether answers must come from a server
}

// maxMark is the number of bytes that are read of a mark.
const maxMark = 1 << 20

func markPath(p *project.Project, run pawl.RunID) string {
	return filepath.Join(p.Trust.Folder, "runs", string(run)+".json")
}

// Claim records that a run is about to be created here with these events, or with unknown ones for nil. Its random id is in no file that
// could arrive.
func Claim(p *project.Project, run pawl.RunID, first []pawl.Event) error {
	m := mark{Run: run}
	if first != nil {
		m.Words = append([]string{}, wordsIn(first)...)
	}
	return writeMark(p, m)
}

// ClaimSoon is Claim without a sync: after a power failure, the run may count as made elsewhere, except for RequireMade. It is for
// programs that make many runs without plans, and pass no answer of a person before they call Mark.
func ClaimSoon(p *project.Project, run pawl.RunID) error {
	if err := p.Trusted(); err != nil {
		return err
	}
	data, err := json.Marshal(mark{Run: run, Words: []string{}})
	if err != nil {
		return err
	}
	path := markPath(p, run)
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return err
	}
	return disk.Put(path, append(data, '\n'))
}

// Claimed reports whether a run was created or adopted here at some time. It is cheap; Elsewhere also compares the journal.
func Claimed(p *project.Project, run pawl.RunID) bool {
	m, err := readMark(p, run)
	return err == nil && !m.Foreign && p.Trust.Trusted()
}

// Proof returns what the first event of a durable run says to prove that it was made here. key is the project's secret key.
func Proof(key []byte, run pawl.RunID) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("made here: " + string(run)))
	return hex.EncodeToString(mac.Sum(nil))
}

// RequireMade is RequireOwn for a durable run. It does not compare the journal. A run whose mark a power failure has lost or torn proves
// by its first event that it was made here.
func RequireMade(p *project.Project, key []byte, run pawl.RunID) error {
	m, err := readMark(p, run)
	if err == nil && !m.Foreign || err != nil && proves(p, key, run) {
		return p.Trusted()
	}
	return RequireOwn(p, run)
}

// proves reports whether the first event of a run has its proof.
func proves(p *project.Project, key []byte, run pawl.RunID) bool {
	segments, err := journal.Files(p.Runs(), run)
	if err != nil {
		return false
	}
	f, err := disk.Open(segments[0])
	if err != nil {
		return false
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, journal.MaxLine)).ReadBytes('\n')
	if err != nil {
		return false
	}
	var created pawl.RunCreated
	kind, data, ok := journal.Content(line)
	return ok && kind == created.Event() && json.Unmarshal(data, &created) == nil && created.Run == run &&
		hmac.Equal([]byte(created.Proof), []byte(Proof(key, run)))
}

// Adopt makes a run that was made elsewhere this user's own. Its kernels are set aside: what they saved runs code when it is loaded, and
// nobody looked at it.
func Adopt(p *project.Project, run pawl.RunID) error {
	if kernels := p.KernelsDir(run); disk.Exists(kernels) {
		if err := disk.Rename(kernels, kernels+".elsewhere-"+disk.RandomHex(4)); err != nil {
			return err
		}
	}
	return Mark(p, run)
}

// Disown makes a run count as made elsewhere, because events of others were added to it.
func Disown(p *project.Project, run pawl.RunID) error {
	return p.WithMarkLock(run, func() error { return writeMark(p, mark{Run: run, Foreign: true}) })
}

// Mark records that the run's journal, up to its present end, is the user's own. Call it for a run that Elsewhere does not report, or
// that the user has adopted.
func Mark(p *project.Project, run pawl.RunID) error {
	return p.WithMarkLock(run, func() error { return markNow(p, run) })
}

// markNow is Mark for a caller that holds the mark lock. The mark ends with the last whole line: pawl moves a torn one aside later.
func markNow(p *project.Project, run pawl.RunID) error {
	segments, err := journal.Files(p.Runs(), run)
	if err != nil {
		return err
	}
	f, err := disk.Open(segments[len(segments)-1])
	if err != nil {
		return err
	}
	defer f.Close()
	h, n := sha256.New(), int64(0)
	for lines := bufio.NewReaderSize(f, journal.MaxLine); ; {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) { // or no line, as in a torn tail
			return writeMark(p, mark{Run: run, Segment: len(segments) - 1, Bytes: n, Sum: hex.EncodeToString(h.Sum(nil))})
		}
		if err != nil {
			return err
		}
		h.Write(line)
		n += int64(len(line))
	}
}

// markAll marks all runs of a project.
func markAll(p *project.Project) error {
	ids, err := List(p)
	for _, run := range ids {
		err = errors.Join(err, Mark(p, run))
	}
	return err
}

func writeMark(p *project.Project, m mark) error {
	if err := p.Trusted(); err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	path := markPath(p, m.Run)
	if err = disk.MakeFolders(filepath.Dir(path)); err == nil {
		err = disk.Replace(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("record that run %s is yours: %w", m.Run, err)
	}
	if err = disk.Remove(wordsPath(p, m.Run)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Elsewhere returns why a run counts as made elsewhere, so that its content is unverified: it has no mark, its journal does not
// continue the marked one, or a word follows that no pawl of this user has announced. It returns "" for a run of this user.
func Elsewhere(p *project.Project, run pawl.RunID) (reason string, err error) {
	reason, err = elsewhere(p, run)
	if reason != foreignWord {
		return reason, err
	}
	err = p.WithMarkLock(run, func() error { // another command may be about to record its word
		reason, err = elsewhere(p, run)
		return err
	})
	return reason, err
}

// foreignWord is why a run counts as made elsewhere if its journal has a word without a record.
const foreignWord = "its journal has an answer, a review or a plan that your pawl did not write"

func elsewhere(p *project.Project, run pawl.RunID) (reason string, err error) {
	if !p.Trust.Trusted() {
		return "the project is not trusted", nil
	}
	m, err := readMark(p, run)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && m.Foreign:
		return "it was imported, copied or pulled", nil
	case errors.Is(err, errMark):
		return err.Error(), nil
	case err != nil:
		return "", err
	}
	m.serverOnly = func() (bool, error) { return ServerOnly(p) }
	if only, err := m.serverOnly(); !only && err == nil {
		if knownOwn(p, run) {
			return "", nil
		}
		if files, local := journalFiles(p.Runs(), run, markPath(p, run), wordsPath(p, run)); local && files.Size() >= memorable {
			defer func() {
				if reason == "" && err == nil {
					rememberOwn(p, run, files)
				}
			}()
		}
	}
	if m.fresh() {
		stored, err := journal.StoredIn(p.Runs(), run)
		if only, errOnly := m.serverOnly(); !only && (stored != "" || m.Words == nil) || errors.Join(err, errOnly) != nil {
			return "", errors.Join(err, errOnly)
		}
	}
	segments, err := journal.Files(p.Runs(), run)
	if errors.Is(err, fs.ErrNotExist) {
		segments, err = journal.Files(p.Archive(), run)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if m.words, err = announced(p, run); err != nil {
		return "", err
	}
	m.words = append(m.words, m.Words...)
	return m.compare(segments)
}

// errMark means that a mark cannot be read, as after a power failure.
var errMark = errors.New("the record that it is yours is damaged")

// readMark returns the mark of a run.
func readMark(p *project.Project, run pawl.RunID) (mark, error) {
	data, err := disk.ReadFile(markPath(p, run), maxMark)
	if err != nil {
		return mark{}, err
	}
	m, ok := parseMark(data, run)
	if !ok {
		return m, fmt.Errorf("%w: %s", errMark, markPath(p, run))
	}
	return m, nil
}

// parseMark returns the mark of a run; ok is false for one of another run, or with a place that no journal has.
func parseMark(data []byte, run pawl.RunID) (m mark, ok bool) {
	err := json.Unmarshal(data, &m)
	return m, err == nil && m.Run == run && m.Segment >= 0 && m.Bytes >= 0
}

// compare returns how a journal differs from the marked one.
func (m mark) compare(segments []string) (reason string, err error) {
	if m.Segment >= len(segments) {
		return otherJournal, nil
	}
	from := m.Bytes
	for i, path := range segments[m.Segment:] {
		if i > 0 {
			from = 0
		}
		if reason, err = m.compareSegment(path, from); reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// fresh reports whether nobody has acted on the run since it was created.
func (m mark) fresh() bool { return m.Segment == 0 && m.Bytes == 0 }

// creates reports whether an event can be one of those with which the run was created, if these are unknown.
func (m mark) creates(kind pawl.EventType) bool {
	return m.fresh() && m.Words == nil && (kind == pawl.RunPlanned{}.Event() || kind == pawl.RunMirrored{}.Event())
}

const otherJournal = "its journal differs from the one that your pawl wrote"

// compareSegment compares the first bytes of a segment, if any are marked, and searches the others for a word that was not announced.
func (m mark) compareSegment(path string, marked int64) (reason string, err error) {
	f, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if marked > 0 {
		h := sha256.New()
		n, err := io.CopyN(h, f, marked)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if n < marked || hex.EncodeToString(h.Sum(nil)) != m.Sum {
			return otherJournal, nil
		}
	}
	lines := bufio.NewReaderSize(f, journal.MaxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if kind, data, ok := journal.Content(line); ok && isWord(kind) && !m.creates(kind) {
			switch {
			case !slices.Contains(m.words, wordSum(kind, data)):
				return foreignWord, nil
			case fromOutside(kind, data):
				if only, err := m.serverOnly(); only || err != nil {
					return outsideWord, err
				}
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull) { // no reader gets past what is not a line
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
}

// RequireOwn returns what the function RequireOwn returns for the run. It asks once.
func (r *Run) RequireOwn(p *project.Project) error {
	if r.foreign == nil {
		err := RequireOwn(p, r.State.Run)
		r.foreign = &err
	}
	return *r.foreign
}

// RequireOwn returns an error of pawl.KindDamaged for a run that was made elsewhere. Whoever executes a run must ask.
func RequireOwn(p *project.Project, run pawl.RunID) error {
	reason, err := Elsewhere(p, run)
	if err != nil || reason == "" {
		return err
	}
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("run %s comes from elsewhere: %s", run, reason), Hint: "pawl adopt " + string(run)}
}
