package interop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/engine"
	"pawl/internal/engine/enginetest"
	"pawl/internal/interop"
	"pawl/internal/interop/format"
	"pawl/internal/interop/format/dotagent"
	"pawl/internal/interop/format/grid"
	"pawl/internal/interop/format/gyoshu"
	"pawl/internal/interop/format/projectstate"
	"pawl/internal/interop/format/sitebuilder"
	"pawl/internal/journal"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

var systems = interop.Formats{grid.Format(), dotagent.Format(), sitebuilder.Format(), projectstate.Format(), gyoshu.Format()}

var person = pawl.Author{Kind: pawl.ByPerson, Name: "ann"}

// newMirrored makes a project whose runs keep another system's files up to date.
func newMirrored(t *testing.T, named string) *enginetest.Project {
	t.Helper()
	p := enginetest.New(t)
	p.Config.Mirror = func(s *pawl.State, log *journal.Log, store *snapshot.Store) engine.Mirror {
		m, err := systems.MirrorForRun(p.Project, s, named)
		if err != nil || m == nil {
			t.Errorf("no mirror: %v", err)
			return nil
		}
		m.Answers = true
		return interop.NewMirrorWriter(m, p.Project, log, store)
	}
	return p
}

// read says what the files of a system in a folder say.
func read(p *enginetest.Project, system format.Format, dir string) format.Project {
	p.Helper()
	folder, err := interop.OpenFolder(p.Context(), p.Project, system, dir)
	p.Check(err)
	got, findings := folder.Read("")
	for _, f := range append(findings, folder.Unread()...) {
		if f.Level == pawl.Bad {
			p.Errorf("%s: %+v", system.Name, f)
		}
	}
	return got
}

func done(r format.Project) (done, all int) {
	for _, phase := range r.Phases {
		for _, step := range phase.Steps {
			if all++; step.Status == pawl.Done {
				done++
			}
		}
	}
	return done, all
}

const plan = `name: house
goal: A house to live in
phases:
  - name: Build
    steps:
      - {id: walls, run: echo walls > walls.txt, outputs: [walls.txt]}
      - {id: rooms, foreach: {items: [kitchen, bath]}, run: echo $PAWL_ITEM > $PAWL_ITEM.txt, outputs: [$PAWL_ITEM.txt]}
  - name: Finish
    steps:
      - {id: roof, run: 'test -e tiles && echo roof > roof.txt', outputs: [roof.txt]}
`

// The files of each system say how a run stands, when it has failed and when it is complete; exported and imported elsewhere,
// they are a run that has the same behind it.
func TestEachSystemKeepsUp(t *testing.T) {
	t.Parallel()
	for _, system := range systems {
		t.Run(system.Name, func(t *testing.T) {
			t.Parallel()
			named := map[string]string{"projectstate": "projectstate=state.sql"}[system.Name]
			if named == "" {
				named = system.Name
			}
			p := newMirrored(t, named)
			e := p.Start(plan)
			p.WantKind(e.Wait(), pawl.KindRunFailed)
			if p.State().Mirror == nil || interop.MirrorFailed(p.Project, p.State()) {
				t.Fatalf("mirror %+v, notes %q", p.State().Mirror, e.Notes)
			}
			dir := filepath.Join(p.Root, strings.TrimPrefix(strings.TrimPrefix(named, system.Name), "="))
			half, _ := done(read(p, system, dir))
			if half == 0 {
				t.Errorf("nothing is done: %+v", read(p, system, dir))
			}
			exported(p, system)
			p.Write("tiles", "")
			p.Act(runs.Retry("roof", ""))
			p.Check(p.GoOn())
			whole, all := done(read(p, system, dir))
			if system.Name == "dotagent" { // it sets finished work aside
				half = -1
			}
			if whole != all || whole <= half {
				t.Errorf("%d of %d are done, %d before", whole, all, half)
			}
		})
	}
}

