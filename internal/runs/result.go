package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"pawl"
	"pawl/internal/disk"
)

// ReadResult returns what an attempt says of itself, nil where it says nothing.
func ReadResult(dir string) (*pawl.Result, error) {
	file, err := disk.OpenRegular(filepath.Join(dir, pawl.ResultFile))
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
	if len(data) > maxResult {
		return nil, fmt.Errorf("%s: more than %d bytes", pawl.ResultFile, maxResult)
	}
	r, err := pawl.ParseResult(data)
	if err == nil {
		shorten(&r)
		err = checkParts(&r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pawl.ResultFile, err)
	}
	return &r, nil
}

// What of a step's result is taken into the journal, whose lines have a limit.
const (
	maxResult = 1 << 20 // bytes of the file
	maxText   = 2000    // bytes of each text
	maxTexts  = 20      // blockers, memories
)

// shorten cuts what a step says of itself to what the journal takes. The file itself stays as it is.
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

// ClipText cuts a text at maxText bytes, and says so.
func ClipText(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " […]"
}

// checkParts refuses a result of which a part is too big for the journal.
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

// maxPayload is how many bytes one thing that is said may take in an event, well below a line of the journal.
const maxPayload = 32 << 10

// CheckSize refuses what is too big for an event.
func CheckSize(said any) error {
	if n := EncodedSize(said); n > maxPayload {
		return fmt.Errorf("%d bytes in the journal; at most %d are taken", n, maxPayload)
	}
	return nil
}

// EncodedSize returns how many bytes a value takes in the journal, where one byte of text may take six.
func EncodedSize(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		panic("what is said is plain data: " + err.Error())
	}
	return len(data)
}
