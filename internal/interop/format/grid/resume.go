package grid

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/interop/format"
)

// evaluate determines the status, the position and where to resume, after all files were read.
func (r *clusterReader) evaluate() {
	if r.state.shape == "" {
		r.rebuild()
	} else {
		r.addCounted()
	}
	if r.out.Name == "" && (len(r.blocks) > 0 || r.point != nil || r.state.shape != "") {
		r.out.Name = "unknown"
	}
	for _, b := range r.blocks {
		b.sortThreads()
	}
	r.placeBlocks()
	r.needsOfWaves()
	r.evalStatus()
	if r.died() {
		r.lostSession()
	}
	r.markCurrent()
	r.resumePoint()
	r.askRebuilt()
	r.askActive()
	r.buildPhases()
	r.prompt()
}

// evalStatus determines whether the run may be resumed, by The Grid's rule and for the cases that the rule leaves out.
func (r *clusterReader) evalStatus() {
	if r.state.shape == "" {
		r.out.Resume = "no state"
		if len(r.blocks) > 0 {
			r.out.Resume = "rebuilt: review it first"
		}
		r.evalWaiting()
		return
	}
	r.out.Native = r.state.native
	r.out.Status = runStatus(r.state.native)
	if r.state.shape == proseShape {
		r.proseStatus()
	}
	age := r.now.Sub(r.lastSign())
	switch {
	case r.out.Status == pawl.StatusCompleted:
		r.out.Resume = "nothing to do"
		r.checkCompleted()
	case r.out.Status == pawl.StatusFailed:
		r.out.Resume = "failed: retry it, roll back, or finish it manually"
	case r.out.Status == pawl.StatusActive && r.lastSign().IsZero():
		r.out.Status, r.out.Resume = pawl.StatusInterrupted, "stale: its last activity is unknown"
	case r.out.Status == pawl.StatusActive && age <= sessionTimeout:
		r.out.Resume = stillActive + ": do not resume"
	case r.out.Status == pawl.StatusActive:
		r.out.Status, r.out.Resume = pawl.StatusInterrupted, fmt.Sprintf("stale: last activity %s ago", hours(age))
	default:
		r.out.Resume = "resumable"
	}
	r.enterRecovery()
	r.evalWaiting()
}

// stillActive begins the answer to whether a run may be resumed while a session seems to be working on it.
const stillActive = "still active"

func hours(d interface{ Minutes() float64 }) string {
	minutes := int(d.Minutes())
	if minutes < 120 {
		return strconv.Itoa(minutes) + " minutes"
	}
	if minutes < 48*60 {
		return strconv.Itoa(minutes/60) + " hours"
	}
	return strconv.Itoa(minutes/60/24) + " days"
}

// proseStatus returns the status in a prose state, whose words are about a block or a phase and not about the run.
func (r *clusterReader) proseStatus() {
	word := strings.ToLower(r.state.native)
	switch {
	case len(r.pending()) == 0 && len(r.blocks) > 0 && len(r.blocks) >= r.out.Position.StepTotal:
		r.out.Status = pawl.StatusCompleted
	case strings.Contains(word, "progress") || word == "planning":
		r.out.Status = pawl.StatusActive
	case strings.Contains(word, "complete") || strings.HasPrefix(word, "ready"):
		r.out.Status = pawl.StatusInterrupted
	}
}

// checkCompleted reports a completed run with incomplete blocks.
func (r *clusterReader) checkCompleted() {
	for _, b := range r.pending() {
		r.Warn(r.state.file.Path, "its status is completed, but block %s has no summary", b.id)
	}
}

// evalWaiting changes the status of an inactive run with an open checkpoint to waiting.
func (r *clusterReader) evalWaiting() {
	p := r.point
	if p == nil || p.old || r.out.Status == pawl.StatusCompleted || strings.HasPrefix(r.out.Resume, stillActive) {
		return
	}
	switch open := gateType(p.native) != "" && p.answer == ""; {
	case open && p.outdated:
		r.out.Resume = "its checkpoint has expired: ask again"
		r.out.Status = pawl.StatusWaiting
	case open:
		r.out.Status, r.out.Resume = pawl.StatusWaiting, "waits for a person: "+firstLine(r.out.Gates[len(r.out.Gates)-1].Ask)
	case p.native == failureType:
		r.out.Status, r.out.Resume = pawl.StatusFailed, "failed: retry it, roll back, or finish it manually"
	default:
		r.out.Status = pawl.StatusInterrupted
		if !strings.HasPrefix(r.out.Resume, "stale") {
			r.out.Resume = "resumable"
		}
	}
}

// placeBlocks gives each block without a phase the phase of the block before it, and the current block that of the state.
func (r *clusterReader) placeBlocks() {
	p, at := r.out.Position, r.currentBlock()
	if r.point != nil && r.point.block != "" {
		at = r.point.block
	}
	if p.Phase > 0 {
		r.phases[p.Phase] = cmp.Or(p.PhaseName, r.phases[p.Phase]) // a folder can have the name of its block
	}
	before := 0
	if numbers := slices.Sorted(maps.Keys(r.phases)); len(numbers) > 0 {
		before = numbers[0]
	}
	for _, b := range r.order() {
		if b.phase == 0 && b.id == at && p.Phase > before {
			b.phase = p.Phase
		}
		if b.phase == 0 {
			b.phase = before
		}
		before = b.phase
	}
}

