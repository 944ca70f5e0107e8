// Package attach installs pawl in the settings of coding agents and removes it again: hooks that report events to pawl,
// the MCP server, and a skill or command.
//
// It edits the user's files in place: other entries, comments, order, indentation and line ends keep every byte. It records
// the original content durably before the first file changes. Detach restores exactly that content; in a file that was
// edited since, it removes only pawl's entries. Each operation can be killed at any point and run again.
package attach

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/shellwords"
	"pawl/internal/textedit"
)

// Scope selects the projects in which an agent is attached.
type Scope string

// The scopes.
const (
	Project Scope = "project" // this project
	User    Scope = "user"    // all projects of this user
)

// Setup is where agents are attached, and the program that they start.
type Setup struct {
	Root  string              // the project's folder or linked worktree, links resolved; empty if there is none
	Home  string              // the user's home folder
	State string              // pawl's own folder for this user
	Data  string              // the user's folder of data about the project or worktree; empty if the project is not trusted
	Main  *Setup              // of the main worktree's folder, if Root lies in a linked worktree; else nil
	Pawl  string              // the program that agents start, absolute
	Hook  string              // the program that agents' hooks start, absolute. Defaults to Pawl.
	Env   func(string) string // the environment; it may name the folders of settings

	Systems []string // other systems with files in Root; attaching adds their users' commands
}

// Edits is a prepared change of files that attaches or detaches an agent. Do carries it out.
type Edits struct {
	Agent   string
	Scope   Scope
	Changes []Change
	Notes   []string // what the user should know before
	Next    []string // what the user has to do afterwards

	setup  Setup
	record record // the new record; it is removed if it has no files
	before []byte // the bytes of the current record, nil if there is none
	edited []editedFile
	folded []string // folders to remove if they are empty, the deepest first
	litter []string // temporary files of an interrupted operation

	upgrade bool // the record is in the project, where an older pawl kept it
}

// Change is the change of one file.
type Change struct {
	Path     string // for display
	Old, New []byte // nil: no file

	file    settings
	purpose string // of pawl's entries in it
	removes bool   // it removes them
}

// Word returns the kind of change in one word.
func (c Change) Word() string {
	switch {
	case c.Old == nil:
		return "made"
	case c.New == nil:
		return "removed"
	}
	return "changed"
}

// editedFile is a file that pawl wrote and the user edited. It is moved to path, because the edits cannot be separated from pawl's text.
type editedFile struct {
	path string
	data []byte
}

// Attach prepares to attach an agent. If it is attached already, there are no changes.
func Attach(name string, scope Scope, setup Setup) (*Edits, error) {
	a, err := find(name)
	if err != nil {
		return nil, err
	}
	if scope == Project && setup.Main != nil && a.hooksInMain() {
		return nil, setup.Main.refusal(a)
	}
	d, old, err := begin(a, scope, setup)
	if err != nil {
		return nil, err
	}
	d.record = record{Format: format, Agent: name, Scope: scope, Pawl: setup.Pawl}
	for _, t := range a.targets(setup, scope) {
		if d.unwanted(t, old.find(d.key(t.path))) {
			continue
		}
		kept, err := d.planAddition(t, old.find(d.key(t.path)))
		if err != nil {
			return nil, err
		}
		if kept != nil {
			d.record.Files = append(d.record.Files, *kept)
		}
	}
	for _, kept := range old.Files { // files of an older version or of other environment variables
		if d.record.find(kept.Path) == nil {
			d.record.Files = append(d.record.Files, kept)
		}
	}
	if len(d.Changes) == 0 {
		return d, nil
	}
	d.Next = a.next(scope)
	return d, d.refuseTwice(a)
}

