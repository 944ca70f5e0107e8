package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A platter is a folder as the disk holds it: every change that was made, when, and from when on it is durable.
//
// The rules are the weakest that POSIX allows. A file's content is durable once fsync or fdatasync of that file, begun
// after the write, has returned; a name (made, renamed, removed) once that of its folder has; syncfs covers all. Before
// that each change may have reached the disk or not, whatever its order; content in blocks, with zeros where a file
// has grown and the block is missing. Only a rename is one thing: never half there.
type platter struct {
	root    string
	free    string // a folder below root in which all is durable at once: the world outside
	top     *node
	changes []*change
}

// node is a file, a folder or a symbolic link, by whatever name.
type node struct {
	folder  bool
	link    string
	content []byte           // as it is seen now
	names   map[string]*node // as they are seen now
}

// never is later than every line of a trace.
const never = math.MaxInt

// change is one thing done to a node.
type change struct {
	start, end int // lines of the trace
	durable    int // the line at which a sync over it had returned
	of         *node

	// Content: data at offset, or a cut to size.
	data   []byte
	offset int64
	cut    bool

	// Names: a name in a folder means target now, or nothing; and a name that target had before is gone.
	name   string
	target *node
	from   *node
	old    string
}

// newPlatter takes in a folder as it is, for durable.
func newPlatter(root, free string) (*platter, error) {
	p := &platter{root: root, free: free, top: newFolder()}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		n := newFolder()
		if !d.IsDir() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n = &node{}
			defer func() { p.add(&change{of: n, data: data}) }()
		}
		dir, name, _ := p.find(path)
		p.add(&change{of: dir, name: name, target: n})
		return nil
	})
	for _, c := range p.changes {
		c.durable = 0
	}
	return p, err
}

func newFolder() *node { return &node{folder: true, names: map[string]*node{}} }

// find returns the folder of a path, the name in it, and what that means now. A path outside of the root has no folder.
func (p *platter) find(path string) (dir *node, name string, n *node) {
	rel, err := filepath.Rel(p.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, "", nil
	}
	if rel == "." {
		return nil, "", p.top
	}
	dir = p.top
	parts := strings.Split(rel, "/")
	for _, part := range parts[:len(parts)-1] {
		if dir = dir.names[part]; dir == nil || !dir.folder {
			return nil, "", nil
		}
	}
	name = parts[len(parts)-1]
	return dir, name, dir.names[name]
}

// add makes a change, as it is seen at once.
func (p *platter) add(c *change) {
	c.durable = never
	p.changes = append(p.changes, c)
	switch {
	case c.name != "":
		c.rename(func(n *node) map[string]*node { return n.names })
	default:
		c.of.content = c.write(c.of.content)
	}
}

// rename carries a change of names out on some view of the folders.
func (c *change) rename(names func(*node) map[string]*node) {
	if c.from != nil && names(c.from)[c.old] == c.target {
		delete(names(c.from), c.old)
	}
	if c.target == nil {
		delete(names(c.of), c.name)
	} else {
		names(c.of)[c.name] = c.target
	}
}

// write carries a change of content out on a copy.
func (c *change) write(content []byte) []byte {
	size := c.offset + int64(len(c.data))
	if !c.cut {
		size = max(size, int64(len(content)))
	}
	after := make([]byte, size)
	copy(after, content)
	copy(after[c.offset:], c.data)
	return after
}

// apply does what a call has done.
func (p *platter) apply(c *call) error {
	switch c.name {
	case "open", "openat", "openat2", "creat":
		return p.open(c)
	case "write", "pwrite64":
		return p.write(c)
	case "ftruncate":
		size, err := strconv.ParseInt(c.args[1], 10, 64)
		if c.node != nil && err == nil {
			p.content(c, &change{cut: true, offset: size})
		}
		return err
	case "fsync", "fdatasync":
		p.sync(c, func(of *node) bool { return of == c.node })
	case "syncfs", "sync":
		p.sync(c, func(*node) bool { return true })
	case "rename", "renameat", "renameat2":
		return p.move(c)
	case "unlink", "unlinkat", "rmdir":
		return p.named(c, 0, nil)
	case "mkdir", "mkdirat":
		return p.named(c, 0, newFolder())
	case "symlink", "symlinkat":
		target, err := unquote(c.args[0])
		if err != nil {
			return err
		}
		return p.named(c, 1, &node{link: string(target)})
	case "sync_file_range": // promises nothing
	default:
		return p.foreign(c)
	}
	return nil
}

