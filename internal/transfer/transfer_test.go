package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/journal"
	"pawl/internal/remote"
	"pawl/internal/runs"
	"pawl/internal/snapshot/pack"
	"pawl/internal/transfer"
)

// fill writes files of random content.
func fill(t *testing.T, root string, from, to, size int) {
	t.Helper()
	for i := from; i < to; i++ {
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(rand.Uint32())
		}
		must(t, os.WriteFile(filepath.Join(root, fmt.Sprintf("file-%03d", i)), data, 0o600))
	}
}

// TestOnlyChangesMove: the bytes that a push sends and a pull receives are in proportion to what changed.
func TestOnlyChangesMove(t *testing.T) {
	t.Parallel()
	url, s := share(t)
	p, run := begun(t, url)
	fill(t, p.Root, 0, 300, 10_000)
	more(t, p, run, "first")
	first, err := push(t.Context(), p, run)
	must(t, err)
	if first.Bytes < 3_000_000 {
		t.Errorf("the first push sent only %d bytes", first.Bytes)
	}
	other := newProject(t, url)
	_, err = pull(t.Context(), other, run)
	must(t, err)

	fill(t, p.Root, 100, 110, 10_000)
	more(t, p, run, "second")
	const changed = 10 * 10_000
	second, err := push(t.Context(), p, run)
	must(t, err)
	if second.Bytes < changed || second.Bytes > changed*12/10+25_000 { // the tree of 300 names has 25 kB
		t.Errorf("the second push sent %d bytes for %d that changed", second.Bytes, changed)
	}
	pulled, err := pull(t.Context(), other, run)
	must(t, err)
	if pulled.Bytes < changed || pulled.Bytes > changed*12/10+40_000 {
		t.Errorf("the second pull received %d bytes for %d that changed", pulled.Bytes, changed)
	}
	sameRun(t, p, other, run)
	verified(t, s)
	again, err := push(t.Context(), p, run)
	if err != nil || !again.UpToDate || again.Bytes > 1000 {
		t.Errorf("nothing changed: %+v, %v", again, err)
	}
}

// TestRunsShareObjects: what one run has stored is not sent again for another one, and each keeps what it needs.
func TestRunsShareObjects(t *testing.T) {
	t.Parallel()
	url, s := share(t)
	p, run := begun(t, url)
	fill(t, p.Root, 0, 30, 10_000)
	more(t, p, run, "first")
	_, err := push(t.Context(), p, run)
	must(t, err)
	second, err := runs.Create(t.Context(), p, runs.CreateOptions{Kind: pawl.CommandRun, Plan: &pawl.Plan{Name: "second"}, Data: []byte("name: second\nsteps: [{id: a, run: 'true'}]\n")})
	must(t, err)
	_, err = history.SaveNow(t.Context(), p, second, config.Snapshots{}, person, "second")
	must(t, err)
	done, err := push(t.Context(), p, second)
	if err != nil || done.Bytes > 20_000 {
		t.Errorf("sent %d bytes, %v", done.Bytes, err)
	}
	verified(t, s)
	other := newProject(t, url)
	_, err = pull(t.Context(), other, second)
	must(t, err)
	whole(t, other, second)
}

