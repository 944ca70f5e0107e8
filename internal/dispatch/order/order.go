// Package order has what courier and worker exchange through the remote.
//
//	tasks/<run>/<token>.order.json    an Order: what to run, on which files
//	tasks/<run>/<token>.result.json   the Result: how it ended, and the files afterwards
//	tasks/<run>/<token>.worker.json   the Claim: which worker may start the script
//	output/<token>/<file>-<offset>    a part of what the step has written so far
//
// Files are objects in packs, as in the rest of the remote. Each record is created once; of several claims or results for a token the first
// counts. Order and result have the hash of what they rely on, from the task's order on, so that a reader can check all of it.
//
// A prune deletes in the order of the keys, so a token loses its order before its claim. Without the order no worker begins.
package order

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"pawl"
	"pawl/internal/dispatch"
	"pawl/internal/lazyregexp"
	"pawl/internal/remote"
	"pawl/internal/snapshot"
	"pawl/internal/snapshot/pack"
)

// Order says what a worker does.
type Order struct {
	Format int        `json:"format"`
	Run    pawl.RunID `json:"run"`
	pawl.AttemptRef
	Script    string            `json:"script"`
	Shell     pawl.Shell        `json:"shell,omitempty"`
	RunShell  pawl.Shell        `json:"run_shell,omitempty"`
	Dir       string            `json:"dir"`               // relative to the project
	Env       map[string]string `json:"env"`               // PAWL_OUT is relative to the project
	Secrets   []string          `json:"secrets,omitempty"` // variables that the worker sets from its own environment
	Outputs   []string          `json:"outputs,omitempty"` // paths and patterns, which come back even if they are ignored
	Timeout   pawl.Duration     `json:"timeout,omitempty"`
	Grace     pawl.Duration     `json:"grace,omitempty"`
	Stall     pawl.Duration     `json:"stall,omitempty"`
	OutputCap int64             `json:"output_cap,omitempty"`
	Input     []byte            `json:"input"` // commit record of the snapshot
	Packs     []remote.PackRef  `json:"packs"` // that have its files
}

// Result says how an order ended.
type Result struct {
	Format int        `json:"format"`
	Run    pawl.RunID `json:"run"`
	pawl.AttemptRef
	Order    string           `json:"order"` // SHA-256
	Worker   string           `json:"worker"`
	Exit     pawl.Exit        `json:"exit"`
	Base     []byte           `json:"base,omitempty"`     // commit record of the files before, as the worker sees them. Defaults to the order's input.
	Snapshot []byte           `json:"snapshot,omitempty"` // commit record of the files afterwards. Defaults to those before.
	Files    []File           `json:"files"`              // of the attempt's folder
	Packs    []remote.PackRef `json:"packs"`              // that have the files of the snapshots, and those of the attempt's folder that are not here
}

// File is a file of the attempt's folder. A small one is in the result itself.
type File struct {
	remote.File
	Data []byte `json:"data,omitempty"`
}

// Claim says which worker may start the script of a task. A worker that finds another claim than its own does not start it.
type Claim struct {
	Format int        `json:"format"`
	Run    pawl.RunID `json:"run"`
	Token  pawl.Token `json:"token"`
	Worker string     `json:"worker"` // for people
	Boot   string     `json:"boot"`   // ID of the last boot of the worker's machine: a copy of the machine has another one
	Nonce  string     `json:"nonce"`  // that only the worker's folder has
}

const (
	format    = 2
	maxRecord = 16 << 20
	maxFile   = 1 << 30
)

// OrderKey and ResultKey are the keys of the records of a task.
func OrderKey(run pawl.RunID, token pawl.Token) string { return key(run, token, "order") }

// ResultKey is the key of a task's result.
func ResultKey(run pawl.RunID, token pawl.Token) string { return key(run, token, "result") }

// ClaimKey is the key of a task's claim.
func ClaimKey(run pawl.RunID, token pawl.Token) string { return key(run, token, "worker") }

func key(run pawl.RunID, token pawl.Token, kind string) string {
	return fmt.Sprintf("%s%s/%s.%s.json", remote.TaskPrefix, run, token, kind)
}

// Encode returns the record as it is stored, with its hash.
func (o *Order) Encode() (content []byte, sum string, err error) {
	o.Format = format
	return encode(o)
}

// Encode returns the record as it is stored, with its hash.
func (r *Result) Encode() (content []byte, sum string, err error) {
	r.Format = format
	return encode(r)
}