// foreign refuses calls that are not understood, where they touch the root.
func (p *platter) foreign(c *call) error {
	if strings.Contains(strings.Join(c.args, " "), p.root) {
		return errors.New("no rule for this call")
	}
	return nil
}

// path returns the path that begins with the argument at: a name, or a folder's descriptor and a name below it.
// It returns the index behind it too.
func (p *platter) path(c *call, at int) (path string, next int, err error) {
	base := "/"
	if c.args[at][0] != '"' {
		var ok bool
		if base, ok = descriptor(c.args[at]); !ok {
			return "", 0, fmt.Errorf("no folder in %q", c.args[at])
		}
		at++
	}
	name, err := unquote(c.args[at])
	if err != nil {
		return "", 0, err
	}
	if filepath.IsAbs(string(name)) {
		return filepath.Clean(string(name)), at + 1, nil
	}
	if base == "/" {
		return "", 0, errors.New("a relative path, and nobody says to what")
	}
	return filepath.Join(base, string(name)), at + 1, nil
}

func (p *platter) open(c *call) error {
	flags := strings.Join(c.args, " ")
	if c.name != "creat" && !strings.Contains(flags, "O_CREAT") && !strings.Contains(flags, "O_TRUNC") && !strings.Contains(flags, "O_TMPFILE") {
		return nil
	}
	path, _, err := p.path(c, 0)
	if err != nil {
		return err
	}
	dir, name, n := p.find(path)
	switch {
	case dir == nil:
	case strings.Contains(flags, "O_TMPFILE"):
		return errors.New("no rule for O_TMPFILE")
	case n == nil:
		p.did(c, path, &change{of: dir, name: name, target: &node{}})
	case strings.Contains(flags, "O_TRUNC") && len(n.content) > 0:
		p.did(c, path, &change{of: n, cut: true})
	}
	return nil
}

// write takes a write for one at the end of the file, as all are that come without an offset here. That this holds is
// seen when the whole platter is compared with the folder.
func (p *platter) write(c *call) error {
	if c.node == nil {
		return nil
	}
	data, err := unquote(c.args[1])
	if err != nil {
		return err
	}
	offset := int64(len(c.node.content))
	if c.name == "pwrite64" {
		if offset, err = strconv.ParseInt(c.args[3], 10, 64); err != nil {
			return err
		}
	}
	p.content(c, &change{data: data[:c.result], offset: offset})
	return nil
}

// content adds a change of the content of the file that the call's descriptor stands for.
func (p *platter) content(c *call, ch *change) {
	path, _ := descriptor(c.args[0])
	ch.of = c.node
	p.did(c, path, ch)
}

// did adds a change that a call has made at a path.
func (p *platter) did(c *call, path string, ch *change) {
	ch.start, ch.end = c.start, c.end
	p.add(ch)
	if strings.HasPrefix(path, p.free+"/") {
		ch.durable = c.end
	}
}

// named has the name at an argument mean something else now.
func (p *platter) named(c *call, at int, target *node) error {
	path, _, err := p.path(c, at)
	if err != nil {
		return err
	}
	if dir, name, _ := p.find(path); dir != nil {
		p.did(c, path, &change{of: dir, name: name, target: target})
	}
	return nil
}

func (p *platter) move(c *call) error {
	from, next, err := p.path(c, 0)
	if err != nil {
		return err
	}
	to, _, err := p.path(c, next)
	if err != nil {
		return err
	}
	if strings.Contains(c.args[len(c.args)-1], "RENAME_EXCHANGE") {
		return errors.New("no rule for an exchange")
	}
	source, old, n := p.find(from)
	dir, name, _ := p.find(to)
	switch {
	case source == nil && dir == nil:
		return nil
	case n == nil || dir == nil:
		return fmt.Errorf("%s is not known here", from)
	}
	p.did(c, to, &change{of: dir, name: name, target: n, from: source, old: old})
	return nil
}

// sync makes durable what had been done to some nodes before the call began.
func (p *platter) sync(c *call, covers func(*node) bool) {
	for _, ch := range p.changes {
		if ch.durable == never && ch.end < c.start && covers(ch.of) {
			ch.durable = c.end
		}
	}
}

// A fate says what becomes of changes that are not durable.
type fate string

