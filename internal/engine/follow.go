package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/markers"
	"pawl/internal/runs"
)

// follower reads what an attempt says while it runs: lines of its events file, and markers in its output.
type follower struct {
	engine  *Engine
	dir     string
	ref     pawl.AttemptRef
	offsets map[string]int64 // file → up to where it was read
}

// followInterval is how often an attempt's files are looked at.
const followInterval = 200 * time.Millisecond

// run follows the attempt until wait returns, and then to the end of its files. It returns wait's error.
func (f *follower) run(ctx context.Context, wait func(context.Context) error) error {
	gone := make(chan error, 1)
	go func() { gone <- wait(ctx) }()
	tick := time.NewTicker(followInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-gone:
			if err != nil || ctx.Err() != nil {
				return err
			}
			return f.read(ctx, true)
		case <-tick.C:
			if err := f.read(ctx, false); err != nil {
				return errors.Join(err, <-gone)
			}
		}
	}
}

// read posts what is new in the attempt's files; when nobody writes any more, also a last line that was not ended.
func (f *follower) read(ctx context.Context, last bool) error {
	var news []pawl.Payload
	for _, name := range []string{pawl.EventsFile, pawl.OutFile, pawl.ErrFile} {
		parse := f.marker
		if name == pawl.EventsFile {
			parse = f.line
		}
		more, err := f.readFile(name, last, parse)
		if err != nil {
			return err
		}
		news = append(news, more...)
	}
	if len(news) == 0 {
		return nil
	}
	news = f.saveCheckpoints(ctx, news)
	select {
	case f.engine.results <- func() { f.engine.emitReported(news) }:
	case <-ctx.Done():
	}
	return nil
}

// saveCheckpoints takes the snapshots of the checkpoints that the attempt asked for, before anything behind them is taken up.
func (f *follower) saveCheckpoints(ctx context.Context, news []pawl.Payload) []pawl.Payload {
	e := f.engine
	for i, p := range news {
		asked, ok := p.(pawl.CheckpointSaved)
		if !ok {
			continue
		}
		s := e.saver.Save(ctx, pawl.CheckpointManual, f.ref, asked.Why, e.positionFromWorker(ctx))
		s.Source = asked.Source
		news[i] = pawl.CheckpointSaved{Checkpoint: s.Checkpoint}
	}
	return news
}

// readChunk is how many bytes of a file are taken at a time.
const readChunk = 1 << 20

// readFile returns what the complete lines behind the offset stand for, and with last also what follows them.
func (f *follower) readFile(name string, last bool, parse func([]byte, pawl.Source) pawl.Payload) ([]pawl.Payload, error) {
	file, err := disk.OpenRegular(filepath.Join(f.dir, name))
	if err != nil {
		return nil, nil // not there, or the step made it unreadable: then nothing was said
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < f.offsets[name] {
		f.offsets[name] = 0 // it was replaced or cut
	}
	unread := info.Size() - f.offsets[name]
	if unread == 0 {
		return nil, nil
	}
	var news []pawl.Payload
	buffer := make([]byte, min(readChunk, unread))
	for {
		n, err := file.ReadAt(buffer, f.offsets[name])
		if err != nil && err != io.EOF {
			return nil, err
		}
		whole := bytes.LastIndexByte(buffer[:n], '\n') + 1
		if whole == 0 && (last || n == readChunk) {
			whole = n // a line longer than the buffer says nothing to us
		}
		if whole == 0 {
			return news, nil
		}
		start := f.offsets[name]
		for line := range bytes.Lines(buffer[:whole]) {
			start += int64(len(line))
			if p := parse(bytes.TrimRight(line, "\r\n"), pawl.Source{AttemptRef: f.ref, File: name, Offset: start}); p != nil {
				news = append(news, p)
			}
		}
		f.offsets[name] = start
	}
}

// line returns what a line of the events file stands for; one that we cannot read is progress that says so.
func (f *follower) line(data []byte, source pawl.Source) pawl.Payload {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	said, err := f.parseLine(data, source)
	if err != nil {
		return pawl.Progressed{AttemptRef: f.ref, Text: "unreadable line in " + pawl.EventsFile + ": " + err.Error(), Source: &source}
	}
	return said
}

func (f *follower) parseLine(data []byte, source pawl.Source) (pawl.Payload, error) {
	if len(data) > runs.MaxEventLine {
		return nil, fmt.Errorf("%d bytes; at most %d are taken", len(data), runs.MaxEventLine)
	}
	line, err := pawl.ParseLine(data)
	if err != nil {
		return nil, err
	}
	said := line.Payload(source, time.Now())
	return said, runs.CheckSize(said)
}

func (f *follower) marker(data []byte, source pawl.Source) pawl.Payload {
	m, ok := markers.Parse(string(data), 0)
	if !ok || !m.Valid || len(data) > runs.MaxEventLine {
		return nil
	}
	said := pawl.Progressed{AttemptRef: f.ref, Text: m.Content, Marker: &m, Source: &source}
	if runs.CheckSize(said) != nil {
		return nil
	}
	return said
}

// emitReported says what a follower read. What is to be learned goes into MEMORY.md too.
func (e *Engine) emitReported(news []pawl.Payload) {
	for _, p := range news {
		switch p := p.(type) {
		case pawl.MemoryLearned:
			e.learn(p.Memory, p.Source)
		default:
			e.emit(p)
		}
	}
}

// learn adds to MEMORY.md, which is the truth and takes no bullet twice, and then says so. Where the file cannot be
// written the journal keeps the words, with why.
func (e *Engine) learn(m pawl.Memory, source *pawl.Source) {
	learned := pawl.MemoryLearned{Memory: m, Source: source}
	if _, err := e.cfg.Project.Learn(m); err != nil {
		learned.Unwritten = err.Error()
		e.note("MEMORY.md: %v", err)
	}
	e.emit(learned)
}
