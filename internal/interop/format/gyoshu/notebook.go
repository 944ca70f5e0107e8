package gyoshu

import (
	"strings"
	"time"

	"pawl/internal/interop/format"
	"pawl/internal/kernel"
	"pawl/internal/markers"
	"pawl/internal/textedit/jsonedit"
)

// Notebook is the content of a notebook.
type Notebook struct {
	Cells []Cell
	Front *FrontMatter // nil if it has none
}

// Cell is one cell of a notebook.
type Cell struct {
	ID      string
	Type    string // code, markdown, raw
	Kind    string // Gyoshu's: checkpoint, research, report, frontmatter
	Source  string
	Stdout  string    // what it printed
	Time    time.Time // of its last change, if known
	Failed  bool      // its last output is an error
	Tags    []string
	Pointer Pointer // in the cell of a checkpoint

	Executed int64 // its execution count; 0: unknown

	json *jsonedit.Value
}

// Pointer is the checkpoint that a cell describes.
type Pointer struct {
	ID, Stage, Manifest string
	Reason              string
	CutShort            bool // taken in the middle of its stage
}

// checkpointTag marks the cells of checkpoints.
const checkpointTag = "gyoshu-checkpoint"

// ReadNotebook parses a notebook. Invalid cells are skipped.
func ReadNotebook(data []byte) (*Notebook, error) {
	root, err := jsonedit.Read(data)
	if err != nil {
		return nil, err
	}
	cells, err := listIn(root, "cells")
	if err != nil {
		return nil, err
	}
	n := &Notebook{}
	for i, item := range cells {
		if !item.Is(jsonedit.Object) {
			continue
		}
		c := cellOf(item)
		n.Cells = append(n.Cells, c)
		if i == 0 && c.Type == "raw" {
			n.Front = readFrontMatter(c.Source)
		}
	}
	return n, nil
}

func cellOf(v *jsonedit.Value) Cell {
	c := Cell{
		ID:     v.Get("id").Text(),
		Type:   v.Get("cell_type").Text(),
		Kind:   v.Get("metadata", "gyoshu", "type").Text(),
		Source: multiline(v.Get("source")),
		Tags:   textsOf(v.Get("metadata", "tags")),
		json:   v,
	}
	for _, key := range []string{"createdAt", "lastUpdated"} {
		if at, _, _ := format.ParseTime(v.Get("metadata", "gyoshu", key).Text()); !at.IsZero() {
			c.Time = at
		}
	}
	if count, ok := v.Get("execution_count").Int(); ok && count > 0 {
		c.Executed = count
	}
	c.readOutputs(v.Get("outputs"))
	c.readPointer(v)
	return c
}

// Line returns the line of the file in which the cell begins.
func (c *Cell) Line() int { return c.json.Line() }

// multiline returns a text that is a string or a list of lines.
func multiline(v *jsonedit.Value) string {
	if v.Is(jsonedit.Array) {
		return strings.Join(textsOf(v), "")
	}
	return v.Text()
}

func (c *Cell) readOutputs(outputs *jsonedit.Value) {
	if outputs == nil {
		return
	}
	var printed strings.Builder
	for _, o := range outputs.Items {
		kind := o.Get("output_type").Text()
		c.Failed = kind == "error"
		if kind == "stream" && o.Get("name").Text() == "stdout" {
			printed.WriteString(multiline(o.Get("text")))
			printed.WriteByte('\n')
		}
	}
	c.Stdout = printed.String()
}

// readPointer reads the checkpoint of a cell from its metadata, or else from the comment at its start.
func (c *Cell) readPointer(v *jsonedit.Value) {
	first, _, _ := strings.Cut(c.Source, "\n")
	comment, isComment := strings.CutPrefix(first, "# ")
	m, ok := markers.Parse(comment, 1)
	if isComment && ok && m.Type == "CHECKPOINT" {
		c.Pointer = Pointer{ID: m.Attributes["id"], Stage: m.Attributes["stage"], Manifest: m.Attributes["manifest"], Reason: m.Attributes["reason"],
			CutShort: m.Subtype != nil && *m.Subtype == "emergency"}
	}
	if c.Kind == "checkpoint" && c.Pointer.ID == "" {
		meta := v.Get("metadata", "gyoshu")
		c.Pointer = Pointer{ID: meta.Get("checkpointId").Text(), Stage: meta.Get("stageId").Text()}
	}
}

// checkpointCell is the cell of a checkpoint, in the order of Gyoshu's keys.
type checkpointCell struct {
	Type     string         `json:"cell_type"`
	ID       string         `json:"id"`
	Source   []string       `json:"source"`
	Metadata checkpointMeta `json:"metadata"`
	Count    *int           `json:"execution_count"`
	Outputs  []cellOutput   `json:"outputs"`
}

type checkpointMeta struct {
	Tags   []string `json:"tags"`
	Gyoshu struct {
		Type    string `json:"type"`
		ID      string `json:"checkpointId"`
		Stage   string `json:"stageId"`
		Created string `json:"createdAt"`
	} `json:"gyoshu"`
}

// newCheckpointCell returns the cell of a manifest. Its output matches its comment; for a checkpoint in the middle of a
// stage it includes the reason, and what the kernel did then.
func newCheckpointCell(m *Manifest, at kernel.Report) checkpointCell {
	marker := "[CHECKPOINT:saved:id=" + m.CheckpointID + ":stage=" + m.Stage
	if m.Status.unsafe() {
		marker = "[CHECKPOINT:emergency:id=" + m.CheckpointID + ":stage=" + m.Stage + ":reason=" + string(m.Reason)
	}
	c := checkpointCell{Type: "code", ID: m.Notebook.Cell, Outputs: append([]cellOutput{}, lostWork(at)...), Source: []string{
		"# " + marker + ":manifest=" + manifestPath(m.Title, m.Run, m.CheckpointID) + "]\n",
		"# Checkpoint created at " + m.Created + "\n",
		`print("` + escapePython(marker) + "]\")\n",
	}}
	c.Metadata.Tags = []string{checkpointTag}
	meta := &c.Metadata.Gyoshu
	meta.Type, meta.ID, meta.Stage, meta.Created = "checkpoint", m.CheckpointID, m.Stage, m.Created
	return c
}

// emptyNotebook is the notebook to which Gyoshu appends the first cell.
const emptyNotebook = `{
  "cells": [],
  "metadata": {
    "kernelspec": {
      "display_name": "Python 3",
      "language": "python",
      "name": "python3"
    },
    "language_info": {
      "name": "python",
      "version": "3.11",
      "mimetype": "text/x-python",
      "file_extension": ".py"
    }
  },
  "nbformat": 4,
  "nbformat_minor": 5
}`

// withCell returns a notebook with one more cell at the end; the rest stays as it is. Without a notebook it creates one.
func withCell(notebook []byte, cell any) ([]byte, error) {
	if notebook == nil {
		notebook = []byte(emptyNotebook)
	}
	return jsonedit.Append(notebook, cell, "cells")
}