// The fates.
const (
	dropped fate = "dropped" // nothing of them reached the disk
	kept    fate = "kept"    // all of them did
	torn    fate = "torn"    // some did, and content in blocks
)

var fates = []fate{dropped, kept, torn, torn}

// survives reports whether a change, or some of it, is on the disk after a power cut at a line of the trace.
func (c *change) survives(cut int, f fate, dice *rand.Rand) bool {
	switch {
	case c.start > cut:
		return false
	case c.durable <= cut || f == kept:
		return true
	}
	return f == torn && dice.IntN(2) == 0
}

// after returns the tree that a power cut at a line of the trace leaves.
func (p *platter) after(cut int, f fate, dice *rand.Rand) *tree {
	t := &tree{top: p.top, names: map[*node]map[string]*node{}, content: map[*node][]byte{}}
	waiting := map[*node][]*change{}
	for _, c := range p.changes {
		switch {
		case c.name != "":
			if c.survives(cut, f, dice) {
				c.rename(t.of)
			}
		case c.durable <= cut:
			t.content[c.of] = c.write(t.content[c.of])
		case c.start <= cut:
			waiting[c.of] = append(waiting[c.of], c)
		}
	}
	for _, c := range p.changes { // in their order, so that one seed gives one tree
		if changes := waiting[c.of]; changes != nil {
			delete(waiting, c.of)
			t.content[c.of] = tear(t.content[c.of], changes, f, dice)
		}
	}
	return t
}

// tear returns what may be of a file whose last changes were not synced.
func tear(synced []byte, changes []*change, f fate, dice *rand.Rand) []byte {
	n := map[fate]int{dropped: 0, kept: len(changes)}[f]
	if f == torn {
		n = dice.IntN(len(changes) + 1)
	}
	whole := synced
	for _, c := range changes[:n] {
		whole = c.write(whole)
	}
	if f != torn {
		return whole
	}
	block := []int{512, 4096}[dice.IntN(2)]
	size := []int{len(synced), len(whole), min(len(whole), (len(synced)/block+1+dice.IntN(3))*block)}[dice.IntN(3)]
	after := make([]byte, size)
	copy(after, synced)
	for from := 0; from < min(size, len(whole)); from += block {
		if dice.IntN(2) == 0 {
			copy(after[from:min(from+block, size)], whole[from:])
		}
	}
	return after
}

// tree is what a power cut leaves.
type tree struct {
	top     *node
	names   map[*node]map[string]*node
	content map[*node][]byte
}

func (t *tree) of(n *node) map[string]*node {
	if t.names[n] == nil {
		t.names[n] = map[string]*node{}
	}
	return t.names[n]
}

// at returns what stands at a path, nil where nothing does.
func (t *tree) at(path ...string) *node {
	n := t.top
	for _, name := range path {
		if n = t.names[n][name]; n == nil {
			return nil
		}
	}
	return n
}

// put makes the tree on the real disk.
func (t *tree) put(folder string) error { return t.putNode(t.top, folder) }

func (t *tree) putNode(n *node, path string) error {
	switch {
	case n.link != "":
		return os.Symlink(n.link, path)
	case !n.folder:
		return os.WriteFile(path, t.content[n], 0o600)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for name, below := range t.names[n] {
		if err := t.putNode(below, filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}

// list returns the files of the tree by path, as files does for a real folder.
func (t *tree) list() map[string]string {
	found := map[string]string{}
	t.listNode(t.top, "", found)
	return found
}

func (t *tree) listNode(n *node, path string, found map[string]string) {
	switch {
	case n.link != "":
		found[path] = n.link
	case !n.folder:
		found[path] = string(t.content[n])
	}
	for name, below := range t.names[n] {
		t.listNode(below, filepath.Join(path, name), found)
	}
}

// synced returns what is durable at a line of the trace of the file that has a path in the tree.
func (p *platter) synced(n *node, cut int) []byte {
	var content []byte
	for _, c := range p.changes {
		if c.of == n && c.name == "" && c.durable <= cut {
			content = c.write(content)
		}
	}
	return content
}

// moments returns the lines after which a write that is not a step's is not yet synced: the most dangerous ones.
func (p *platter) moments() []int {
	var lines []int
	for _, c := range p.changes {
		if c.name == "" && c.end > 0 && c.durable > c.end && c.durable != never {
			lines = append(lines, c.end)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}
