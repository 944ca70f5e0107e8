package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/redact"
)

// ReadResult returns an attempt's result file, nil if there is none.
func ReadResult(dir string) (*pawl.Result, error) {
	file, err := disk.Open(filepath.Join(dir, pawl.ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxResult+1))
	if err != nil {
		return nil, err
	}
	if len(data) == 0 { // the step of another user finds the file, and need not write it
		return nil, nil
	}
	if len(data) > maxResult {
		return nil, fmt.Errorf("%s: larger than %d bytes", pawl.ResultFile, maxResult)
	}
	r, err := parseResult(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pawl.ResultFile, err)
	}
	return r, nil
}

func parseResult(data []byte) (*pawl.Result, error) {
	r, err := pawl.ParseResult(data)
	if err != nil {
		return nil, err
	}
	shorten(&r)
	return &r, checkParts(&r)
}

// Limits of a result file, because journal lines are limited.
const (
	maxResult = 1 << 20 // size of the file in bytes
	maxText   = 2000    // size of each text in bytes
	maxTexts  = 20      // number of blockers, and of learned facts
)

// shorten cuts the result to what the journal accepts. The file itself is not changed.
func shorten(r *pawl.Result) {
	r.Summary = ClipText(r.Summary)
	r.Blockers = r.Blockers[:min(len(r.Blockers), maxTexts)]
	for i := range r.Blockers {
		r.Blockers[i] = ClipText(r.Blockers[i])
	}
	r.Memory = r.Memory[:min(len(r.Memory), maxTexts)]
	for i := range r.Memory {
		r.Memory[i].Text = ClipText(r.Memory[i].Text)
	}
	for i := range r.Items {
		r.Items[i].Title = ClipText(r.Items[i].Title)
	}
	if r.Gate != nil {
		r.Gate.Ask, r.Gate.Expect = ClipText(r.Gate.Ask), ClipText(r.Gate.Expect)
	}
}

// ClipText cuts a text to maxText bytes and marks the cut. It redacts a text that it cuts, because a part of a secret would
// not be recognized later.
func ClipText(text string) string {
	if len(text) <= maxText {
		return text
	}
	if text = redact.OfProcess().Text(text); len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " […]"
}

// checkParts fails if a part of the result is too large for the journal.
func checkParts(r *pawl.Result) error {
	if err := CheckSize(r.Gate); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	for i := range r.Items {
		if err := CheckSize(r.Items[i]); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	for i := range r.Memory {
		if err := CheckSize(r.Memory[i]); err != nil {
			return fmt.Errorf("memory %d: %w", i+1, err)
		}
	}
	return nil
}

// maxPayload is the maximum size of a payload in bytes, well below the limit of a journal line.
const maxPayload = 32 << 10

// CheckSize fails if payload is too large for an event.
func CheckSize(said any) error {
	if n := EncodedSize(said); n > maxPayload {
		return fmt.Errorf("%d bytes in the journal; the maximum is %d", n, maxPayload)
	}
	return nil
}

// EncodedSize returns the size of a value in the journal, in bytes. One byte of text may take six.
func EncodedSize(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		panic("payloads are plain data: " + err.Error())
	}
	return len(data)
}

// LastLines returns a copy of the check results with each output cut to its last line.
func LastLines(checks []pawl.CheckRun) []pawl.CheckRun {
	brief := slices.Clone(checks)
	for i := range brief {
		lines := strings.Split(strings.TrimSpace(brief[i].Output), "\n")
		last := redact.OfProcess().Text(lines[len(lines)-1]) // before it is cut
		brief[i].Output = last[:min(len(last), 200)]
	}
	return brief
}