// markCurrent marks the current block of the state as running.
func (r *clusterReader) markCurrent() {
	b := r.blocks[r.currentBlock()]
	r.reportGaps(b)
	if b == nil || b.Status != pawl.Pending || r.out.Status == pawl.StatusCompleted {
		return
	}
	if r.state.shape != proseShape && r.state.shape != "" && !strings.EqualFold(r.state.native, "initialized") {
		b.Status = pawl.Running
	}
}

// reportGaps reports blocks before the current one that no file mentions.
func (r *clusterReader) reportGaps(at *block) {
	if at == nil || r.state.shape == proseShape || r.state.shape == "" || len(at.Needs) > 0 {
		return
	}
	var ids []string
	for _, b := range r.pending() {
		if b.Status == pawl.Pending && blockOrder(b.id, at.id) < 0 {
			ids = append(ids, b.id)
		}
	}
	if len(ids) > 0 {
		r.Find(pawl.Warn, r.state.file.Path, "they count as pending; check whether their work is there", "the state is at block %s, but nothing proves that these are complete: %s", at.id, strings.Join(ids, ", "))
	}
}

// currentBlock returns the id of the current block of the state, which counts either all blocks or those of the phase.
func (r *clusterReader) currentBlock() string {
	p := r.out.Position
	if p.Phase == 0 || p.StepTotal == 0 || p.Step == 0 || p.StepTotal >= len(r.blocks) {
		return r.state.block
	}
	var inPhase []*block
	for _, b := range r.order() {
		if b.phase == p.Phase {
			inPhase = append(inPhase, b)
		}
	}
	if len(inPhase) == p.StepTotal && p.Step <= len(inPhase) {
		return inPhase[p.Step-1].id
	}
	return r.state.block
}

// resumePoint determines where to resume: after or at a checkpoint, at the thread where a session died, else at the next
// block of the wave or of the next wave. That is the first block that is not complete, and not the one after the last
// complete one.
func (r *clusterReader) resumePoint() {
	var next *block
	switch open := r.pending(); {
	case r.out.Status == pawl.StatusCompleted:
		r.out.Next = "nothing to do"
		r.out.Position.Complete = true
		return
	case r.point != nil && !r.point.old && r.point.block != "":
		next = r.block(r.point.block)
		r.out.Next, r.next = r.afterCheckpoint(next)
	case r.lost != nil:
		next = r.lost
		r.out.Next, r.next = r.afterDeath(next)
	case len(open) == 0 && len(r.blocks) > 0:
		r.out.Next = "all blocks are complete; the mission can be closed"
		return
	case len(open) > 0:
		next = r.firstReady(open)
		r.out.Next = r.nextBlock(next)
	default:
		return
	}
	r.setPosition(next)
}

// firstReady returns the first open block whose dependencies are complete: one of the earliest wave, the current one first.
func (r *clusterReader) firstReady(open []*block) *block {
	ready := slices.Clone(open)
	slices.SortStableFunc(ready, func(a, b *block) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.Wave, b.Wave), cmp.Compare(running(b), running(a)))
	})
	return ready[0]
}

func running(b *block) int {
	if b.Status == pawl.Running {
		return 1
	}
	return 0
}

// nextBlock returns which block is next, and why.
func (r *clusterReader) nextBlock(b *block) string {
	done, wave := 0, 0
	for _, other := range r.order() {
		if other.phase == b.phase && other.Wave == b.Wave {
			wave++
			if other.complete() {
				done++
			}
		}
	}
	switch {
	case b.Status == pawl.Running:
		return "continue with block " + b.label()
	case b.Wave > 1 && done == 0:
		return fmt.Sprintf("wave %d is complete: begin wave %d with block %s", b.Wave-1, b.Wave, b.label())
	case b.Wave > 0:
		return fmt.Sprintf("next block of wave %d (%s done): block %s", b.Wave, of(done, wave), b.label())
	}
	return "next: block " + b.label()
}

func (b *block) label() string {
	if b.Name == "" {
		return b.id
	}
	return b.id + ", " + b.Name
}

// afterCheckpoint returns how to resume from a checkpoint, by its type, and the thread to continue with.
func (r *clusterReader) afterCheckpoint(b *block) (string, pawl.ItemID) {
	p := r.point
	at := p.place(b)
	switch native := p.native; {
	case native == failureType:
		return at + " failed: " + oneLine(p.failure) + ". A person decides: retry it, roll back, or finish it manually", p.thread
	case native == sessionDeath:
		return "continue with " + at + ", where the session died", p.thread
	case p.answer == "" && gateType(native) == pawl.DecisionFor:
		return at + " waits for a decision", p.thread
	case p.answer == "" && gateType(native) == pawl.HumanAction:
		return at + " waits for a person to act", p.thread
	case p.answer == "":
		return at + " waits for a person's approval", p.thread
	case gateType(native) == pawl.DecisionFor:
		return "continue with " + at + "; the person chose: " + firstLine(p.answer), p.thread
	case p.rejected:
		return "continue with " + at + "; the person rejected it: " + firstLine(p.answer), p.thread
	}
	if i, known := b.index[string(p.thread)]; known {
		b.threads[i].Status = pawl.ItemIsDone
	}
	next := b.threadAfter(p.thread)
	if next == "" {
		return at + " was approved and is the last one: close block " + b.id, ""
	}
	return "continue with thread " + string(next) + " of block " + b.label() + ": the checkpoint before it was approved", next
}

