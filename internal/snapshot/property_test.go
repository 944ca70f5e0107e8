package snapshot

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var (
	stories = flag.Int("stories", 4, "how many random stories to play")
	seed    = flag.Uint64("seed", 0, "where their dice begin; 0 for the clock")
)

// player makes random edits.
type player struct {
	*rand.Rand
	*workspace
	now map[string]string // as contents
}

func play(t *testing.T, tell func(p *player)) {
	t.Helper()
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	for i := range uint64(*stories) {
		t.Run(strconv.FormatUint(first+i, 10), func(t *testing.T) {
			t.Parallel()
			p := &player{Rand: rand.New(rand.NewPCG(first+i, 0)), workspace: newWorkspace(t)}
			if p.IntN(2) == 0 {
				p.store.small, p.store.part = 0, 1 // the stat file is written as rarely as possible
			}
			tell(p)
		})
	}
}

var someNames = []string{"a", "b", "c", "A", "a.log", "b.log", "build", "x\ny", "\xff", "a b", "-", "d", "e", ".x", "a.txt"}

func (p *player) one(of []string) string { return of[p.IntN(len(of))] }

// place is a random path that is there, or a new one in a folder that is there.
func (p *player) place() string {
	var there, folders []string
	for name, what := range p.now {
		there = append(there, name)
		if strings.HasPrefix(what, "folder") {
			folders = append(folders, name)
		}
	}
	slices.Sort(there)
	slices.Sort(folders)
	if len(there) > 0 && p.IntN(2) == 0 {
		return p.one(there)
	}
	if folder := p.one(append(folders, "", "")); strings.Count(folder, "/") < 4 {
		return path.Join(folder, p.one(someNames))
	}
	return p.one(someNames)
}

// edit changes one thing. What cannot be done, as writing into a folder, is left.
func (p *player) edit() {
	at := p.path(p.place())
	info, err := os.Lstat(at)
	isFile := err == nil && info.Mode().IsRegular()
	switch p.IntN(13) {
	case 0, 1, 2:
		_ = os.WriteFile(at, []byte(strings.Repeat(strconv.Itoa(p.IntN(4)), p.IntN(9))), 0o644)
	case 3:
		_ = os.WriteFile(at, []byte(p.one([]string{"1111", "2222"})), 0o644) // of the same size as before, often
	case 4:
		if isFile {
			_ = os.Truncate(at, p.Int64N(6))
		}
	case 5:
		_ = os.RemoveAll(at)
	case 6:
		_ = os.MkdirAll(at, 0o755)
	case 7:
		_ = os.MkdirAll(path.Join(at, p.one(someNames), p.one(someNames)), 0o755)
	case 8:
		to := p.path(p.place())
		if err := os.Rename(at, to); err != nil && p.IntN(2) == 0 && !strings.HasPrefix(at+"/", to+"/") && !strings.HasPrefix(to, at+"/") {
			_ = os.RemoveAll(to)
			_ = os.Rename(at, to)
		}
	case 9:
		_ = os.Symlink(p.one([]string{"a", "..", "/", "nowhere", "build"}), at)
	case 10:
		if err == nil && info.Mode()&os.ModeSymlink == 0 {
			_ = unix.Chmod(at, 0o700|uint32(p.IntN(0o100)))
		}
	case 11:
		if isFile {
			_ = os.Chtimes(at, time.Unix(1e9, 0), time.Unix(1e9, 0))
		}
	case 12:
		_ = os.Link(p.path(p.place()), at)
	}
	p.now = contents(p.t, p.root)
}

// upset does to the stat cache what may happen to it: nothing, gone, damaged, an old one back, or all of it believed.
func (p *player) upset(old *[]byte) {
	file := p.store.statFile()
	data, _ := os.ReadFile(file)
	switch p.IntN(8) {
	case 0:
		_ = os.Remove(file)
	case 1:
		if len(data) > 0 {
			data[p.IntN(len(data))] ^= 1 << p.IntN(8)
			p.must(os.WriteFile(file, data, 0o600))
		}
	case 2:
		if len(*old) > 0 {
			p.must(os.WriteFile(file, *old, 0o600))
		}
	case 3:
		*old = data
	case 4:
		p.age()
	}
}

// TestRandomStories makes random edits, snapshots and restores, and compares each with a plain copy of the files.
func TestRandomStories(t *testing.T) {
	t.Parallel()
	play(t, func(p *player) {
		var cache []byte
		var taken []Record
		var was []map[string]string
		p.now = contents(p.t, p.root)
		for range 25 {
			if p.IntN(3) == 0 {
				p.settle()
			}
			for range p.IntN(8) {
				p.edit()
			}
			p.upset(&cache)
			if len(taken) > 0 && p.IntN(3) == 0 {
				i := p.IntN(len(taken))
				paths := p.paths(was[i])
				if taken[i].requires(clean(paths)) != nil {
					paths = taken[i].Paths
				}
				want := restored(p.now, was[i], paths)
				before := p.restore(taken[i], paths...)
				taken, was = append(taken, before), append(was, p.now)
				p.now = contents(p.t, p.root)
				if same(p.t, want, p.now); p.t.Failed() {
					p.t.Fatalf("after the restore of %q", paths)
				}
			}
			taken, was = append(taken, p.take()), append(was, p.now)
			p.coldTree(taken[len(taken)-1])
		}
		for i, r := range taken {
			same(p.t, restored(nil, was[i], r.Paths), contents(p.t, p.export(r)))
		}
	})
}

