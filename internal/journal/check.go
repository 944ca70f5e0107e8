package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/disk"
)

// maxFindings is the number of faults at which Check stops: the file is hardly a journal then.
const maxFindings = 100

// Check verifies everything that this package stores in a run's folder, lists all faults and changes nothing. What a
// crash may leave behind is OK or a warning; Bad means damage.
func Check(home string) []pawl.Finding {
	c := &checker{home: home, path: filepath.Join(home, FileName), chain: chain{sum: noSum}}
	c.journal()
	c.folds()
	c.blobs()
	c.leftovers()
	return c.findings
}

// checker verifies a journal like a reader, but continues after a fault.
type checker struct {
	home, path         string
	file               *os.File
	size               int64
	number             int     // line number, from 1
	chain              chain   // after the last line, according to that line
	alternatives       []chain // after a fault: other chains that the next line may continue
	unknownPredecessor bool    // after an unreadable line: the next line's predecessor is unknown
	decoder            decoder
	findings           []pawl.Finding
}

func (c *checker) report(level pawl.Level, where, format string, args ...any) {
	c.findings = append(c.findings, pawl.Finding{Level: level, What: fmt.Sprintf(format, args...), Where: where})
}

// reportDamage records a fault of the journal itself, with the command to rebuild it.
func (c *checker) reportDamage(where string, fault error) {
	c.report(pawl.Bad, where, "%v", fault)
	c.findings[len(c.findings)-1].Hint = pawl.HintOf(damaged(c.path, 0, 0, fault))
}

// position names the line that starts at the end of the chain.
func (c *checker) position() string {
	return fmt.Sprintf("%s: line %d, byte %d", c.path, c.number, c.chain.end)
}

func (c *checker) journal() {
	file, err := disk.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) && lost(c.home) {
		c.reportDamage(c.path, errors.New("the journal is missing"))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		c.report(pawl.Warn, c.path, "missing journal: the creation of the run was interrupted")
		return
	}
	if err != nil {
		c.report(pawl.Bad, c.path, "%v", err)
		return
	}
	defer file.Close()
	l := &Log{file: disk.File{File: file}, home: c.home}
	unlock, err := l.lock(unix.LOCK_SH)
	if err != nil {
		c.report(pawl.Bad, c.path, "%v", err)
		return
	}
	defer unlock()
	if err := c.segments(file); err != nil {
		c.report(pawl.Bad, c.position(), "%v", err)
	}
	if c.size > 0 && c.chain.seq == 0 && hasTraces(c.home) {
		c.reportDamage(c.path, errors.New("the journal is truncated within its first event, although the run did more"))
	}
}

// segments checks the sealed segments and then the open one.
func (c *checker) segments(open *os.File) error {
	info, err := open.Stat()
	if err != nil {
		return err
	}
	v, _, err := readHeader(open, info.Size(), c.run())
	if err != nil {
		c.reportDamage(c.path, err)
		return nil
	}
	list, err := sealedIn(c.home, v.first)
	if err != nil {
		return err
	}
	last := c.path
	for _, s := range list {
		file, err := disk.Open(s.path)
		if err != nil {
			return err
		}
		c.path = s.path
		if err := errors.Join(c.segment(file), file.Close()); err != nil {
			return err
		}
	}
	c.path = last
	if err := c.segment(open); err != nil {
		return err
	}
	c.summary()
	return nil
}

func (c *checker) run() pawl.RunID { return pawl.RunID(filepath.Base(c.home)) }

// segment checks one file, which follows the chain.
func (c *checker) segment(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	v, from, err := readHeader(file, info.Size(), c.run())
	switch {
	case err != nil:
	case from != nil:
		err = from.follows(0, c.chain)
	case c.chain.seq > 0:
		err = fmt.Errorf("missing header: the segment does not follow event %d", c.chain.seq)
	}
	if err != nil {
		c.reportDamage(c.path, err)
		c.chain.end = 0
	}
	if from != nil {
		c.chain, c.number = v.chain, 1
		c.alternatives, c.unknownPredecessor = nil, false
	}
	return c.lines(file)
}

func (c *checker) lines(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	c.file, c.size = file, info.Size()
	in := newLines(file, c.chain.end, c.size)
	for len(c.findings) < maxFindings {
		line, err := in.next()
		if err != nil || line == nil {
			return err
		}
		c.number++
		if more, err := c.line(line); !more {
			return err
		}
	}
	return fmt.Errorf("more than %d faults: the rest was not checked", maxFindings)
}