// place names the thread that the checkpoint is about, or its block.
func (p *checkpointRead) place(b *block) string {
	if p.thread == "" {
		return "block " + b.label()
	}
	return "thread " + string(p.thread) + " of block " + b.label()
}

// threadAfter returns the first unfinished thread after another one; empty if there is none.
func (b *block) threadAfter(id pawl.ItemID) pawl.ItemID {
	behind := false
	for _, t := range b.threads {
		if behind && t.Status != pawl.ItemIsDone {
			return pawl.ItemID(t.ID)
		}
		behind = behind || pawl.ItemID(t.ID) == id
	}
	if n := threadNumber(id); n > 0 && n < b.Total {
		return threadID(b.id, strconv.Itoa(n+1))
	}
	return ""
}

// afterDeath returns how to resume if a session died without a checkpoint.
func (r *clusterReader) afterDeath(b *block) (string, pawl.ItemID) {
	done := 0
	for _, t := range b.threads {
		if t.Status == pawl.ItemIsDone {
			done++
		}
	}
	next := threadID(b.id, strconv.Itoa(done+1))
	if m := threadHint.FindStringSubmatch(r.scratch); m != nil {
		if hinted := threadID(b.id, m[1]); threadNumber(hinted) > done && strings.HasPrefix(string(hinted), b.id+".") {
			next = hinted
		}
	}
	b.thread(format.Item{ID: string(next), Status: pawl.ItemRunning})
	text := "continue with block " + b.label() + ", thread " + string(next) + ": the session died without a checkpoint"
	if done > 0 {
		text += fmt.Sprintf("; threads done according to git: %d", done)
	}
	return text, next
}

// setPosition sets the position to the block to continue with.
func (r *clusterReader) setPosition(b *block) {
	p := &r.out.Position
	p.StepID, p.StepName = b.ID, b.Name
	if n, err := strconv.Atoi(b.id); err == nil {
		p.Step = n
	}
	p.StepTotal = max(p.StepTotal, len(r.blocks))
	if b.phase > 0 {
		p.Phase = b.phase
		p.PhaseName = cmp.Or(r.phases[b.phase], p.PhaseName)
	}
	p.PhaseTotal = max(p.PhaseTotal, len(r.phases))
	if b.Wave > 0 {
		p.Wave = b.Wave
		for _, other := range r.blocks {
			p.WaveTotal = max(p.WaveTotal, other.Wave)
		}
	}
	if n := threadNumber(r.next); n > 0 {
		p.Item = n
	}
	p.ItemTotal = max(p.ItemTotal, b.Total, len(b.threads))
	if b.fromGit > 0 && p.ItemTotal <= len(b.threads) {
		p.ItemTotal = 0 // git only has the finished threads
	}
}

// buildPhases returns the blocks by phase.
func (r *clusterReader) buildPhases() {
	byPhase := map[int][]*block{}
	for _, b := range r.order() {
		byPhase[b.phase] = append(byPhase[b.phase], b)
	}
	for _, n := range slices.Sorted(maps.Keys(byPhase)) {
		phase := format.Phase{Name: cmp.Or(r.phases[n], r.out.Name)}
		for _, b := range byPhase[n] {
			phase.Steps = append(phase.Steps, r.buildStep(b))
		}
		r.out.Phases = append(r.out.Phases, phase)
	}
}

func (r *clusterReader) buildStep(b *block) format.Step {
	s := b.Step
	s.Items = slices.Clone(b.threads)
	for i := range s.Items {
		if b.complete() && b.summary != "" && s.Items[i].Status == pawl.ItemPending {
			s.Items[i].Status = pawl.ItemIsDone // only the plan names the thread, and the block is complete
		}
	}
	s.Name = cmp.Or(s.Name, "Block "+b.id)
	s.Criteria = b.criteria()
	if !b.complete() && b.Status != pawl.Skipped {
		s.Goal = strings.TrimSpace(cmp.Or(s.Goal, s.Name)) + r.contract(b)
	}
	if r.point != nil && b.id == r.point.block && (r.next != "" || r.point.native == failureType && !r.point.old) || r.next != "" && b == r.lost {
		s.Resume = r.out.Next
		if r.point != nil && r.point.native == failureType && b.id == r.point.block {
			s.Resume = r.point.place(b) + " failed: " + oneLine(r.point.failure) + "; a person was asked: follow their answer"
		}
		if b.Status == pawl.AwaitsGate {
			s.Resume = "a person was asked about thread " + string(r.next) + ": follow their answer"
		}
	}
	return s
}
