package interop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/report"
	"pawl/internal/project"
	"pawl/internal/runs"
)

// ForeignFolder is a folder with another system's files, as they were read, with what git and the disk know of it.
type ForeignFolder struct {
	codec    format.Format
	dir      string // or file, as it was opened
	files    format.Files
	world    format.Env
	findings []pawl.Finding // what could not be read
}

// OpenForeign reads a folder's files for a codec. p is the project whose journals say what was written by pawl itself; nil:
// there is none.
func OpenForeign(ctx context.Context, p *project.Project, codec format.Format, dir string) (*ForeignFolder, error) {
	files, findings, err := ReadForeign(dir, codec)
	if err != nil {
		return nil, err
	}
	of := placeOf(dir, codec).speaksOf()
	commits, err := commitsIn(ctx, of)
	if err != nil {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, What: "which commits there are could not be found out: " + err.Error()})
	}
	world := worldOf(ctx, of, commits)
	if p != nil {
		world.Run = saidOnce(ctx, p)
	}
	f := &ForeignFolder{codec: codec, dir: dir, files: files, world: world, findings: findings}
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

// Places returns where runs are in the folder, the one first that Read reads; nil where the system knows but one.
func (f *ForeignFolder) Places() []string {
	if f.codec.Places == nil {
		return nil
	}
	return f.codec.Places(f.files, f.world.Now)
}

// Projects returns the ids of the projects that the folder's files hold; nil where the system's hold but one.
func (f *ForeignFolder) Projects() []string {
	if f.codec.Projects == nil {
		return nil
	}
	return f.codec.Projects(f.files)
}

// Read says what the files say of the run at one of the places, without one of the first.
func (f *ForeignFolder) Read(place string) (format.Project, []pawl.Finding) {
	r, found := f.At(place).codec.Read(f.files, f.world)
	return r, slices.Concat(f.findings, found)
}

// At is the folder seen from one of the places; without one, and where the system knows but one, as it is.
func (f *ForeignFolder) At(place string) *ForeignFolder {
	at := *f
	if f.codec.At != nil && place != "" {
		at.codec = f.codec.At(place)
	}
	return &at
}

// Prune returns what goes of old checkpoints so that so many of each run stay; the folder is not changed by that.
func (f *ForeignFolder) Prune(keep int) ([]format.File, error) {
	if f.codec.Prune == nil {
		return nil, &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("%s has no checkpoints that are let go of", f.codec.Name)}
	}
	return f.codec.Prune(f.files, keep, f.world)
}

// Write writes files where the folder's were read; what somebody else has changed since ends it with format.ErrChanged. Of a project
// (nil: there is none) no other pawl writes such files meanwhile.
func (f *ForeignFolder) Write(p *project.Project, files []format.File) error {
	return mirroring(p, func() error {
		_, err := WriteForeign(f.dir, f.codec, f.files, files)
		return err
	})
}

// Unread returns what says of files that they are there and could not be read.
func (f *ForeignFolder) Unread() []pawl.Finding {
	return slices.DeleteFunc(slices.Clone(f.findings), func(found pawl.Finding) bool { return found.Level != pawl.Bad })
}

// Verify is the system's own validation, with what cannot be read.
func (f *ForeignFolder) Verify() []pawl.Finding {
	var all report.Report
	_, findings := f.Read("")
	all.Add(findings...)
	all.Add(f.codec.Verify(f.files, f.world)...)
	all.Add(examineLocks(f.codec, f.files)...)
	return all.Findings()
}

// Meets says whether a step in the folder meets a criterion of its own, and by what that is known. by is the
// attempt that asks, whose items of the step count; nil: none does.
func (f *ForeignFolder) Meets(by *runs.StepClient, step pawl.StepID, criterion string) (bool, string, error) {
	if f.codec.CheckCriterion == nil {
		return false, "", &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("the steps of %s have no criteria of their own", f.codec.Name)}
	}
	world := f.world
	if by != nil && by.Attempt.Step == step && world.Run != nil {
		if s, _ := world.Run(string(by.Run)); s != nil && s.Steps[step] != nil {
			world.Items = namedItems(s.Steps[step])
		}
		for _, item := range by.Items() {
			world.Items = append(world.Items, format.Item{ID: string(item.Item), Status: item.Status})
		}
	}
	met, why := f.codec.CheckCriterion(f.files, world, step, criterion)
	return met, why, nil
}

// Question returns what the system would ask before it goes on with what is there; nothing, where it does not ask.
func (f *ForeignFolder) Question() format.Question {
	if f.codec.ResumePrompt == nil {
		return format.Question{}
	}
	return f.codec.ResumePrompt(f.files, f.world)
}

// Unfinished returns what is unfinished in the folder that a run of a plan would write over, and the file that says so;
// empty where nothing is.
func (f *ForeignFolder) Unfinished(plan *pawl.Plan) (what, file string) {
	if f.codec.Unfinished == nil {
		return "", ""
	}
	return f.codec.Unfinished(f.files, f.world, plan)
}
