package runs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/journal"
	"pawl/internal/project"
)

// mark is what the user's state folder holds about a run that was made or adopted here: how far its journal was the user's own.
type mark struct {
	Run     pawl.RunID `json:"run"`
	Segment int        `json:"segment"`          // number of the journal's segments that were sealed
	Bytes   int64      `json:"bytes"`            // length of the segment after them
	Sum     string     `json:"sha256,omitempty"` // of these bytes; empty if the length is 0
}

// maxMark is the number of bytes that are read of a mark.
const maxMark = 1 << 10

func markPath(p *project.Project, run pawl.RunID) string {
	return filepath.Join(p.Trust.Folder, "runs", string(run)+".json")
}

// Claim records that a run is about to be created here. Its random id is in no file that could arrive.
func Claim(p *project.Project, run pawl.RunID) error { return writeMark(p, mark{Run: run}) }

// Claimed reports whether a run was created or adopted here at some time. It is cheap; Elsewhere also compares the journal.
func Claimed(p *project.Project, run pawl.RunID) bool {
	_, err := disk.Lstat(markPath(p, run))
	return err == nil && p.Trust.Trusted()
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
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return writeMark(p, mark{run, len(segments) - 1, n, hex.EncodeToString(h.Sum(nil))})
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
	if err := disk.MakeFolders(filepath.Dir(path)); err != nil {
		return fmt.Errorf("record that run %s is yours: %w", m.Run, err)
	}
	return disk.Replace(path, append(data, '\n'))
}

// Elsewhere returns why a run counts as made elsewhere, so that its content is unverified: it has no mark, its journal does not
// continue the marked one, or a person's word follows that no command of this user has written. It returns "" for a run of this user.
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

// foreignWord is why a run counts as made elsewhere if its journal holds a person's word without a record.
const foreignWord = "its journal has a person's answer, review or plan that none of your commands wrote"

func elsewhere(p *project.Project, run pawl.RunID) (reason string, err error) {
	if !p.Trust.Trusted() {
		return "the project is not trusted", nil
	}
	data, err := disk.ReadFile(markPath(p, run), maxMark)
	if errors.Is(err, fs.ErrNotExist) {
		return "your pawl did not make it here", nil
	}
	if err != nil {
		return "", err
	}
	var m mark
	if err := json.Unmarshal(data, &m); err != nil || m.Run != run {
		return "", fmt.Errorf("read %s: invalid record", markPath(p, run))
	}
	if m.Segment == 0 && m.Bytes == 0 {
		return "", nil
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
	return m.compare(segments)
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

const otherJournal = "its journal is not the one that your pawl wrote"

// compareSegment compares the first bytes of a segment, if any are marked, and searches the others for a person's word.
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
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if isPersonsWord(line) {
			return foreignWord, nil
		}
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
}

// isPersonsWord reports whether a journal line lets work continue on the word of a person.
func isPersonsWord(line []byte) bool {
	var e struct {
		By   pawl.Author    `json:"by"`
		Type pawl.EventType `json:"type"`
	}
	if !bytes.Contains(line, []byte(`"person"`)) || json.Unmarshal(line, &e) != nil || e.By.Kind != pawl.ByPerson {
		return false
	}
	switch e.Type {
	case pawl.GateAnswered{}.Event(), pawl.RunPlanned{}.Event(), pawl.StepReviewed{}.Event(), pawl.StepSkipped{}.Event():
		return true
	}
	return false
}

// RequireOwn returns an error of pawl.KindDamaged for a run that was made elsewhere. Whoever executes a run must ask.
func RequireOwn(p *project.Project, run pawl.RunID) error {
	reason, err := Elsewhere(p, run)
	if err != nil || reason == "" {
		return err
	}
	return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("run %s comes from elsewhere: %s", run, reason), Hint: "pawl adopt " + string(run)}
}