// TestTwoMachinesPush: of two that continue the same run, one is refused, and its run says so.
func TestTwoMachinesPush(t *testing.T) {
	t.Parallel()
	url, s := share(t)
	p, run := begun(t, url)
	_, err := push(t.Context(), p, run)
	must(t, err)
	other := newProject(t, url)
	_, err = pull(t.Context(), other, run)
	must(t, err)
	if _, err := push(t.Context(), other, run); pawl.KindOf(err) != pawl.KindDamaged {
		t.Errorf("pushed before it was adopted: %v", err)
	}
	must(t, runs.Adopt(other, run))
	more(t, p, run, "here")
	more(t, other, run, "there")
	errs := make([]error, 2)
	var pushes sync.WaitGroup
	pushes.Go(func() { _, errs[0] = push(t.Context(), p, run) })
	pushes.Go(func() { _, errs[1] = push(t.Context(), other, run) })
	pushes.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("%v; %v", errs[0], errs[1])
	}
	winner, loser := p, other
	if errs[0] != nil {
		winner, loser = other, p
	}
	if _, ok := errors.AsType[*transfer.PushedElsewhereError](errors.Join(errs...)); !ok {
		t.Errorf("refused by another reason: %v", errors.Join(errs...))
	}
	state, err := runs.LoadState(t.Context(), loser, run)
	must(t, err)
	if open := state.OpenBlockers(); len(open) != 1 || !strings.Contains(open[0].Text, "another machine or project works on this run") {
		t.Errorf("blockers: %+v", open)
	}
	if state, err := runs.LoadState(t.Context(), winner, run); err != nil || len(state.OpenBlockers()) > 0 {
		t.Errorf("the winner is blocked: %v", err)
	}
	if _, err := pull(t.Context(), loser, run); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "nothing was pulled") {
		t.Errorf("pulled over its own events: %v", err)
	}
	whole(t, loser, run)
	verified(t, s)
}

// TestSealedJournal: a journal moves with its sealed segments, and so does one that was sealed after the last pull.
func TestSealedJournal(t *testing.T) {
	t.Parallel()
	url, _ := share(t)
	p, run := begun(t, url)
	_, err := push(t.Context(), p, run)
	must(t, err)
	other := newProject(t, url)
	_, err = pull(t.Context(), other, run)
	must(t, err)
	text := strings.Repeat("because ", 7000)
	for range 3 {
		for range 2 {
			var said []pawl.Payload
			for range 80 {
				said = append(said, pawl.DecisionMade{Decision: pawl.Decision{Question: "q", Choice: text}})
			}
			say(t, p, run, 1, said...)
		}
		_, err := push(t.Context(), p, run)
		must(t, err)
		_, err = pull(t.Context(), other, run)
		must(t, err)
	}
	files, err := journal.Files(other.Runs(), run)
	if err != nil || len(files) < 2 {
		t.Errorf("segments: %v, %v", files, err)
	}
	sameRun(t, p, other, run)
	if relation, err := journal.Compare(p.Runs(), other.Runs(), run); relation != journal.Same || err != nil {
		t.Errorf("relation %d, %v", relation, err)
	}
}

// TestManyPushes: small packs are joined, so that the record of a run stays small.
func TestManyPushes(t *testing.T) {
	t.Parallel()
	url, s := share(t)
	p, run := begun(t, url)
	for i := range 40 {
		more(t, p, run, fmt.Sprint(i))
		_, err := push(t.Context(), p, run)
		must(t, err)
	}
	record, err := remote.Newest(t.Context(), s, run)
	must(t, err)
	if record.Number != 40 || len(record.Packs) > 66 {
		t.Errorf("push %d has %d packs", record.Number, len(record.Packs))
	}
	verified(t, s)
	other := newProject(t, url)
	_, err = pull(t.Context(), other, run)
	must(t, err)
	sameRun(t, p, other, run)
}

