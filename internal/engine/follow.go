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
	"pawl/internal/executor/events"
	"pawl/internal/markers"
	"pawl/internal/runs"
	"pawl/internal/watchdog"
)

// follower reads an attempt's events file, and the markers in its output, while it runs.
type follower struct {
	engine  *Engine
	dir     string
	ref     pawl.AttemptRef
	offsets map[string]int64 // file name → offset of the first unread byte
	cell    *watchdog.Cell   // of a kernel step
}

// watchCell returns the watch of the cells of a kernel step, nil for other steps.
func (e *Engine) watchCell(step *pawl.Step, ref pawl.AttemptRef) *watchdog.Cell {
	live := e.liveAttempt(ref)
	if step.Kernel == nil || live == nil {
		return nil
	}
	begun := time.Now()
	if p := live.Progress; step.Notebook() != "" && p == nil || p != nil && p.Saving {
		begun = time.Time{} // no cell runs
	}
	return watchdog.WatchCell(step.Kernel.Watch, live.Warnings, begun)
}

// followInterval is the interval between two reads of an attempt's files.
const followInterval = 200 * time.Millisecond

// run follows the attempt until wait returns, reads the files to their end, and returns wait's error.
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

// read sends new lines to the engine. With last, an unterminated last line counts too.
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
	news = append(news, f.warnings(news, last)...)
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

// warnings returns the new warnings about the cell of a kernel step, which has reported news.
func (f *follower) warnings(news []pawl.Payload, last bool) (warnings []pawl.Payload) {
	if f.cell == nil || last {
		return nil
	}
	now := time.Now()
	for _, p := range news {
		switch p, ok := p.(pawl.Progressed); {
		case ok && p.Cell != "":
			f.cell.Begin(p.Cell, now)
		case ok && p.Saving:
			f.cell.End()
		case ok && !p.Note:
			f.cell.Reported(p.Marker, now)
		}
	}
	for _, text := range f.cell.Warnings(now) {
		warnings = append(warnings, pawl.WatchdogActed{AttemptRef: f.ref, Health: string(watchdog.Warning), Action: pawl.WatchdogReports, Evidence: text})
	}
	return warnings
}

// saveCheckpoints takes the checkpoints that the attempt requested, before the engine processes later lines.
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

// readChunk is the maximum number of bytes read at once.
const readChunk = 1 << 20

// readFile parses the complete lines after the offset. With last, it also parses an unterminated last line.
func (f *follower) readFile(name string, last bool, parse func([]byte, pawl.Source) pawl.Payload) ([]pawl.Payload, error) {
	file, err := disk.Open(filepath.Join(f.dir, name))
	if err != nil {
		return nil, nil // missing, or made unreadable by the step: no events
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < f.offsets[name] {
		f.offsets[name] = 0 // replaced or truncated
	}
	unread := info.Size() - f.offsets[name]
	if unread == 0 {
		return nil, nil
	}
	if f.cell != nil && name != pawl.EventsFile {
		f.cell.Output(time.Now())
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
			whole = n // a line longer than the buffer is skipped
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

// line parses a line of the events file. An unreadable line becomes a progress event with the error.
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
		return nil, fmt.Errorf("line is too long: %d bytes, maximum %d", len(data), runs.MaxEventLine)
	}
	line, err := events.ParseLine(data)
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
	said := pawl.Progressed{AttemptRef: f.ref, Text: markers.Text(m), Marker: &m, Source: &source}
	if runs.CheckSize(said) != nil {
		return nil
	}
	return said
}

// emitReported emits what a follower read. Learned facts also go to MEMORY.md.
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

// learn adds to MEMORY.md, which ignores duplicates, and emits the event. If the file cannot be written, the event
// contains the text and the error.
func (e *Engine) learn(m pawl.Memory, source *pawl.Source) {
	learned := pawl.MemoryLearned{Memory: m, Source: source}
	if _, err := e.cfg.Project.Learn(m); err != nil {
		learned.Unwritten = err.Error()
		e.note("MEMORY.md: %v", err)
	}
	e.emit(learned)
}
