package pawl

import "fmt"

// ItemsState is the state of a foreach step's items. A finished item is only a position in the journal.
type ItemsState struct {
	Total   int                  `json:"total"`
	Lists   []Seq                `json:"lists,omitempty"`  // the step.listed events, in order
	Done    Positions            `json:"done,omitempty"`   // index → seq of item.done, 0 where not finished
	Count   int                  `json:"count,omitempty"`  // of finished items
	Retries map[int]*Retries     `json:"tries,omitempty"`  // of unfinished items that were started
	Failed  map[int]AttemptEnded `json:"failed,omitempty"` // items that failed for good
}

// unfinished reports whether there is an item at the index that is not finished.
func (it *ItemsState) unfinished(index int) bool {
	return it != nil && index >= 0 && index < it.Total && it.Done.At(index) == 0
}

// reopen makes the items at the indexes pending again.
func (it *ItemsState) reopen(indexes []int) {
	for _, index := range indexes {
		if it.Done.At(index) != 0 {
			it.Done.Set(index, 0)
			it.Count--
		}
		delete(it.Failed, index)
		delete(it.Retries, index)
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
	st.Named[p.Item] = p
	return nil
}

func (p ItemNamed) source() *Source { return p.Source }

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
}

func (ItemDone) Event() EventType { return "item.done" }

func (p ItemDone) fold(s *State, e Event) error {
	if p.Item == "" {
		return fmt.Errorf("step %s: item.done without an item", p.Step)
	}
	st, _, err := s.live(p.AttemptRef)
	if err != nil {
		return err
	}
	st.Items.Done.Set(p.Index, e.Seq)
	st.Items.Count++
	delete(st.Items.Retries, p.Index)
	delete(st.Items.Failed, p.Index)
	s.spend(st, p.Stats, p.Usage)
	return nil
}