// coldTree fails unless a walk without a stat cache finds the same.
func (p *player) coldTree(r Record) {
	p.t.Helper()
	file := p.store.statFile()
	p.must(os.Rename(file, file+".aside"))
	l, err := p.store.scan(p.t.Context(), nil, extent{})
	p.must(err)
	if l.root.ID != r.Tree {
		changes, err := diff(l.tree, r.Tree, l.root.ID, nil)
		p.t.Fatalf("without the stat cache there is more to see: %+v %v", changes, err)
	}
	p.must(l.batch.Abort())
	p.must(os.Rename(file+".aside", file))
}

// paths are some of a snapshot's and of the workspace's, or none, which means all.
func (p *player) paths(was map[string]string) []string {
	all := slices.Sorted(maps.Keys(was))
	all = append(all, slices.Sorted(maps.Keys(p.now))...)
	var some []string
	if len(all) > 0 && p.IntN(2) == 0 {
		for range 1 + p.IntN(3) {
			some = append(some, p.one(all))
		}
	}
	return some
}

// restored is what should be there after the paths of was have been brought back.
func restored(now, was map[string]string, paths []string) map[string]string {
	want := map[string]string{}
	for name, what := range now {
		if !covered(name, paths) {
			want[name] = what
		}
	}
	for name, what := range was {
		if !covered(name, paths) {
			continue
		}
		want[name] = what
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if !strings.HasPrefix(want[above], "folder") {
				want[above] = was[above]
			}
		}
	}
	maps.DeleteFunc(want, func(name, _ string) bool { // what is no folder now has nothing in it
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if what, there := want[above]; there && !strings.HasPrefix(what, "folder") {
				return true
			}
		}
		return false
	})
	return want
}

// TestRandomRepositories compares the files of snapshots with git's own list, while patterns, files and index change.
func TestRandomRepositories(t *testing.T) {
	t.Parallel()
	play(t, func(p *player) {
		p.git("init", "-q")
		p.now = contents(p.t, p.root)
		for range 12 {
			for range 1 + p.IntN(8) {
				p.edit()
			}
			p.patterns()
			p.stage()
			if p.IntN(3) == 0 {
				p.age()
			}
			got, want := p.files(p.take()), p.gitFiles()
			if !slices.Equal(got, want) {
				p.t.Fatalf("git says %q, pawl says %q", want, got)
			}
		}
	})
}

// patterns rewrites or removes the patterns of a folder.
func (p *player) patterns() {
	folder := ""
	for name, what := range p.now {
		if strings.HasPrefix(what, "folder") && p.IntN(4) == 0 {
			folder = name
		}
	}
	file := p.path(path.Join(folder, ".gitignore"))
	if p.IntN(4) == 0 {
		_ = os.Remove(file)
		return
	}
	var text strings.Builder
	for range p.IntN(4) {
		fmt.Fprintf(&text, "%s%s%s\n", p.one([]string{"", "", "!", "/"}), p.one([]string{"*.log", "build", "a", "A", "d*", "\xff", "b/", "**/e"}), p.one([]string{"", "", "/"}))
	}
	_ = os.WriteFile(file, []byte(text.String()), 0o644)
}

// stage changes the index.
func (p *player) stage() {
	list := strings.Split(strings.TrimSuffix(p.git("ls-files", "-coz"), "\x00"), "\x00")
	name := p.one(list)
	switch info, err := os.Lstat(p.path(name)); {
	case name == "" || p.IntN(3) == 0:
	case p.IntN(3) == 0:
		p.git("rm", "-rfq", "--cached", "--ignore-unmatch", "--", ":(literal)"+name)
	case err == nil && !info.IsDir():
		p.git("update-index", "--add", "--replace", "--", name)
	}
	p.now = contents(p.t, p.root)
}

// gitFiles lists what git tracks, or would add.
func (p *player) gitFiles() []string {
	var files []string
	for name := range strings.SplitSeq(p.git("ls-files", "-coz", "--exclude-standard"), "\x00") {
		info, err := os.Lstat(p.path(name))
		if name != "" && err == nil && !info.IsDir() && p.real(name) && !strings.HasPrefix(name, ".pawl/") && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}

// real reports whether no folder on the way is a link: what git tracks may have become that.
func (p *player) real(name string) bool {
	for name = path.Dir(name); name != "."; name = path.Dir(name) {
		if info, err := os.Lstat(p.path(name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
