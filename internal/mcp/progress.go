package mcp

import (
	"context"
	"fmt"
	"strconv"

	"pawl"
	"pawl/internal/runs"
)

// progressIn is what progress takes.
type progressIn struct {
	Text   string          `json:"text,omitempty" jsonschema:"what is being done, in a few words"`
	Done   *float64        `json:"done,omitempty" jsonschema:"how much is done"`
	Total  *float64        `json:"total,omitempty" jsonschema:"of how much"`
	Item   string          `json:"item,omitempty" jsonschema:"the part of the work that this is about, as you named it before: a task of your list, a file, a chapter"`
	Status pawl.ItemStatus `json:"status,omitempty" jsonschema:"where that item stands; running if left out"`
}

// progressOut is what progress answers.
type progressOut struct {
	recorded
	Item pawl.ItemID `json:"item,omitempty" jsonschema:"the id of the item"`
}

func (s *Server) progress(ctx context.Context, c call, in progressIn) (answer[progressOut], error) {
	if in.Text == "" && in.Done == nil && in.Item == "" {
		return answer[progressOut]{}, usage("say at least one of text, done and item")
	}
	var out progressOut
	line, act := pawl.Line{Progress: &pawl.Progress{Text: in.title(), Done: in.Done, Total: in.Total}}, runs.Act(nil)
	if in.Item != "" || s.step == nil {
		item := in.item(c.by.Name)
		line, act, out.Item = pawl.Line{Item: &item}, runs.NameItem(item), item.Item
	}
	at, err := s.record(ctx, c.by, line, act, nil)
	out.recorded = at
	return answer[progressOut]{text: "progress " + at.String() + at.Notes.String(), data: out}, err
}

// item is the progress as that of an item. Outside of any step the agent itself is the item that it does not name.
func (in progressIn) item(agent string) pawl.ItemNamed {
	named := pawl.ItemNamed{Item: pawl.ItemIDOf(in.Item), Title: in.title(), Status: in.Status}
	if in.Item == "" {
		named.Item = pawl.ItemIDOf(agent)
	}
	if named.Status == "" {
		named.Status = pawl.ItemRunning
	}
	return named
}

// title says it in words alone: whoever looks sees these, and an item has no numbers.
func (in progressIn) title() string {
	if in.Done == nil {
		return in.Text
	}
	amount := number(*in.Done)
	if in.Total != nil {
		amount = fmt.Sprintf("%s of %s", amount, number(*in.Total))
	}
	if in.Text == "" {
		return amount
	}
	return fmt.Sprintf("%s (%s)", in.Text, amount)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
