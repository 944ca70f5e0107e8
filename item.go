package pawl

import (
	"cmp"
	"fmt"
	"time"
)

// ItemsState is the state of a foreach step's items. A finished item is only a position in the journal.
type ItemsState struct {
	Total   int                  `json:"total"`
	Lists   []Seq                `json:"lists,omitempty"`  // the step.listed events, in order
	Done    Positions            `json:"done,omitempty"`   // index → seq of item.done, 0 where not finished
	Count   int                  `json:"count,omitempty"`  // of finished items
	Retries map[int]*Retries     `json:"tries,omitempty"`  // of unfinished items that were started
	Failed  map[int]AttemptEnded `json:"failed,omitempty"` // items that failed for good
	Skipped map[int]ItemSkip     `json:"skipped,omitempty"`
	Numbers map[int]int          `json:"numbers,omitempty"` // of finished items: the number of the newest attempt, where it is not 1
	Highest int                  `json:"highest,omitempty"` // attempt number of any item
}

// ItemSkip is why an item is left out.
type ItemSkip struct {
	Why     string `json:"why,omitempty"`
	Dropped bool   `json:"dropped,omitempty"` // it is not on the list any more
}

// Size returns the number of items that count: those that are not skipped.
func (it *ItemsState) Size() int { return it.Total - len(it.Skipped) }

// Left returns the number of items that are neither finished, failed nor skipped.
func (it *ItemsState) Left() int { return it.Size() - it.Count - len(it.Failed) }

// unfinished reports whether there is an item at the index that is not finished.
func (it *ItemsState) unfinished(index int) bool {
	if it == nil || index < 0 || index >= it.Total || it.Done.At(index) != 0 {
		return false
	}
	_, skipped := it.Skipped[index]
	return !skipped
}

// reopen makes the items at the indexes pending again. Their attempts are numbered on.
func (it *ItemsState) reopen(indexes []int) {
	for _, index := range indexes {
		newest := it.NewestAttempt(index)
		if it.Done.At(index) != 0 {
			it.Done.Set(index, 0)
			it.Count--
		}
		delete(it.Failed, index)
		delete(it.Skipped, index)
		delete(it.Numbers, index)
		it.restart(index, newest)
	}
}

// NewestAttempt returns the number of the newest attempt at an item, finished or not, 0 for none.
func (it *ItemsState) NewestAttempt(index int) int {
	if it.Done.At(index) != 0 {
		return max(1, it.Numbers[index])
	}
	if t := it.Retries[index]; t != nil {
		return t.Attempt
	}
	return 0
}

// restart forgets the attempts at an item except for the number of the newest.
func (it *ItemsState) restart(index, newest int) {
	delete(it.Retries, index)
	if newest > 0 {
		if it.Retries == nil {
			it.Retries = map[int]*Retries{}
		}
		it.Retries[index] = &Retries{Attempt: newest}
	}
}

// reopenUnfinished makes all items pending again that are not finished or skipped.
func (it *ItemsState) reopenUnfinished() {
	it.Failed = nil
	for index, t := range it.Retries {
		it.restart(index, t.Attempt)
	}
}

// fail records that an item failed and is not retried.
func (it *ItemsState) fail(p AttemptEnded) {
	if it.Failed == nil {
		it.Failed = map[int]AttemptEnded{}
	}
	it.Failed[p.Index] = p
}

// StepListed adds items to a foreach step. A long list is split into several events of one batch.
type StepListed struct {
	Step  StepID   `json:"step"`
	Key   Key      `json:"key"`  // the part of the key that all items share; an item's key adds its value and the inputs that name it
	From  int      `json:"from"` // index of the first value
	Items []string `json:"items"`
}

func (StepListed) Event() EventType { return "step.listed" }

func (p StepListed) fold(s *State, e Event) error {
	listed := 0
	if st := s.Steps[p.Step]; st != nil && st.Items != nil {
		listed = st.Items.Total
	}
	if st := s.Steps[p.Step]; st != nil && st.Status == Skipped {
		return fmt.Errorf("step %s is skipped", p.Step)
	}
	if p.From != listed {
		return fmt.Errorf("list starts at item %d after %d items", p.From, listed)
	}
	st := s.step(p.Step)
	if st.Items == nil {
		st.Items = &ItemsState{}
		st.Key = p.Key
	}
	st.Items.Total += len(p.Items)
	st.Items.Lists = append(st.Items.Lists, e.Seq)
	st.Status = Running
	if st.Started.IsZero() {
		st.Started = e.Time
	}
	return nil
}

// ItemsSkipped leaves out items of a foreach step: a person skipped them, or they are not on the list any more.
type ItemsSkipped struct {
	Step    StepID `json:"step"`
	Items   []int  `json:"items"` // by index
	Why     string `json:"why,omitempty"`
	Dropped bool   `json:"dropped,omitempty"` // not on the list any more
}

