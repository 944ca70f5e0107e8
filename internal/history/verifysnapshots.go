package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/project"
	"pawl/internal/runs"
	"pawl/internal/snapshot"
)

// VerifySnapshots verifies the content of every snapshot and compares the store with the journals. It changes nothing.
func VerifySnapshots(ctx context.Context, p *project.Project) ([]pawl.Finding, error) {
	if _, err := disk.Lstat(p.Snapshots()); errors.Is(err, fs.ErrNotExist) {
		return verifyNoStore(ctx, p)
	}
	if !p.Trust.Trusted() { // the check needs a lock, a file that may be missing
		return []pawl.Finding{{Level: pawl.Warn, Where: p.Snapshots(), What: "snapshots not verified: the project is not trusted"}}, nil
	}
	b := checkpointIndex{project: p}
	if err := b.read(ctx); err != nil { // before the store: a checkpoint is journaled after its snapshot exists
		return nil, err
	}
	store, err := runs.OpenSnapshots(ctx, p, config.Snapshots{}) // retention settings do not matter here
	if err == nil {
		var findings []pawl.Finding
		findings, err = b.verify(ctx, store)
		if err = errors.Join(err, store.Close()); err == nil {
			return findings, nil
		}
	}
	found := pawl.Finding{Level: pawl.Bad, Where: p.Snapshots(), What: err.Error(), Hint: repairHint}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) { // the check needs a lock, which cannot be taken
		found.Level, found.What, found.Hint = pawl.Warn, "snapshots not verified: "+err.Error(), ""
	}
	return []pawl.Finding{found}, ctx.Err()
}

// verifyNoStore reports the checkpoints whose snapshots are missing, in a project whose snapshot store does not exist.
func verifyNoStore(ctx context.Context, p *project.Project) ([]pawl.Finding, error) {
	b := checkpointIndex{project: p}
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	findings := b.missingFindings(b.missing(nil))
	if len(findings) > 0 {
		store := pawl.Finding{Level: pawl.Bad, Where: p.Snapshots(), What: "the snapshot store does not exist, although runs have snapshots", Hint: repairHint}
		if !slices.ContainsFunc(findings, func(f pawl.Finding) bool { return f.Level == pawl.Bad }) {
			store.Level, store.Hint = pawl.Warn, ""
		}
		findings = append([]pawl.Finding{store}, findings...)
	}
	return findings, nil
}

const repairHint = "pawl verify --repair"

// checkpointIndex is what the journals record about checkpoints.
type checkpointIndex struct {
	project *project.Project
	logs    []*checkpointLog
}

// read reads all journals; of a damaged one what precedes the damage. Another check reports the damage.
func (b *checkpointIndex) read(ctx context.Context) error {
	runs, err := AllRuns(b.project)
	if err != nil {
		return err
	}
	for _, run := range runs {
		said, err := readCheckpointLog(ctx, b.project, run)
		if err != nil && pawl.KindOf(err) != pawl.KindDamaged {
			return err
		}
		b.logs = append(b.logs, said)
	}
	return nil
}

func (b *checkpointIndex) verify(ctx context.Context, store *snapshot.Store) ([]pawl.Finding, error) {
	faults, err := store.Verify(ctx)
	if err != nil {
		return nil, err
	}
	var findings []pawl.Finding
	for _, f := range faults {
		findings = append(findings, faultFinding(f))
	}
	records, err := store.Records()
	if err != nil {
		return append(findings, pawl.Finding{Level: pawl.Bad, Where: b.project.Snapshots(), What: err.Error(), Hint: repairHint}), nil
	}
	missing := b.missing(records)
	findings = append(findings, b.missingFindings(missing)...)
	findings = append(findings, b.unreferenced(records)...)
	if len(faults) == 0 && len(missing) == 0 {
		size, err := store.Size()
		if err != nil {
			return nil, err
		}
		noun := "snapshots"
		if len(records) == 1 {
			noun = "snapshot"
		}
		what := fmt.Sprintf("%d %s verified, %d bytes", len(records), noun, size)
		findings = append(findings, pawl.Finding{Level: pawl.OK, Where: b.project.Snapshots(), What: what})
	}
	return findings, nil
}

func faultFinding(f snapshot.Fault) pawl.Finding {
	found := pawl.Finding{Level: pawl.Bad, Where: f.Where, What: f.What, Hint: repairHint}
	if len(f.Checkpoints) > 0 {
		found.Evidence = "affects checkpoints " + listFew(f.Checkpoints)
	}
	return found
}

// maxFew is how many names a finding lists.
const maxFew = 20

