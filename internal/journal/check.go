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

// maxFindings is after how many faults Check looks no further: the file is no journal then.
const maxFindings = 100

// Check looks at all that this package keeps in a run's folder, lists every fault, and changes nothing. What a pawl
// that dies may leave behind is OK or a warning; Bad is what no death explains.
func Check(home string) []pawl.Finding {
	c := &checker{home: home, path: filepath.Join(home, FileName), chain: chain{sum: noSum}}
	c.journal()
	c.blobs()
	c.leftovers()
	return c.findings
}

// checker goes along a journal as a reader does, but goes on behind a fault.
type checker struct {
	home, path string
	file       *os.File
	size       int64
	number     int     // of the line, as an editor counts
	chain      chain   // behind the last line, as it says
	doubts     []chain // after a fault: what else the next line may build on
	lost       bool    // after a line that says nothing: what the next one builds on cannot be known
	decoder    decoder
	findings   []pawl.Finding
}

func (c *checker) find(level pawl.Level, where, format string, args ...any) {
	c.findings = append(c.findings, pawl.Finding{Level: level, What: fmt.Sprintf(format, args...), Where: where})
}

// damage notes a fault of the journal itself, which can be rebuilt.
func (c *checker) damage(where string, fault error) {
	c.find(pawl.Bad, where, "%v", fault)
	c.findings[len(c.findings)-1].Hint = pawl.HintOf(damaged(c.path, 0, 0, fault))
}

// here names the line that begins where the chain ends.
func (c *checker) here() string {
	return fmt.Sprintf("%s: line %d, byte %d", c.path, c.number, c.chain.end)
}

func (c *checker) journal() {
	file, err := os.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) && lost(c.home) {
		c.damage(c.path, errors.New("there is no journal any more"))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		c.find(pawl.Warn, c.path, "there is no journal: the run's making was cut off")
		return
	}
	if err != nil {
		c.find(pawl.Bad, c.path, "%v", err)
		return
	}
	defer file.Close()
	l := &Log{file: disk.File{File: file}, home: c.home}
	unlock, err := l.lock(unix.LOCK_SH)
	if err != nil {
		c.find(pawl.Bad, c.path, "%v", err)
		return
	}
	defer unlock()
	if err := c.lines(file); err != nil {
		c.find(pawl.Bad, c.here(), "%v", err)
	}
	if c.size > 0 && c.chain.seq == 0 && outlived(c.home) {
		c.damage(c.path, errors.New("it is cut off before its first event is whole, and more was done"))
	}
}

func (c *checker) lines(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	c.file, c.size = file, info.Size()
	in := newLines(file, 0, c.size)
	for len(c.findings) < maxFindings {
		line, err := in.next()
		if err != nil {
			return err
		}
		if line == nil {
			c.summary()
			return nil
		}
		c.number++
		if goOn, err := c.line(line); !goOn {
			return err
		}
	}
	return fmt.Errorf("more than %d faults: the rest is not looked at", maxFindings)
}

func (c *checker) summary() {
	switch {
	case c.size == 0 && lost(c.home):
		c.damage(c.path, errors.New("the journal is empty, and was not"))
	case c.size == 0:
		c.find(pawl.Warn, c.path, "%v", ErrEmpty)
	case len(c.findings) == 0:
		c.find(pawl.OK, c.path, "%d events verified", c.chain.seq)
	}
}

// line checks the next line. It is false behind a torn tail, where the journal ends.
func (c *checker) line(line []byte) (goOn bool, err error) {
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
	c.damage(c.here(), fault)
	c.chain = after
	return true, nil
}

// torn reports whether the file ends in a torn tail where the chain ends.
func (c *checker) torn() (bool, error) {
	rest := newLines(c.file, c.chain.end, c.size)
	line, err := rest.next()
	if err != nil {
		return false, err
	}
	harmless, err := torn(rest, line, c.chain)
	if harmless {
		c.find(pawl.Warn, c.here(), "%d bytes of an append that was cut off, and never acknowledged: the next writer sets them aside", c.size-c.chain.end)
	}
	return harmless, err
}

// follow moves the chain behind line, whatever is wrong with it, and says what is.
func (c *checker) follow(line []byte) (fault error) {
	for _, place := range append([]chain{c.chain}, c.doubts...) {
		place.end, place.start = c.chain.end, c.chain.start
		_, err := place.follow(line)
		if err == nil {
			c.chain, c.doubts, c.lost = place, nil, false
			return nil
		}
		if fault == nil {
			fault = err
		}
	}
	if r, ok := cut(line); !ok {
		c.chain.seq, c.chain.end = c.chain.seq+1, c.chain.end+int64(len(line))
		c.doubts, c.lost = nil, true
	} else {
		if c.lost && r.seq > c.chain.seq {
			fault = nil // what it builds on cannot be known
		}
		c.doubt(r, len(line))
	}
	return fault
}

// doubt moves the chain behind a bad line of this size, as it says itself. But its number may be the wrong one, or
// its checksum: the next line may as well build on what they should be.
func (c *checker) doubt(r record, size int) {
	right := c.chain.sum.next(r.body)
	expected := chain{seq: c.chain.seq + 1, epoch: c.chain.epoch, batch: c.chain.batch}
	c.chain.pass(r, size)
	written := c.chain
	c.doubts, c.lost = nil, false
	for _, sum := range []sum{r.sum, right} {
		expected.sum, written.sum = sum, sum
		c.doubts = append(c.doubts, written, expected)
	}
}

// content checks what a line says that stands in its place.
func (c *checker) content(line []byte, before chain) {
	r, _ := cut(line)
	where := fmt.Sprintf("%s: line %d, byte %d", c.path, c.number, before.end)
	event, err := c.decoder.event(r)
	if err == nil && !json.Valid(r.data) {
		err = errors.New("data is not JSON")
	}
	if err == nil && r.seq == 1 {
		err = checkFirst(pawl.RunID(filepath.Base(c.home)), event.Type, r.data)
	}
	if err != nil {
		c.damage(where, err)
		return
	}
	if _, err := event.Payload(); err != nil {
		c.find(pawl.Warn, where, "%v", err)
	}
}

// blobs checks that each blob is what its name says.
func (c *checker) blobs() {
	folder := filepath.Join(c.home, blobFolder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.find(pawl.Bad, folder, "%v", err)
	}
	l := &Log{home: c.home}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue // the temporary file of one who died
		}
		if _, err := l.Blob(entry.Name()); err != nil {
			c.find(pawl.Bad, filepath.Join(folder, entry.Name()), "%v", err)
		}
	}
}

// leftovers names the torn tails that were set aside.
func (c *checker) leftovers() {
	names, err := filepath.Glob(filepath.Join(c.home, tornPrefix+"*"))
	if err != nil {
		c.find(pawl.Bad, c.home, "%v", err)
	}
	for _, name := range names {
		c.find(pawl.OK, name, "an append that was cut off, and never acknowledged, was set aside here")
	}
	names, err = filepath.Glob(filepath.Join(c.home, asidePrefix+"*"))
	if err != nil {
		c.find(pawl.Bad, c.home, "%v", err)
	}
	for _, name := range names {
		c.find(pawl.OK, name, "a damaged journal was set aside here when it was rebuilt")
	}
}
