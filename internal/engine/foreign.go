package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/doubt"
	"pawl/internal/foreign"
	"pawl/internal/project"
	"pawl/internal/snapshot"
)

// ForeignFolder is a folder with another system's files, as they were read, with what git and the disk know of it.
type ForeignFolder struct {
	codec    foreign.Codec
	dir      string // or file, as it was opened
	files    foreign.Files
	world    foreign.World
	commits  []foreign.Commit
	findings []pawl.Finding // what could not be read
}

// OpenForeign reads a folder's files for a codec. p is the project whose journals say what was written by pawl itself; nil:
// there is none.
func OpenForeign(ctx context.Context, p *project.Project, codec foreign.Codec, dir string) (*ForeignFolder, error) {
	files, findings, err := ReadForeign(dir, codec)
	if err != nil {
		return nil, err
	}
	at := dir
	dir = worldAt(dir, codec)
	commits, err := commitsIn(ctx, dir)
	if err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "which commits there are could not be found out: " + err.Error()})
	}
	world := worldOf(ctx, dir, commits)
	if p != nil {
		world.Run = saidOnce(ctx, p)
	}
	f := &ForeignFolder{codec: codec, dir: at, files: files, world: world, commits: commits, findings: findings}
	for _, unread := range f.Unread() {
		f.world.Unread = append(f.world.Unread, unread.Where)
	}
	return f, nil
}

// Silence says after how long without a sign of life nobody is taken to be at work any more, and after how long the work is
// taken to stand still; 0: as the codec has it.
func (f *ForeignFolder) Silence(quiet, stalled time.Duration) {
	f.world.Quiet, f.world.Stalled = quiet, stalled
}

// saidOnce returns what says what the journal of a run says, and reads each once; nothing, where there is none that can be read.
func saidOnce(ctx context.Context, p *project.Project) func(string) (*pawl.State, *pawl.Plan) {
	known := map[string]*Run{}
	return func(id string) (*pawl.State, *pawl.Plan) {
		r, ok := known[id]
		if !ok {
			r = &Run{}
			if there, err := Load(ctx, p, pawl.RunID(id)); err == nil {
				defer there.Log.Close()
				r = there
			}
			known[id] = r
		}
		return r.State, r.Plan
	}
}

// Places returns where runs are in the folder, the one first that Read reads; nil where the system knows but one.
func (f *ForeignFolder) Places() []string {
	if p, ok := f.codec.(foreign.Plural); ok {
		return p.Places(f.files, f.world.Now)
	}
	return nil
}

// Projects returns the ids of the projects that the folder's files hold; nil where the system's hold but one.
func (f *ForeignFolder) Projects() []string {
	if c, several := f.codec.(foreign.Chooser); several {
		return c.Projects(f.files)
	}
	return nil
}

// Read says what the files say of the run at one of the places, without one of the first.
func (f *ForeignFolder) Read(place string) (foreign.Reading, []pawl.Finding) {
	r, found := readBy(f.At(place).codec, f.files, f.world, f.commits)
	return r, slices.Concat(f.findings, found)
}

// At is the folder seen from one of the places; without one, and where the system knows but one, as it is.
func (f *ForeignFolder) At(place string) *ForeignFolder {
	at := *f
	if p, ok := f.codec.(foreign.Plural); ok && place != "" {
		at.codec = p.At(place)
	}
	return &at
}

// Prune returns what goes of old checkpoints so that so many of each run stay; the folder is not changed by that.
func (f *ForeignFolder) Prune(keep int) ([]foreign.File, error) {
	p, prunes := f.codec.(foreign.Pruner)
	if !prunes {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no checkpoints that are let go of", f.codec.System())}
	}
	return p.Prune(f.files, keep, f.world)
}

// Write writes files where the folder's were read; what somebody else has changed since ends it with ErrChanged. Of a project
// (nil: there is none) no other pawl writes such files meanwhile.
func (f *ForeignFolder) Write(p *project.Project, files []foreign.File) error {
	write := func() error { return WriteForeign(f.dir, f.codec, f.files, files) }
	if p == nil {
		return write()
	}
	return p.Mirroring(write)
}

// Unread returns what says of files that they are there and could not be read.
func (f *ForeignFolder) Unread() []pawl.Finding {
	return slices.DeleteFunc(slices.Clone(f.findings), func(found pawl.Finding) bool { return found.Level != pawl.Bad })
}

// Verify is the system's own validation, with what cannot be read.
func (f *ForeignFolder) Verify() []pawl.Finding {
	_, findings := f.Read("")
	for _, found := range f.codec.Verify(f.files, f.world) {
		if !slices.Contains(findings, found) {
			findings = append(findings, found)
		}
	}
	return findings
}

