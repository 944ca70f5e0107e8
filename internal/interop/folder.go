package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// Folder is a folder with another system's files, as they were read, and what git and the disk say about them.
type Folder struct {
	format   format.Format
	dir      string // or a single file
	files    format.Files
	env      format.Env
	findings []pawl.Finding                               // files that could not be read
	doneAt   func(run string, step pawl.StepID) time.Time // see format.Env.Redone; nil without a project

	made func(pawl.RunID, pawl.StepID) ([]string, string) // see format.Env.Made; nil without a project
}

// OpenFolder reads the files of a format in dir. p is the project whose journals tell which of them pawl wrote; it may be
// nil.
func OpenFolder(ctx context.Context, p *project.Project, f format.Format, dir string) (*Folder, error) {
	files, findings, err := readFiles(nil, dir, f)
	if err != nil {
		return nil, err
	}
	at := locate(dir, f)
	root := at.projectDir()
	if p != nil && at.file != "" {
		root = p.Root // a file outside may be shared by several projects
	}
	commits, err := listCommits(ctx, root)
	if err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "cannot list the git commits: " + err.Error()})
	}
	env := newEnv(ctx, root, commits)
	folder := &Folder{format: f, dir: dir, files: files, env: env, findings: findings}
	if p != nil {
		folder.env.Run = cachedRuns(ctx, p)
		_, folder.env.Engine = p.EngineHolder()
		folder.doneAt = func(run string, step pawl.StepID) time.Time { return lastDone(ctx, p, run, step) }
		folder.made = func(run pawl.RunID, step pawl.StepID) ([]string, string) { return madeBy(ctx, p, run, step) }
	}
	for _, unread := range folder.Unread() {
		folder.env.Unread = append(folder.env.Unread, unread.Where)
	}
	return folder, nil
}

// SetLiveness sets after how much silence a session counts as dead (quiet), and after how much time without progress its
// work counts as stalled; 0 keeps the format's default.
func (f *Folder) SetLiveness(quiet, stalled time.Duration) {
	f.env.Quiet, f.env.Stalled = quiet, stalled
}

// cachedRuns returns a function that loads a run, each at most once; a nil state if the run cannot be loaded.
func cachedRuns(ctx context.Context, p *project.Project) func(string) (*pawl.State, *pawl.Plan) {
	known := map[string]*runs.Run{}
	return func(id string) (*pawl.State, *pawl.Plan) {
		r, ok := known[id]
		if !ok {
			r = &runs.Run{}
			if there, err := runs.Load(ctx, p, pawl.RunID(id)); err == nil {
				defer there.Log.Close()
				r = there
			}
			known[id] = r
		}
		return r.State, r.Plan
	}
}

// Places returns the folders in which runs are, relative to the folder; nil if the system has only one. Read reads the first
// one.
func (f *Folder) Places() []string {
	if f.format.Places == nil {
		return nil
	}
	return f.format.Places(f.files, f.env.Now)
}

// FirstPlace returns the first of Places; "" if the system has only one place.
func (f *Folder) FirstPlace() string {
	if places := f.Places(); len(places) > 0 {
		return places[0]
	}
	return ""
}

// Projects returns the ids of the projects in the files; nil if the system's files hold only one project.
func (f *Folder) Projects() []string {
	if f.format.Projects == nil {
		return nil
	}
	return f.format.Projects(f.files)
}

// Read returns what the files say about the run at a place; with "" at the first of Places.
func (f *Folder) Read(place string) (format.Project, []pawl.Finding) {
	r, found := f.At(place).format.Read(f.files, f.env)
	return r, slices.Concat(f.findings, found)
}

// At returns the folder restricted to a place. It returns the whole folder if place is empty or the system has only one.
func (f *Folder) At(place string) *Folder {
	at := *f
	if f.format.At != nil && place != "" {
		at.format = f.format.At(place)
	}
	return &at
}

// Prune returns the changes that remove old checkpoints, so that keep checkpoints of each run remain. It writes nothing.
func (f *Folder) Prune(keep int) ([]format.File, error) {
	if f.format.Prune == nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no checkpoints to prune", f.format.Name)}
	}
	return f.format.Prune(f.files, keep, f.env)
}

// Write writes files to the folder. It fails with format.ErrChanged if someone else changed one since it was read. It keeps
// other pawl processes of p from writing such files; p may be nil.
func (f *Folder) Write(p *project.Project, files []format.File) error {
	return withMirrorLock(p, func() error {
		_, err := writeFiles(f.dir, f.format, f.files, files)
		return err
	})
}

// Unread returns a finding for each file that exists and could not be read.
func (f *Folder) Unread() []pawl.Finding {
	return slices.DeleteFunc(slices.Clone(f.findings), func(found pawl.Finding) bool { return found.Level != pawl.Bad })
}

// Verify runs the system's own validation. It also returns the findings of reading the files, and one for each lock file.
func (f *Folder) Verify() []pawl.Finding {
	var all report.Report
	_, findings := f.Read("")
	all.Add(findings...)
	all.Add(f.format.Verify(f.files, f.env)...)
	all.Add(lockFindings(f.format, f.files)...)
	return all.Findings()
}

// ResumePrompt returns the question that the system asks before it resumes the work in the folder. It is zero if the system
// asks none.
func (f *Folder) ResumePrompt() format.Question {
	if f.format.ResumePrompt == nil {
		return format.Question{}
	}
	return f.format.ResumePrompt(f.files, f.env)
}

// Unfinished returns the unfinished work in the folder that a run of plan would overwrite, and the file that mentions it;
// empty if there is none.
func (f *Folder) Unfinished(plan *pawl.Plan) (what, file string) {
	if f.format.Unfinished == nil {
		return "", ""
	}
	return f.format.Unfinished(f.files, f.env, plan)
}

// RelativeTo makes the paths of a reading relative to the project, if its folder lies in the project.
func RelativeTo(root, dir string, reading format.Project) format.Project {
	info, err := os.Stat(dir)
	rel, relErr := filepath.Rel(root, dir)
	if err != nil || relErr != nil || !info.IsDir() || rel == "." || !filepath.IsLocal(rel) {
		return reading
	}
	return reading.In(filepath.ToSlash(rel))
}

// IsProjectRun reports whether a workflow is a run of this project.
func IsProjectRun(p *project.Project, workflow string) bool {
	run, err := pawl.ParseRunID(workflow)
	if err != nil {
		return false
	}
	_, err = disk.Lstat(p.RunDir(run))
	return err == nil
}