// exported writes a run as a system's files into another folder, and makes a run of them there.
func exported(p *enginetest.Project, system format.Format) {
	p.Helper()
	ctx := p.Context()
	q := enginetest.New(p.TB)
	for _, name := range []string{"walls.txt", "kitchen.txt", "bath.txt", "roof.txt"} {
		q.Write(name, p.Text(name))
	}
	dir := q.Root
	if system.Tables != nil {
		dir = q.Path("state.sql")
	}
	r, err := runs.Load(ctx, p.Project, p.Run)
	p.Check(err)
	defer r.Log.Close()
	m := interop.Mirror{Format: system, Dir: dir}
	planned, err := interop.Export(ctx, p.Project, r, m, config.Snapshots{}, false, true)
	p.Check(err)
	written, err := interop.Export(ctx, p.Project, r, m, config.Snapshots{}, false, false)
	p.Check(err)
	if len(written) == 0 || len(planned) != len(written) {
		p.Errorf("%d files are exported, %d planned", len(written), len(planned))
	}
	got := read(q, system, dir)
	in := interop.Source{Project: got, Path: filepath.Base(dir), Version: "test"}
	if dir == q.Root {
		in.Path = ""
	}
	made, err := interop.Import(ctx, q.Project, person, in)
	p.Check(err)
	q.Run = made.Run
	if s := q.State(); s.Import.System != system.Name || len(made.Done) == 0 {
		p.Errorf("imported %+v: %+v", s.Import, made)
	}
	again, err := interop.UnfinishedRun(ctx, q.Project, in)
	p.Check(err)
	if again != made.Run && !q.State().Ended() {
		p.Errorf("made of the same: %q, want %s", again, made.Run)
	}
}

// What is claimed and not there is not believed.
func TestImportProvesWhatIsClaimed(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("there.txt", "there")
	r := format.Project{
		System: "grid", Name: "shop", Status: pawl.StatusInterrupted,
		Phases: []format.Phase{{Name: "Build", Steps: []format.Step{
			{ID: "a", Name: "a", Status: pawl.Done, Claims: []format.Claim{{Path: "there.txt"}}},
			{ID: "b", Name: "b", Status: pawl.Done, Claims: []format.Claim{{Path: "absent.txt"}}},
		}}},
	}
	in := interop.Source{Project: r, Version: "test"}
	made, err := interop.Import(t.Context(), p.Project, person, in)
	p.Check(err)
	p.Run = made.Run
	p.WantStatus(pawl.Done, "a")
	if st := p.Step("b"); st.Finished() || len(made.Done) != 1 {
		t.Errorf("b is %s; believed %v", st.Status, made.Done)
	}
	if again, err := interop.UnfinishedRun(t.Context(), p.Project, in); again != made.Run || err != nil {
		t.Errorf("made of it: %s, %v", again, err)
	}
	lock, err := p.LockEngine(project.Holder{PID: os.Getpid(), Since: time.Now()})
	p.Check(err)
	_, err = interop.Import(t.Context(), p.Project, person, in)
	p.WantKind(err, pawl.KindHeld)
	p.Check(lock.Unlock())
}

// Without an engine, the files follow what a person does; what others changed meanwhile stays as they left it.
func TestRefresh(t *testing.T) {
	t.Parallel()
	p := newMirrored(t, "grid")
	p.WantKind(p.Do(plan), pawl.KindRunFailed)
	refresh := func() error {
		r, err := runs.Load(t.Context(), p.Project, p.Run)
		p.Check(err)
		defer r.Log.Close()
		return systems.Refresh(t.Context(), p.Project, r, config.Snapshots{})
	}
	p.Act(runs.Retry("roof", ""))
	p.Act(runs.Block(pawl.Blocker{Text: "no tiles to be had"}))
	p.Check(refresh())
	if !grepped(p, ".grid", "no tiles to be had") {
		t.Error("the blocker is not in the files")
	}
	state := p.Text(".grid/STATE.md")
	p.Write(".grid/STATE.md", state+"\nmine\n")
	p.Act(runs.Unblock(1, "bought some"))
	if err := refresh(); err == nil || !strings.Contains(err.Error(), "changed by someone else") {
		t.Errorf("refresh: %v", err)
	}
	p.WantText(".grid/STATE.md", state+"\nmine\n")
	if !interop.MirrorFailed(p.Project, p.State()) {
		t.Error("nobody knows that the files are behind")
	}
}