// Encode returns the claim as it is stored.
func (c Claim) Encode() ([]byte, error) {
	c.Format = format
	content, _, err := encode(c)
	return content, err
}

func encode(record any) ([]byte, string, error) {
	content, err := json.Marshal(record)
	if err != nil {
		return nil, "", err
	}
	if len(content) > maxRecord {
		return nil, "", fmt.Errorf("a record of %d bytes; at most %d", len(content), maxRecord)
	}
	return content, SumOf(content), nil
}

// SumOf returns the SHA-256 of a record.
func SumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Read reads a record, and checks its hash.
func Read(ctx context.Context, s remote.Store, key, sum string) ([]byte, error) {
	data, err := ReadAny(ctx, s, key)
	if err != nil {
		return nil, err
	}
	if SumOf(data) != sum {
		return nil, &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s on the remote is not the one that the task names", key)}
	}
	return data, nil
}

// ReadAny reads the record of a key, whatever it is.
func ReadAny(ctx context.Context, s remote.Store, key string) ([]byte, error) {
	return s.Get(ctx, key, maxRecord)
}

// Find returns a record; nil if there is none.
func Find(ctx context.Context, s remote.Store, key string) ([]byte, error) {
	data, err := s.Get(ctx, key, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// CreateOrRead creates a record, or returns the one that is there.
func CreateOrRead(ctx context.Context, s remote.Store, key string, content []byte) ([]byte, error) {
	created, err := s.Create(ctx, key, content)
	if err != nil || created {
		return content, err
	}
	return ReadAny(ctx, s, key)
}

// validVariable matches the names of environment variables.
var validVariable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseOrder parses the order of a task. Its paths stay below the project.
func ParseOrder(data []byte, task dispatch.Task) (*Order, error) {
	o := &Order{}
	if err := decode(data, o); err != nil {
		return nil, fmt.Errorf("invalid order: %w", err)
	}
	if o.Format != format {
		return nil, fmt.Errorf("the order has format %d, and this pawl performs format %d: use the same version on all machines", o.Format, format)
	}
	if _, err := snapshot.ParseRecord(o.Input, o.Run); err != nil {
		return nil, fmt.Errorf("input of the order: %w", err)
	}
	ref := pawl.AttemptRef{Step: task.Step, Item: task.Item, Attempt: task.Attempt, Token: task.Token}
	if o.Run != task.Run || o.Step != ref.Step || o.Item != ref.Item || o.Attempt != ref.Attempt || o.Token != ref.Token {
		return nil, fmt.Errorf("the order is not that of task %s", task.ID())
	}
	paths := append([]string{o.Dir, o.Env["PAWL_OUT"]}, o.Outputs...)
	for _, p := range paths {
		if p != "" && !filepath.IsLocal(filepath.FromSlash(p)) {
			return nil, fmt.Errorf("the order names a path outside of the project: %q", p)
		}
	}
	for _, name := range o.Secrets {
		if !validVariable.MatchString(name) {
			return nil, fmt.Errorf("the order names an invalid variable %q", name)
		}
	}
	for name := range o.Env {
		if !validVariable.MatchString(name) {
			return nil, fmt.Errorf("the order sets an invalid variable %q", name)
		}
	}
	for _, shell := range []pawl.Shell{o.Shell, o.RunShell} {
		if err := shell.Check(); err != nil && shell != "" {
			return nil, err
		}
	}
	return o, nil
}

// ParseResult parses the result of a task.
func ParseResult(data []byte, task dispatch.Task) (*Result, error) {
	r := &Result{}
	if err := decode(data, r); err != nil {
		return nil, fmt.Errorf("invalid result: %w", err)
	}
	if r.Format != format {
		return nil, fmt.Errorf("the result has format %d, and this pawl reads format %d: use the same version on all machines", r.Format, format)
	}
	if r.Run != task.Run || r.Token != task.Token || r.Exit.Token != task.Token || r.Order != task.Order {
		return nil, fmt.Errorf("the result is not that of task %s", task.ID())
	}
	var total int64
	for _, f := range r.Files {
		total += int64(len(f.Data))
		for _, p := range f.Parts {
			if p.Size < 0 || p.Size > pack.MaxObject {
				return nil, fmt.Errorf("the result has an invalid part of %q", f.Name)
			}
			total += p.Size
		}
	}
	if total > maxFile {
		return nil, fmt.Errorf("the result has files of %d bytes; at most %d", total, maxFile)
	}
	return r, nil
}

// decode decodes exactly one JSON value.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the record")
	}
	return nil
}
