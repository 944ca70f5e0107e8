package mcp

import (
	"context"
	"fmt"
	"strconv"

	"pawl"
	"pawl/internal/runs"
)

// progressIn is the input of progress.
type progressIn struct {
	Text   string          `json:"text,omitempty" jsonschema:"current activity, in a few words"`
	Done   *float64        `json:"done,omitempty" jsonschema:"amount done"`
	Total  *float64        `json:"total,omitempty" jsonschema:"total amount"`
	Item   string          `json:"item,omitempty" jsonschema:"the part of the work, named as before: a task of your list, a file, a chapter"`
	Status pawl.ItemStatus `json:"status,omitempty" jsonschema:"status of the item; defaults to running"`
}

// progressOut is the output of progress.
type progressOut struct {
	recorded
	Item pawl.ItemID `json:"item,omitempty" jsonschema:"item id"`
}

func (s *Server) progress(ctx context.Context, c call, in progressIn) (answer[progressOut], error) {
	if in.Text == "" && in.Done == nil && in.Item == "" {
		return answer[progressOut]{}, usage("pass at least one of text, done and item")
	}
	var out progressOut
	line, act := pawl.Line{Progress: &pawl.Progress{Text: in.title(), Done: in.Done, Total: in.Total}}, runs.Act(nil)
	if in.Item != "" || s.step == nil {
		item := in.item(c.by.Name)
		line, act, out.Item = pawl.Line{Item: &item}, runs.NameItem(item), item.Item
	}
	at, err := s.record(ctx, c.by, line, act, nil)
	out.recorded = at
	if out.Item != "" {
		out.Undo = "report the same item with another status"
	}
	return answer[progressOut]{text: "progress " + out.text(), data: out}, err
}

// item returns the progress as an item. Outside of a step, progress without an item belongs to an item named after the agent.
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

// title returns the text with the amounts, because an item has no fields for amounts.
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