// grepped reports whether a text stands in a file below a folder.
func grepped(p *enginetest.Project, folder, text string) bool {
	p.Helper()
	found := false
	p.Check(filepath.WalkDir(p.Path(folder), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || strings.Contains(string(data), text)
		return err
	}))
	return found
}

// An answer that somebody wrote into the files is taken, if it is one.
func TestAnswersByHand(t *testing.T) {
	t.Parallel()
	p := newMirrored(t, "grid")
	p.WantKind(p.Do("name: house\nsteps:\n  - {id: colour, gate: {type: decision, ask: Which colour?, options: [red, blue]}}\n  - {id: paint, run: touch paint.txt}\n"), pawl.KindAtGate)
	byHand := func(word string) {
		var lines []string
		for line := range strings.SplitSeq(p.Text(".grid/CHECKPOINT.md"), "\n") {
			if !strings.HasPrefix(line, "user_response:") {
				lines = append(lines, line)
			}
		}
		text := strings.TrimRight(strings.Join(lines, "\n"), "\n")
		p.Write(".grid/CHECKPOINT.md", strings.TrimSuffix(text, "---")+"user_response: "+word+"\n---\n")
	}
	byHand("purple")
	e := p.Resume()
	p.WantKind(e.Wait(), pawl.KindAtGate)
	if len(e.Notes) != 1 || !strings.Contains(e.Notes[0], `has no option "purple"`) {
		t.Errorf("notes %q", e.Notes)
	}
	byHand("blue")
	p.Check(p.GoOn())
	if a := enginetest.Payloads[pawl.GateAnswered](p); len(a) != 1 || a[0].Option != "blue" || a[0].Where != ".grid/CHECKPOINT.md" {
		t.Errorf("answers %+v", a)
	}
}

// If the files cannot be written, the run continues with a note.
func TestMirrorThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newMirrored(t, "grid")
	p.Check(os.MkdirAll(p.Path(".grid/STATE.md/in/the/way"), 0o700))
	e := p.Start("name: house\nsteps: [{id: a, run: touch a.txt}]\n")
	p.Check(e.Wait())
	if len(e.Notes) != 1 || !strings.Contains(e.Notes[0], "run pawl export grid") || !interop.MirrorFailed(p.Project, p.State()) {
		t.Errorf("notes %q", e.Notes)
	}
}

// Which folders a mirror may be in.
func TestMirrorPlaces(t *testing.T) {
	t.Parallel()
	p := enginetest.New(t)
	p.Write("file", "")
	p.Check(os.Mkdir(p.Path("folder"), 0o700))
	p.Check(os.Symlink("folder", p.Path("link")))
	for named, why := range map[string]string{
		"": "", "grid": "", "grid=new": "", "frid": `unknown system "frid"`, "grid=../out": "must be inside the project", "grid=file": "is not a folder",
		"grid=link": "is a symbolic link", "grid=.pawl/x": "pawl", "projectstate=state.sql": "",
	} {
		m, err := systems.ParseMirror(p.Project, named)
		if why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) || (named == "") != (m == nil && err == nil) {
			t.Errorf("%q: %+v, %v", named, m, err)
		}
	}
	if _, err := systems.Named("grid"); err != nil || !strings.HasPrefix(systems.Names(), "grid, dotagent") {
		t.Errorf("%s: %v", systems.Names(), err)
	}
}

// The newest run that kept some files up to date is found, archived or not.
func TestLastMirrored(t *testing.T) {
	t.Parallel()
	p := newMirrored(t, "grid")
	p.Check(p.Do("name: house\nsteps: [{id: a, run: touch a.txt}]\n"))
	first, said := p.Run, *p.State().Mirror
	if s := interop.LastMirrored(t.Context(), p.Project, "house", said); s == nil || s.Run != first {
		t.Errorf("last %+v", s)
	}
	_, err := runs.ArchiveRuns(t.Context(), p.Project, runs.ArchiveOptions{Runs: []pawl.RunID{first}, Keep: 5})
	p.Check(err)
	if s := interop.LastMirrored(t.Context(), p.Project, "house", said); s == nil || s.Run != first {
		t.Errorf("archived: %+v", s)
	}
	if s := interop.LastMirrored(t.Context(), p.Project, "other", said); s != nil {
		t.Errorf("of another name: %s", s.Run)
	}
}

