package runs

import (
	"context"
	"fmt"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/snapshot"
	"pawl/internal/trust"
)

// MayTrust returns why a user must not trust a project: its .pawl belongs to another user, or git tracks the value that ties the
// folder to the user, so that others can have it.
func MayTrust(ctx context.Context, p *project.Project) error {
	info, err := disk.Lstat(p.Home())
	if err != nil {
		return err
	}
	if owner := trust.OwnerOf(info); !trust.OwnerAllowed(owner) {
		return &pawl.Error{Kind: pawl.KindDamaged, Err: fmt.Errorf("%s belongs to another user (id %d): pawl never trusts it", p.Home(), owner)}
	}
	const value = project.Folder + "/" + trust.File
	tracked, err := snapshot.Tracked(ctx, p.Root, value)
	if err != nil {
		return err
	}
	if len(tracked) > 0 {
		return &pawl.Error{
			Kind: pawl.KindDamaged, Err: fmt.Errorf("git tracks %s, so every clone has this project's secret value", value),
			Hint: "git rm --cached " + value + ", then rm " + value,
		}
	}
	return nil
}

// Trust trusts a project on the word of its user, who has seen what it holds. All its settings count from then on. The runs of a
// project that an older pawl registered for this user count as made here, and so do its memories, unless git tracks them.
func Trust(ctx context.Context, p *project.Project, now time.Time) error {
	known := Candidate(ctx, p)
	if err := MayTrust(ctx, p); err != nil {
		return err
	}
	if err := p.Grant(now); err != nil {
		return err
	}
	if err := config.Allow(p); err != nil || !known {
		return err
	}
	return claimAll(ctx, p)
}

// Inherit trusts a project that an older pawl registered, because the user's own files show that the user let pawl work there. It is
// like Trust, but commands and URLs in the project's settings do not count: the user has not seen them.
func Inherit(ctx context.Context, p *project.Project, now time.Time) error {
	if !Candidate(ctx, p) {
		return p.Trusted()
	}
	if err := MayTrust(ctx, p); err != nil {
		return err
	}
	if err := p.Grant(now); err != nil {
		return err
	}
	return claimAll(ctx, p)
}

// claimAll makes the runs and memories of an older pawl count as the user's own.
func claimAll(ctx context.Context, p *project.Project) error {
	if err := markAll(p); err != nil {
		return err
	}
	pulled, err := snapshot.Tracked(ctx, p.Root, project.Folder+"/MEMORY.md")
	if err != nil || len(pulled) > 0 {
		return err
	}
	return p.RecordMemories()
}

// ToAdopt returns the named run of an untrusted project if trusting the project does not make the run the user's own: it
// needs adoption too before it continues. An unknown name stands for the current run. ToAdopt returns "" if there is none.
func ToAdopt(ctx context.Context, p *project.Project, name string) pawl.RunID {
	run, err := FindRun(ctx, p, name)
	if err != nil {
		run, err = FindRun(ctx, p, "")
	}
	if err != nil || p.Trust.Trusted() || Candidate(ctx, p) || RequireOwn(p, run) == nil {
		return ""
	}
	return run
}

// Candidate reports whether an older pawl, which kept no trust records, registered this project for this user: the registry has its id
// and path, .pawl belongs to the user, and git tracks nothing that the older pawl wrote.
func Candidate(ctx context.Context, p *project.Project) bool {
	if inherited, _ := p.Inherited(); !inherited || p.Trust.Trusted() || p.Trust.Copy || MayTrust(ctx, p) != nil {
		return false
	}
	tracked, err := snapshot.Tracked(ctx, p.Root, project.Folder+"/runs", project.Folder+"/archive", project.Folder+"/project.json")
	return err == nil && len(tracked) == 0
}