func (ItemsSkipped) Event() EventType { return "items.skipped" }

func (p ItemsSkipped) fold(s *State, _ Event) error {
	st := s.Steps[p.Step]
	if st == nil || st.Items == nil {
		return fmt.Errorf("step %s has no items", p.Step)
	}
	for _, index := range p.Items {
		if !st.Items.unfinished(index) {
			return fmt.Errorf("item %d of step %s is finished, skipped or not listed", index, p.Step)
		}
		if t := st.Items.Retries[index]; t != nil && t.Live != nil {
			return fmt.Errorf("item %d of step %s is running", index, p.Step)
		}
	}
	if st.Items.Skipped == nil {
		st.Items.Skipped = map[int]ItemSkip{}
	}
	for _, index := range p.Items {
		st.Items.Skipped[index] = ItemSkip{Why: p.Why, Dropped: p.Dropped}
		delete(st.Items.Failed, index)
	}
	if st.Status == FailedForGood && len(st.Items.Failed) == 0 {
		st.Status, st.Why, st.Ended, st.Continued = Pending, "", time.Time{}, false
	}
	return nil
}

// ItemStatus is the status of an item that a step reported.
type ItemStatus string

// The statuses of a reported item.
const (
	ItemPending ItemStatus = "pending"
	ItemRunning ItemStatus = "running"
	ItemIsDone  ItemStatus = "done"
	ItemFailed  ItemStatus = "failed"
	ItemDropped ItemStatus = "dropped" // it is no longer on the list
)

// ItemNamed is an item that a running step reported.
type ItemNamed struct {
	Step    StepID     `json:"step"`
	Item    ItemID     `json:"item"`
	Title   string     `json:"title,omitempty"`
	Status  ItemStatus `json:"status"`
	Outputs []string   `json:"outputs,omitempty"`
	Commit  string     `json:"commit,omitempty"`
	Source  *Source    `json:"source,omitempty"`
}

func (ItemNamed) Event() EventType { return "item.named" }

func (p ItemNamed) fold(s *State, _ Event) error {
	st := s.step(p.Step)
	if st.Named == nil {
		st.Named = map[ItemID]ItemNamed{}
	}
	p.Title = cmp.Or(p.Title, st.Named[p.Item].Title) // a later report may leave it out
	st.Named[p.Item] = p
	return nil
}

func (p ItemNamed) source() *Source { return p.Source }

// finishes returns the state of the step whose item an event finishes: of a live attempt, or of an idle item that was
// accepted as done without one.
func (s *State) finishes(p ItemDone) (*StepState, error) {
	if p.Token != "" || p.Adopted == "" {
		st, _, err := s.live(p.AttemptRef)
		return st, err
	}
	st := s.Steps[p.Step]
	t := st.retries(p.AttemptRef)
	switch {
	case st == nil || st.concluded() || !st.Items.unfinished(p.Index):
		return nil, fmt.Errorf("%s is finished, skipped or not listed", p.Name())
	case t != nil && t.Live != nil:
		return nil, fmt.Errorf("%s is running", p.Name())
	}
	if st.Status == FailedForGood && len(st.Items.Failed) == 1 {
		if _, last := st.Items.Failed[p.Index]; last {
			st.Status, st.Why, st.Ended, st.Continued = Pending, "", time.Time{}, false
		}
	}
	return st, nil
}

// ItemDone finishes an item. Its outputs are on disk, as recorded here.
type ItemDone struct {
	AttemptRef
	Key     Key           `json:"key"`
	Outputs Outputs       `json:"outputs,omitempty"`
	Accept  string        `json:"accept,omitempty"`
	Summary string        `json:"summary,omitempty"`
	Usage   Usage         `json:"usage,omitzero"`
	Adopted string        `json:"adopted,omitempty"`
	Stats   *AttemptStats `json:"stats,omitempty"`
	Verdict *Verdict      `json:"verdict,omitempty"` // where no engine saw it end: why the result was accepted
	From    *Earlier      `json:"from,omitempty"`    // the result was adopted from this attempt
}

func (ItemDone) Event() EventType { return "item.done" }

func (p ItemDone) fold(s *State, e Event) error {
	if p.Item == "" {
		return fmt.Errorf("step %s: item.done without an item", p.Step)
	}
	st, err := s.finishes(p)
	if err != nil {
		return err
	}
	st.Items.Done.Set(p.Index, e.Seq)
	st.Items.Count++
	if p.Attempt > 1 {
		if st.Items.Numbers == nil {
			st.Items.Numbers = map[int]int{}
		}
		st.Items.Numbers[p.Index] = p.Attempt
	}
	delete(st.Items.Retries, p.Index)
	delete(st.Items.Failed, p.Index)
	s.spend(st, p.Stats, p.Usage)
	return nil
}