// listFew lists the first names and the number of the others.
func listFew[T ~string](names []T) string {
	listed := make([]string, min(len(names), maxFew))
	for i := range listed {
		listed[i] = string(names[i])
	}
	text := strings.Join(listed, ", ")
	if more := len(names) - len(listed); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// missing returns, by run, the checkpoints whose snapshots are missing from the store.
func (b *checkpointIndex) missing(records []snapshot.Record) map[pawl.RunID][]pawl.CheckpointID {
	there := map[string]bool{}
	for _, r := range records {
		there[r.ID.String()] = true
	}
	missing := map[pawl.RunID][]pawl.CheckpointID{}
	for _, said := range b.logs {
		for _, c := range said.saved {
			if _, gone := said.pruned[c.ID]; c.Snapshot != nil && c.Snapshot.Record != "" && !there[c.Snapshot.Record] && !gone {
				missing[said.run] = append(missing[said.run], c.ID)
			}
		}
	}
	return missing
}

// missingFindings reports missing snapshots. A run that was made elsewhere may have come without them.
func (b *checkpointIndex) missingFindings(missing map[pawl.RunID][]pawl.CheckpointID) (findings []pawl.Finding) {
	for _, said := range b.logs {
		ids := missing[said.run]
		if len(ids) == 0 {
			continue
		}
		found := pawl.Finding{Level: pawl.Bad, Where: string(said.run), Hint: repairHint}
		found.What = "checkpoints whose snapshots are missing from the store: " + listFew(ids)
		if runs.RequireOwn(b.project, said.run) != nil {
			found.Level, found.Hint = pawl.Warn, ""
			found.What += "; the run was made elsewhere"
		}
		findings = append(findings, found)
	}
	return findings
}

// unreferenced reports snapshots that no journal names. A recent one may be about to be named.
func (b *checkpointIndex) unreferenced(records []snapshot.Record) []pawl.Finding {
	named := map[pawl.CheckpointID]bool{}
	for _, said := range b.logs {
		for _, c := range said.saved {
			named[c.ID] = true
		}
	}
	old := 0
	for _, r := range records {
		if !named[r.Checkpoint] && time.Since(r.Ended) >= snapshot.UnnamedGrace {
			old++
		}
	}
	if old == 0 {
		return nil
	}
	return []pawl.Finding{{
		Level: pawl.Warn, Where: b.project.Snapshots(), What: fmt.Sprintf("snapshots that no journal references: %d", old), Hint: "pawl prune",
	}}
}

// RepairSnapshots repairs the store as far as possible. It reports what it did and which checkpoints are lost, and
// journals the losses. It repairs no journal.
func RepairSnapshots(ctx context.Context, p *project.Project) ([]pawl.Finding, error) {
	if _, err := disk.Lstat(p.Snapshots()); errors.Is(err, fs.ErrNotExist) {
		found, err := verifyNoStore(ctx, p)
		if err != nil || len(found) == 0 {
			return nil, err
		}
	}
	store, err := runs.OpenSnapshots(ctx, p, config.Snapshots{}) // retention settings do not matter here
	if err != nil {
		return nil, err
	}
	findings, err := repair(ctx, p, store)
	return findings, errors.Join(err, store.Close())
}

func repair(ctx context.Context, p *project.Project, store *snapshot.Store) ([]pawl.Finding, error) {
	done, err := store.Repair(ctx)
	if err != nil {
		return nil, err
	}
	findings := []pawl.Finding{{Level: pawl.OK, Where: p.Snapshots(), What: "index rebuilt"}}
	for _, path := range done.Quarantined {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, Where: path, What: "moved aside: content does not match its checksum"})
	}
	if len(done.Checkpoints) > 0 {
		what := "checkpoints that cannot be restored completely: " + listFew(done.Checkpoints)
		findings = append(findings, pawl.Finding{Level: pawl.Warn, Where: p.Snapshots(), What: what})
	}
	lost, err := journalLost(ctx, p, store)
	for run, ids := range lost {
		findings = append(findings, pawl.Finding{Level: pawl.Warn, Where: string(run), What: "checkpoints whose snapshots are lost: " + listFew(ids)})
	}
	return findings, err
}

// journalLost journals which checkpoints have lost their snapshots for good.
func journalLost(ctx context.Context, p *project.Project, store *snapshot.Store) (map[pawl.RunID][]pawl.CheckpointID, error) {
	b := checkpointIndex{project: p}
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	records, err := store.Records()
	if err != nil {
		return nil, err
	}
	lost := b.missing(records)
	return lost, journalPruned(ctx, p, lost, pawl.WhyLost)
}