// What can be asked of a folder with another system's files, for every system.
func TestFolders(t *testing.T) {
	t.Parallel()
	other := &pawl.Plan{Name: "other"}
	for _, system := range systems {
		if system.Tables != nil {
			continue // its work is in tables, and none of it is a folder's
		}
		t.Run(system.Name, func(t *testing.T) {
			t.Parallel()
			p := newMirrored(t, system.Name)
			p.WantKind(p.Do(plan), pawl.KindRunFailed)
			folder, err := interop.OpenFolder(t.Context(), p.Project, system, p.Root)
			p.Check(err)
			folder.SetLiveness(time.Minute, time.Hour)
			for _, f := range folder.Verify() {
				if f.Level == pawl.Bad {
					t.Errorf("what pawl wrote is faulty: %+v", f)
				}
			}
			if what, file := folder.Unfinished(other); what == "" && system.Name == "grid" || (file == "") != (what == "") {
				t.Errorf("unfinished: %q in %q", what, file)
			}
			if places := folder.Places(); (places == nil) != (system.Places == nil) {
				t.Errorf("places %v", places)
			}
			if projects := folder.Projects(); (projects == nil) != (system.Projects == nil) {
				t.Errorf("projects %v", projects)
			}
			if q := folder.ResumePrompt(); q.Ask != "" && system.ResumePrompt == nil {
				t.Errorf("it asks %+v", q)
			}
			if _, err := folder.Prune(1); (err != nil) != (system.Prune == nil) {
				t.Errorf("prune: %v", err)
			}
			if _, _, err := folder.CheckCriterion(nil, "roof", "tiles"); pawl.KindOf(err) != pawl.KindUsage {
				t.Errorf("an unknown criterion, or step: %v", err)
			}
			if _, is := folder.ImportPlace(p.Project, p.State()); is {
				t.Error("a run that was made of nothing was made of this")
			}
		})
	}
}

// A claim holds if the file is unchanged; a step whose file is missing reruns.
func TestProve(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "there.txt"), []byte("there\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	step := func(claims ...format.Claim) format.Step {
		return format.Step{ID: "a", Status: pawl.Done, Claims: claims}
	}
	for name, c := range map[string]struct {
		step format.Step
		done bool
	}{
		"nothing claimed": {step(), true},
		"there":           {step(format.Claim{Path: "there.txt"}), true},
		"another content": {step(format.Claim{Path: "there.txt", SHA256: strings.Repeat("0", 64)}), false},
		"absent":          {step(format.Claim{Path: "there.txt"}, format.Claim{Path: "absent.txt"}), false},
	} {
		r, found := interop.CheckClaims(root, format.Project{Phases: []format.Phase{{Name: "one", Steps: []format.Step{c.step}}}})
		if got := r.Phases[0].Steps[0]; (got.Status == pawl.Done) != c.done || (len(found) == 0) != c.done || (len(got.Missing) == 0) != c.done {
			t.Errorf("%s: %s, missing %v, %+v", name, got.Status, got.Missing, found)
		}
	}
}

// Files of others are not read, and links are not followed.
func TestReadFiles(t *testing.T) {
	t.Parallel()
	p := newMirrored(t, "grid")
	p.Check(p.Do("name: house\nsteps: [{id: a, run: touch a.txt}]\n"))
	before, findings, err := interop.ReadFiles(p.Root, grid.Format())
	p.Check(err)
	if len(before) == 0 || len(findings) > 0 {
		t.Errorf("%d files, %+v", len(before), findings)
	}
	p.Write("other/file.txt", "no file of grid")
	p.Check(os.Rename(p.Path(".grid/STATE.md"), p.Path("elsewhere.md")))
	p.Check(os.Symlink("../elsewhere.md", p.Path(".grid/STATE.md")))
	after, findings, err := interop.ReadFiles(p.Root, grid.Format())
	p.Check(err)
	if after.Find(".grid/STATE.md") != nil || len(after) != len(before)-1 || len(findings) != 1 || findings[0].Where != ".grid/STATE.md" {
		t.Errorf("%d files, %d before; %+v", len(after), len(before), findings)
	}
}