// Meets says whether a step in the folder meets a criterion of its own, and by what that is known. by is the
// attempt that asks, whose items of the step count; nil: none does.
func (f *ForeignFolder) Meets(by *Inside, step pawl.StepID, criterion string) (bool, string, error) {
	prover, ok := f.codec.(foreign.Prover)
	if !ok {
		return false, "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("the steps of %s have no criteria of their own", f.codec.System())}
	}
	world := f.world
	if by != nil && by.Attempt.Step == step && world.Run != nil {
		if s, _ := world.Run(string(by.Run)); s != nil && s.Steps[step] != nil {
			world.Items = namedItems(s.Steps[step])
		}
		world.Items = append(world.Items, by.items()...)
	}
	met, why := prover.Meets(f.files, world, step, criterion)
	return met, why, nil
}

func readBy(codec foreign.Codec, files foreign.Files, w foreign.World, commits []foreign.Commit) (foreign.Reading, []pawl.Finding) {
	switch c := codec.(type) {
	case foreign.Historian:
		return c.ReadHistory(files, commits, w.Now)
	case foreign.Witness:
		return c.ReadIn(files, w)
	}
	return codec.Read(files, w.Now)
}

// manyCommits is how far back the commits are looked at that other systems name.
const manyCommits = 2000

// commitsIn returns the commits that HEAD of the repository that a folder lies in builds on; nil: there is no repository.
func commitsIn(ctx context.Context, dir string) ([]foreign.Commit, error) {
	head, err := snapshot.HeadOf(ctx, dir)
	if err != nil || head == nil {
		return nil, err
	}
	found, err := snapshot.CommitsOf(ctx, dir, time.Time{}, manyCommits)
	commits := []foreign.Commit{}
	for _, c := range found {
		commits = append(commits, foreign.Commit{Hash: c.Hash, Message: c.Subject, Time: c.Time})
	}
	return commits, err
}

// unknownIn returns a function that reports whether the repository that a folder lies in knows no such commit. It asks git
// only once it is called.
func unknownIn(ctx context.Context, dir string) func(string) bool {
	known := sync.OnceValue(func() func(string) bool {
		commits, err := commitsIn(ctx, dir)
		if err != nil {
			return nil
		}
		return worldOf(ctx, dir, commits).Commit
	})
	return func(hash string) bool {
		return known() != nil && !known()(hash) && !gitHas(ctx, dir, hash) && ctx.Err() == nil
	}
}

// worldAt returns the folder that files speak of: the one that they lie in, or the project that a single file lies in.
func worldAt(path string, codec foreign.Codec) string {
	dir, only := placeOf(path, codec)
	for above := dir; only != "" && filepath.Dir(above) != above; above = filepath.Dir(above) {
		if info, err := os.Stat(filepath.Join(above, project.Folder)); err == nil && info.IsDir() {
			return above
		}
	}
	return dir
}

// worldOf is what a system's validation may ask of a folder and of git.
func worldOf(ctx context.Context, dir string, commits []foreign.Commit) foreign.World {
	w := foreign.World{
		Now: time.Now().UTC(),
		Exists: func(name string) bool {
			full, err := within(dir, name)
			if err != nil {
				return false
			}
			_, err = os.Lstat(full)
			return err == nil
		},
		Hash: hashedOnce(dir),
		Scan: func(since time.Time) doubt.Census { return census(ctx, dir, since) },
	}
	if commits != nil {
		w.Commit = func(hash string) bool {
			for _, known := range commits {
				if hash != "" && strings.HasPrefix(known.Hash, hash) {
					return true
				}
			}
			return false
		}
	}
	return w
}

// within returns the path of a name below a folder, links above it followed: ErrOutside where they lead out.
func within(dir, name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", foreign.ErrOutside
	}
	full := filepath.Join(dir, filepath.FromSlash(name))
	above, err := filepath.EvalSymlinks(filepath.Dir(full))
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, above); err != nil || !filepath.IsLocal(rel) {
		return "", foreign.ErrOutside
	}
	return filepath.Join(above, filepath.Base(full)), nil
}

// hashedOnce looks at each file once, however often it is asked for: what several checkpoints name is the same to all.
func hashedOnce(dir string) func(string) (string, int64, error) {
	type found struct {
		sum  string
		size int64
		err  error
	}
	known := map[string]found{}
	return func(name string) (string, int64, error) {
		f, ok := known[name]
		if !ok {
			f.sum, f.size, f.err = hashIn(dir, name)
			known[name] = f
		}
		return f.sum, f.size, f.err
	}
}

func hashIn(dir, name string) (string, int64, error) {
	full, err := within(dir, name)
	if err != nil {
		return "", 0, err
	}
	info, err := os.Lstat(full)
	if err != nil {
		return "", 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return "", 0, foreign.ErrLink
	}
	sum, err := contentHash(full, info)
	return sum, info.Size(), err
}