// TestPruneThenPush: what was deleted on the remote, or is about to be, is sent again.
func TestPruneThenPush(t *testing.T) {
	t.Parallel()
	url, s := share(t)
	p, run := begun(t, url)
	_, err := push(t.Context(), p, run)
	must(t, err)
	record, err := remote.Newest(t.Context(), s, run)
	must(t, err)
	if _, err := s.Create(t.Context(), "marks/"+record.Packs[0].Pack, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	must(t, s.Delete(t.Context(), "packs/"+record.Packs[1].Pack))
	more(t, p, run, "now")
	_, err = push(t.Context(), p, run)
	must(t, err)
	verified(t, s)
	newest, err := remote.Newest(t.Context(), s, run)
	must(t, err)
	for _, ref := range newest.Packs {
		if ref == record.Packs[0] || ref == record.Packs[1] {
			t.Errorf("push 2 relies on %s", ref.Pack)
		}
	}
}

// TestLostRecords: a remote that lost pushes is not filled as if nothing had happened.
func TestLostRecords(t *testing.T) {
	t.Parallel()
	url, s := share(t)
	p, run := begun(t, url)
	_, err := push(t.Context(), p, run)
	must(t, err)
	must(t, s.Delete(t.Context(), "runs/"+string(run)+"/000001.json"))
	more(t, p, run, "now")
	if _, err := push(t.Context(), p, run); pawl.KindOf(err) != pawl.KindDamaged || !strings.Contains(err.Error(), "has lost push 1") {
		t.Errorf("%v", err)
	}
}

// TestForgedJournal: a run whose journal was changed on the remote, with all hashes right, is refused or needs to be adopted.
func TestForgedJournal(t *testing.T) {
	t.Parallel()
	url, _ := share(t)
	p, run := begun(t, url)
	_, err := push(t.Context(), p, run)
	must(t, err)
	other := newProject(t, url)
	_, err = pull(t.Context(), other, run)
	must(t, err)
	must(t, runs.Adopt(other, run))
	path := filepath.Join(p.RunDir(run), journal.FileName)
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, bytes.Replace(data, []byte(`"type":"step.done"`), []byte(`"type":"step.fail"`), 1), 0o600))
	if _, err := push(t.Context(), p, run); err == nil {
		t.Error("pushed a damaged journal")
	}
	must(t, os.WriteFile(path, data, 0o600))
	say(t, p, run, 1, pawl.DecisionMade{Decision: pawl.Decision{Question: "q", Choice: "c"}})
	_, err = push(t.Context(), p, run)
	must(t, err)
	before, err := os.ReadFile(filepath.Join(other.RunDir(run), journal.FileName))
	must(t, err)
	_, err = pull(t.Context(), other, run)
	must(t, err)
	if reason, err := runs.Elsewhere(other, run); err != nil || reason == "" {
		t.Errorf("events of others pass for the user's own: %v", err)
	}
	after, err := os.ReadFile(filepath.Join(other.RunDir(run), journal.FileName))
	if err != nil || !bytes.HasPrefix(after, before) || disk.Exists(other.Staging()) {
		t.Errorf("%v", err)
	}
}

// TestForgedRecords: a record with right hashes of a wrong journal is refused, and nothing of it comes into the project.
func TestForgedRecords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forge func(r *remote.Record, journal []byte) []byte
		want  string
	}{
		"a changed line": {func(_ *remote.Record, j []byte) []byte {
			return bytes.Replace(j, []byte("step.done"), []byte("step.fail"), 1)
		}, "is damaged on the remote"},
		"a missing line":        {func(_ *remote.Record, j []byte) []byte { return j[bytes.IndexByte(j, '\n')+1:] }, "on the remote"},
		"no journal":            {func(*remote.Record, []byte) []byte { return nil }, "on the remote"},
		"fewer events":          {func(r *remote.Record, j []byte) []byte { r.Seq++; return j }, "up to event"},
		"the run of another id": {func(_ *remote.Record, j []byte) []byte { return bytes.ReplaceAll(j, []byte("demo-"), []byte("dema-")) }, "on the remote"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, s := share(t)
			p, run := begun(t, url)
			_, err := push(t.Context(), p, run)
			must(t, err)
			r, err := remote.Newest(t.Context(), s, run)
			must(t, err)
			data, err := os.ReadFile(filepath.Join(p.RunDir(run), journal.FileName))
			must(t, err)
			data = c.forge(r, data)
			id, encoded, err := pack.Encode(data)
			must(t, err)
			w := remote.NewWriter(s, "")
			must(t, errors.Join(w.Add(t.Context(), id, encoded), w.Flush(t.Context())))
			for i := range r.Files {
				if r.Files[i].Name == journal.FileName {
					r.Files[i].Parts = []remote.Part{{ID: id, Size: int64(len(data))}}
				}
			}
			r.Number, r.Packs = 2, append(r.Packs, w.Packs...)
			content, err := r.Encode()
			must(t, err)
			must(t, r.Commit(t.Context(), s, content, remote.Identity{}))
			other := newProject(t, url)
			if _, err := pull(t.Context(), other, run); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if disk.Exists(other.RunDir(run)) || disk.Exists(other.Staging()) {
				t.Error("something of it is in the project")
			}
		})
	}
}