func (c *checker) summary() {
	switch {
	case c.size == 0 && lost(c.home):
		c.reportDamage(c.path, errors.New("the journal is empty, although the run has files"))
	case c.size == 0:
		c.report(pawl.Warn, c.path, "%v", ErrEmpty)
	case len(c.findings) == 0:
		c.report(pawl.OK, c.path, "%d events verified", c.chain.seq)
	}
}

// line checks the next line. It returns false at a torn tail, where the journal ends.
func (c *checker) line(line []byte) (more bool, err error) {
	before := c.chain
	fault := c.follow(line)
	if fault == nil {
		c.content(line, before)
		return true, nil
	}
	after := c.chain
	c.chain = before
	if torn, err := c.torn(); torn || err != nil {
		return false, err
	}
	c.reportDamage(c.position(), fault)
	c.chain = after
	return true, nil
}

// torn reports whether the chain is followed by a torn tail.
func (c *checker) torn() (bool, error) {
	rest := newLines(c.file, c.chain.end, c.size)
	line, err := rest.next()
	if err != nil {
		return false, err
	}
	harmless, err := torn(rest, line, c.chain)
	if harmless {
		c.report(pawl.Warn, c.position(), "%d bytes of an interrupted append, which was never acknowledged: the next writer moves them to a file of their own", c.size-c.chain.end)
	}
	return harmless, err
}

// follow advances the chain past line even if the line is bad, and returns its fault.
func (c *checker) follow(line []byte) (fault error) {
	for _, place := range append([]chain{c.chain}, c.alternatives...) {
		place.end, place.start = c.chain.end, c.chain.start
		_, err := place.follow(line)
		if err == nil {
			c.chain, c.alternatives, c.unknownPredecessor = place, nil, false
			return nil
		}
		if fault == nil {
			fault = err
		}
	}
	if r, ok := splitLine(line); !ok {
		c.chain.seq, c.chain.end = c.chain.seq+1, c.chain.end+int64(len(line))
		c.alternatives, c.unknownPredecessor = nil, true
	} else {
		if c.unknownPredecessor && r.seq > c.chain.seq {
			fault = nil // the predecessor is unknown
		}
		c.addAlternatives(r, len(line))
	}
	return fault
}

// addAlternatives advances the chain past a bad line of this size, according to that line. Either its number or its
// checksum may be wrong, so the next line may also continue the expected values.
func (c *checker) addAlternatives(r rawLine, size int) {
	right := c.chain.sum.next(r.body)
	expected := chain{seq: c.chain.seq + 1, epoch: c.chain.epoch, batch: c.chain.batch}
	c.chain.advance(r, size)
	written := c.chain
	c.alternatives, c.unknownPredecessor = nil, false
	for _, sum := range []sum{r.sum, right} {
		expected.sum, written.sum = sum, sum
		c.alternatives = append(c.alternatives, written, expected)
	}
}

// content checks the content of a line that follows the chain.
func (c *checker) content(line []byte, before chain) {
	r, _ := splitLine(line)
	where := fmt.Sprintf("%s: line %d, byte %d", c.path, c.number, before.end)
	event, err := c.decoder.event(r)
	if err == nil && !json.Valid(r.data) {
		err = errors.New("data is not JSON")
	}
	if err == nil && r.seq == 1 {
		err = checkFirst(c.run(), event.Type, r.data)
	}
	if err != nil {
		c.reportDamage(where, err)
		return
	}
	if _, err := event.Payload(); err != nil {
		c.report(pawl.Warn, where, "%v", err)
	}
}

// blobs checks that each blob matches its name.
func (c *checker) blobs() {
	folder := filepath.Join(c.home, blobFolder)
	entries, err := disk.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.report(pawl.Bad, folder, "%v", err)
	}
	l := &Log{home: c.home}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue // temporary file of a crashed writer
		}
		if _, err := l.Blob(entry.Name()); err != nil {
			c.report(pawl.Bad, filepath.Join(folder, entry.Name()), "%v", err)
		}
	}
}

// leftovers lists the saved torn tails and damaged journals.
func (c *checker) leftovers() {
	names, err := disk.Glob(c.home, tornPrefix+"*")
	if err != nil {
		c.report(pawl.Bad, c.home, "%v", err)
	}
	for _, name := range names {
		c.report(pawl.OK, name, "the bytes of an interrupted append, which was never acknowledged")
	}
	names, err = disk.Glob(c.home, damagedPrefix+"*")
	if err != nil {
		c.report(pawl.Bad, c.home, "%v", err)
	}
	for _, name := range names {
		c.report(pawl.OK, name, "a damaged journal, saved when it was rebuilt")
	}
}
