package pawl

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// RunID identifies a run: <plan>-<yyyymmdd-hhmmss>-<4 hex>.
type RunID string

// StepID identifies a step within its plan: 1 to 64 letters, digits, '.', '_' or '-', unique ignoring case.
type StepID string

// ItemID identifies an item within its step: the item's value if that is a valid id, otherwise 12 hex digits of its hash.
type ItemID string

// GateID identifies the exact content of a gate: 8 hex digits of the hash of question, options and what is shown.
type GateID string

// CheckpointID identifies a checkpoint: 8 hex digits.
type CheckpointID string

// Token is the random name of one attempt, 16 hex digits. A result counts only with the token of the latest attempt.
type Token string

// Seq is the number of an event in its journal, starting at 1.
type Seq int64

// Epoch counts the engines that have taken over a run, starting at 1. It fences engines, never attempts.
type Epoch int64

// ParseStepID returns s as a StepID. It rejects "." and "..", because an id is also the name of a folder.
func ParseStepID(s string) (StepID, error) {
	if !legalID(s) {
		return "", fmt.Errorf("invalid step id %q: use 1 to 64 letters, digits, '.', '_' or '-'", s)
	}
	return StepID(s), nil
}

// ParseRunID returns s as a RunID.
func ParseRunID(s string) (RunID, error) {
	if !legalRun(s) {
		return "", fmt.Errorf("invalid run id %q: expected <plan>-<yyyymmdd-hhmmss>-<4 hex>", s)
	}
	return RunID(s), nil
}

// NewRunID returns the id of a run with this name that starts now. random is 4 hex digits.
func NewRunID(name string, now time.Time, random string) RunID {
	return RunID(SlugOf(name) + now.UTC().Format("-20060102-150405-") + random)
}

// Created returns the time of a run's creation, according to its id; zero if the id is invalid.
func (id RunID) Created() time.Time {
	const layout, random = "20060102-150405", len("-0000")
	if !legalRun(string(id)) {
		return time.Time{}
	}
	end := len(id) - random
	at, err := time.Parse(layout, string(id[end-len(layout):end]))
	if err != nil { // digits that are not a date
		return time.Time{}
	}
	return at
}

// SlugOf returns the form of a name in run ids: the part before date, time and random digits.
func SlugOf(name string) string {
	slug := strings.Map(func(r rune) rune {
		if inID(r) {
			return r
		}
		return '-'
	}, name)
	slug = strings.Trim(slug[:min(len(slug), 48)], "-.")
	if slug == "" {
		return "run"
	}
	return slug
}

// StepIDOf returns the id of a step with this name: the name if that is a valid id, otherwise its valid characters and
// 12 hex digits of its hash.
func StepIDOf(name string) StepID {
	if legalID(name) {
		return StepID(name)
	}
	sum := sha256.Sum256([]byte(name))
	return StepID(SlugOf(name) + "-" + hex.EncodeToString(sum[:6]))
}

// ItemIDOf returns the id of an item with this value.
func ItemIDOf(value string) ItemID {
	if legalID(value) {
		return ItemID(value)
	}
	sum := sha256.Sum256([]byte(value))
	return ItemID(hex.EncodeToString(sum[:6]))
}

// maxID is the maximum length of an id, in bytes.
const maxID = 64

func legalID(s string) bool {
	return len(s) <= maxID && legalName(s)
}

// legalName reports whether s has only characters of ids, and is neither empty nor made of dots alone.
func legalName(s string) bool {
	return strings.Trim(s, ".") != "" && strings.IndexFunc(s, func(r rune) bool { return !inID(r) }) < 0
}

// inID reports whether a character is allowed in an id. Every command parses ids, so it uses no regular expression.
func inID(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// legalRun reports whether s has the form <plan>-<yyyymmdd-hhmmss>-<4 hex>.
func legalRun(s string) bool {
	const shape = "-dddddddd-dddddd-hhhh"
	name, tail := len(s)-len(shape), 0
	if name < 1 || !legalID(s[:name]) {
		return false
	}
	for tail < len(shape) && fitsShape(s[name+tail], shape[tail]) {
		tail++
	}
	return tail == len(shape)
}

func fitsShape(c, shape byte) bool {
	switch shape {
	case 'd':
		return c >= '0' && c <= '9'
	case 'h':
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
	}
	return c == shape
}