// Detach prepares to detach an agent. If it is not attached, there are no changes.
func Detach(name string, scope Scope, setup Setup) (*Edits, error) {
	a, err := find(name)
	if err != nil {
		return nil, err
	}
	d, old, err := begin(a, scope, setup)
	if err != nil {
		return nil, err
	}
	targets := a.targets(setup, scope)
	for _, kept := range old.Files {
		path := d.path(kept.Path)
		if !slices.ContainsFunc(targets, func(t target) bool { return t.path == path }) {
			targets = append(targets, target{path: path, edits: editsOf(path, a.targets(setup, scope))})
		}
	}
	for _, t := range targets {
		if err := d.planRemoval(t, old.find(d.key(t.path))); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(d.folded, func(a, b string) int { return len(b) - len(a) })
	d.folded = slices.Compact(d.folded)
	if scope, path, found := d.inOtherScope(a); found && len(d.Changes) == 0 {
		d.Next = append(d.Next, fmt.Sprintf("%s is attached with scope %s, in %s: pawl detach %s --scope %s", a.name, scope, d.shown(path), a.name, scope))
	}
	return d, nil
}

// editsOf returns the edits of the target whose file has the same name: a recorded file lies elsewhere if a variable that names the
// agent's folder has changed since.
func editsOf(path string, targets []target) []edit {
	stem := func(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }
	for _, t := range targets {
		if stem(t.path) == stem(path) {
			return t.edits
		}
	}
	return nil
}

// begin reads the record of earlier operations.
func begin(a agent, scope Scope, setup Setup) (*Edits, record, error) {
	d := &Edits{Agent: a.name, Scope: scope, setup: setup}
	old, data, err := readRecord(d.recordFile())
	d.before = data
	if scope == Project && data == nil && err == nil {
		old, d.upgrade = setup.oldRecord(a)
	}
	return d, old, err
}

// dropOldRecord removes the record that an older pawl kept in the project.
func (d *Edits) dropOldRecord() error {
	if !d.upgrade {
		return nil
	}
	path := d.setup.oldRecordFile(d.Agent)
	return errors.Join(disk.Remove(path), disk.SyncFolder(filepath.Dir(path)))
}

// planAddition plans to planAddition pawl's entries to a file, and returns what to record of it.
func (d *Edits) planAddition(t target, old *fileRecord) (*fileRecord, error) {
	file, err := d.read(t)
	if err != nil {
		return nil, err
	}
	if seen, err := t.inspect(file.data); err != nil {
		return nil, d.broken(t, err)
	} else if seen.complete {
		return old, nil
	}
	this := fileRecord{Path: d.key(t.path)}
	for _, folder := range file.missing {
		this.Folders = append(this.Folders, d.key(folder))
	}
	if old != nil {
		this.Folders = union(old.Folders, this.Folders)
	}
	if old.made(file.data) {
		this.Was, this.Made = old.Was, []string{hash(file.data)}
	} else if this.Was, err = t.without(file.data, old.original()); err != nil {
		return nil, d.broken(t, err)
	}
	now, err := t.with(this.Was)
	if err != nil {
		return nil, d.broken(t, err)
	}
	this.Made = append(this.Made, hash(now))
	d.change(t, file, now)
	return &this, nil
}

// planRemoval plans to restore a file, or to remove pawl's entries from it.
func (d *Edits) planRemoval(t target, old *fileRecord) error {
	file, err := d.read(t)
	if err != nil {
		return err
	}
	now := file.data
	switch {
	case old.made(file.data):
		now = old.Was
	case old != nil && len(t.edits) == 0:
		d.Notes = append(d.Notes, fmt.Sprintf("%s was edited since, and this version of pawl does not know which part it wrote: unchanged", d.shown(t.path)))
	case t.editedWhole(file.data):
		path := filepath.Join(d.folder(), "edited", d.Agent+"-"+hash(file.data)[:8]+"-"+filepath.Base(t.path))
		d.edited, now = append(d.edited, editedFile{path, file.data}), nil
		d.Notes = append(d.Notes, fmt.Sprintf("%s was edited since pawl wrote it: saved as %s", d.shown(t.path), d.shown(path)))
	default:
		if now, err = t.without(file.data, old.original()); err != nil {
			return d.broken(t, err)
		}
		if old != nil && old.Was == nil && now != nil && t.isSeed(now) {
			now = nil
		}
	}
	if now == nil && old != nil {
		for _, folder := range old.Folders {
			d.folded = append(d.folded, d.path(folder))
		}
	}
	d.change(t, file, now)
	return nil
}

// change plans a change of a file, if its content differs.
func (d *Edits) change(t target, file settings, now []byte) {
	if (now == nil) != (file.data == nil) || !bytes.Equal(now, file.data) {
		d.Changes = append(d.Changes, Change{Path: d.shown(t.path), Old: file.data, New: now, file: file, purpose: t.purpose(), removes: !d.Attaches()})
	}
}

// read reads the file of a target, and notes if it is a link.
func (d *Edits) read(t target) (settings, error) {
	file, err := readSettings(t.path)
	if err != nil {
		return file, err
	}
	if d.Scope == Project && inFolder(t.path, d.setup.Root) && !inFolder(file.path, d.setup.Root) {
		return file, &pawl.Error{
			Kind: pawl.KindUsage,
			Err:  fmt.Errorf("%s is a link to %s, outside of the project", d.shown(t.path), file.path),
			Hint: fmt.Sprintf("pawl attach %s --scope user, or replace the link by a file", d.Agent),
		}
	}
	if left := disk.TempPath(file.path); isThere(left) {
		d.litter = append(d.litter, left)
	}
	if file.path != t.path {
		d.Notes = append(d.Notes, fmt.Sprintf("%s is a link to %s: pawl changes the target", d.shown(t.path), file.path))
	}
	return file, nil
}

func inFolder(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }

// broken returns the error for a file that cannot be parsed or edited.
func (d *Edits) broken(t target, err error) error {
	return &pawl.Error{
		Kind: pawl.KindUsage,
		Err:  fmt.Errorf("%w\nnothing was changed", located(d.shown(t.path), err)),
		Hint: fmt.Sprintf("fix %s, then run the command again", d.shown(t.path)),
	}
}

// located returns an error about a file as file:line:column: reason.
func located(file string, err error) error {
	if syntax, ok := errors.AsType[*textedit.SyntaxError](err); ok {
		return fmt.Errorf("%s:%d:%d: %s", file, syntax.Line, syntax.Column, syntax.Why)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// refuseTwice refuses to attach an agent in both scopes: its hooks would run twice.
func (d *Edits) refuseTwice(a agent) error {
	other, path, found := d.inOtherScope(a)
	if found {
		return twice(a, other, d.shown(path), "pawl")
	}
	if main := d.setup.Main; main != nil && other == Project {
		if path := d.attachedIn(a.targets(*main, other)); path != "" {
			return twice(a, other, path, "pawl -C "+shellwords.Word(main.Root))
		}
	}
	return nil
}

// inOtherScope returns a file in which the agent is attached with the other scope.
func (d *Edits) inOtherScope(a agent) (other Scope, path string, found bool) {
	other = map[Scope]Scope{Project: User, User: Project}[d.Scope]
	if other == Project && d.setup.Root == "" {
		return other, "", false
	}
	path = d.attachedIn(a.targets(d.setup, other))
	return other, path, path != ""
}

// attachedIn returns the first of the files that has hooks of pawl and is not about to change; "" if none has.
func (d *Edits) attachedIn(targets []target) string {
	for _, t := range targets {
		file, err := readSettings(t.path)
		if err != nil {
			continue // reported when that scope is attached or detached
		}
		if seen, err := t.inspect(file.data); err == nil && len(seen.programs) > 0 && !slices.ContainsFunc(d.Changes, func(c Change) bool { return c.file.path == file.path }) {
			return t.path
		}
	}
	return ""
}

func twice(a agent, scope Scope, path, program string) error {
	return &pawl.Error{
		Kind: pawl.KindUsage,
		Err:  fmt.Errorf("%s is already attached with scope %s, in %s: every hook would run twice", a.name, scope, path),
		Hint: fmt.Sprintf("%s detach %s --scope %s", program, a.name, scope),
	}
}

// Apply carries the changes out. After an interruption, running it again completes them.
func (d *Edits) Apply() error {
	if len(d.Changes) == 0 && len(d.litter) == 0 && (d.before == nil && !d.upgrade || d.Attaches()) {
		return nil
	}
	if d.Attaches() {
		if d.folder() == "" {
			return &pawl.Error{Kind: pawl.KindUsage, Err: errors.New("the project is not trusted"), Hint: "pawl trust"}
		}
		if err := disk.MakeFolders(d.folder()); err != nil {
			return err
		}
	}
	if d.folder() == "" || !isThere(d.folder()) {
		return d.steps() // pawl never attached anything here, so there is nothing to lock
	}
	return locked(filepath.Join(d.folder(), "lock"), d.steps)
}

// steps carries the changes out step by step.
func (d *Edits) steps() error {
	if err := d.unchanged(); err != nil {
		return err
	}
	steps := []func() error{d.clear, d.saveEdited, d.write, d.removeRecord, d.dropOldRecord}
	if d.Attaches() {
		steps = []func() error{d.clear, d.writeRecord, d.write, d.dropOldRecord}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("%w; run the command again to continue", err)
		}
	}
	return nil
}

// Attaches reports whether the edits attach the agent; otherwise they detach it.
func (d *Edits) Attaches() bool { return d.record.Format > 0 }

// clear removes temporary files of an interrupted operation.
func (d *Edits) clear() error {
	for _, path := range d.litter {
		if err := disk.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// unchanged returns an error if a file has changed since the edits were prepared.
func (d *Edits) unchanged() error {
	_, data, err := readRecord(d.recordFile())
	if err != nil {
		return err
	}
	same := bytes.Equal(data, d.before)
	for _, c := range d.Changes {
		now, err := readSettings(c.file.named)
		if err != nil {
			return err
		}
		same = same && bytes.Equal(now.data, c.Old) && now.path == c.file.path
	}
	if !same {
		return &pawl.Error{Kind: pawl.KindHeld, Err: errors.New("another program changed the files at the same time; nothing was changed"), Hint: "run the command again"}
	}
	return nil
}

// write writes the new contents.
func (d *Edits) write() error {
	mode := map[Scope]fs.FileMode{Project: 0o755, User: 0o700}[d.Scope]
	for _, c := range d.Changes {
		folder := filepath.Dir(c.file.path)
		if c.New == nil {
			if err := errors.Join(disk.Remove(c.file.path), disk.SyncFolder(folder)); err != nil {
				return err
			}
			continue
		}
		if err := disk.MakeFoldersAs(folder, mode); err != nil {
			return err
		}
		if err := disk.ReplacePreserving(c.file.path, c.New, mode&0o666); err != nil {
			return err
		}
	}
	return nil
}

// saveEdited saves files of pawl that the user has edited.
func (d *Edits) saveEdited() error {
	for _, a := range d.edited {
		if err := disk.MakeFolders(filepath.Dir(a.path)); err != nil {
			return err
		}
		if err := disk.Replace(a.path, a.data); err != nil {
			return err
		}
	}
	return nil
}

// removeRecord removes the folders that pawl made, if they are empty, and then the record.
func (d *Edits) removeRecord() error {
	for _, folder := range d.folded {
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) > 0 {
			continue
		}
		if err := disk.Remove(folder); err != nil {
			return err
		}
	}
	if d.before == nil {
		return nil
	}
	return errors.Join(disk.Remove(d.recordFile()), disk.SyncFolder(d.folder()))
}

// shown returns a path for display: relative to the project or to the home folder.
func (d *Edits) shown(path string) string { return d.setup.shown(path) }

func (p Setup) shown(path string) string {
	inProject, ok := strings.CutPrefix(path, p.Root+"/")
	if !ok || p.Root == "" {
		inProject = path
	}
	inHome, ok := strings.CutPrefix(path, p.Home+"/")
	if ok && p.Home != "" && len(inHome) < len(inProject) {
		return "~/" + inHome
	}
	return inProject
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
