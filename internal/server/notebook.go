package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/notebook"
	"pawl/internal/notebook/display"
	"pawl/internal/project"
	"pawl/internal/redact"
	"pawl/internal/tokens"
)

func (a *api) notebookRoutes(h huma.API) {
	register(h, route{
		id: "get-notebook", method: http.MethodGet, path: "/api/runs/{run}/steps/{step}/notebook", right: tokens.Read, errors: []int{http.StatusNotFound, http.StatusConflict},
		summary: "Show the notebook that a step executes, as it is on disk, with secrets redacted: cells, outputs as text, tables and images, and the kernel's variables",
	}, a.notebook)
}

type notebookInput struct {
	RunPath
	Step  string `path:"step" doc:"id of a step" maxLength:"200"`
	From  int    `query:"from" doc:"index of the first cell" minimum:"0" maximum:"1000000"`
	Limit int    `query:"limit" doc:"at most so many cells; fewer if they are large" default:"50" minimum:"1" maximum:"200"`
}

// Notebook is a page of a notebook.
type Notebook struct {
	display.Page
	File      string     `json:"file" doc:"relative to the project's folder"`
	Variables []Variable `json:"variables" doc:"of the kernel; empty: unknown"`
}

// Variable is a variable of a kernel.
type Variable struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape string `json:"shape,omitempty" doc:"such as 3 × 4"`
	Bytes int64  `json:"bytes,omitempty"`
	Hash  string `json:"hash,omitempty" doc:"of the content"`
	Saved bool   `json:"saved" doc:"a checkpoint has it"`
}

// largestNotebook is the size up to which the server shows a notebook.
const largestNotebook = 128 << 20

// maxReaders is how many notebooks are read at a time, since they may be large.
const maxReaders = 2

func (a *api) notebook(ctx context.Context, in *notebookInput) (Notebook, error) {
	p, run, err := a.find(in.RunPath)
	if err != nil {
		return Notebook{}, err
	}
	step, file, err := notebookOf(ctx, p, run, in.Step)
	if err != nil {
		return Notebook{}, err
	}
	select {
	case a.readers <- struct{}{}:
		defer func() { <-a.readers }()
	case <-ctx.Done():
		return Notebook{}, ctx.Err()
	}
	n, err := readNotebook(p.Root, file)
	if err != nil {
		return Notebook{}, err
	}
	clean := redact.OfProcess().Text
	shown := Notebook{Page: display.Cells(n, in.From, in.Limit, clean), File: file, Variables: []Variable{}}
	if a.Variables != nil {
		variables, err := a.Variables(ctx, p, run, step)
		if err != nil {
			return shown, err
		}
		for _, v := range variables {
			v.Name, v.Type, v.Shape = clean(v.Name), clean(v.Type), clean(v.Shape)
			shown.Variables = append(shown.Variables, v)
		}
	}
	return shown, nil
}

// notebookOf returns the file that has the outputs of a step, relative to the project's folder.
func notebookOf(ctx context.Context, p *project.Project, run pawl.RunID, name string) (pawl.StepID, string, error) {
	r, err := load(ctx, p, run)
	if err != nil {
		return "", "", err
	}
	defer r.Log.Close()
	id, err := pawl.ParseStepID(name)
	if err != nil {
		return "", "", notFound("no step %s", name)
	}
	step := r.Plan.Step(id)
	switch {
	case step == nil:
		return "", "", notFound("no step %s", name)
	case step.Notebook() == "":
		return "", "", notFound("step %s executes no notebook", name)
	}
	file := path.Clean(filepath.ToSlash(step.Notebook()))
	if !filepath.IsLocal(file) || file == project.Folder || strings.HasPrefix(file, project.Folder+"/") {
		return "", "", problem(http.StatusConflict, fmt.Sprintf("the notebook %s is outside of the project's folder", step.Notebook()), "")
	}
	return id, file, nil
}

// readNotebook reads a notebook of the project. It follows no links.
func readNotebook(root, file string) (*notebook.Notebook, error) {
	data, err := disk.ReadBelow(root, filepath.FromSlash(file), largestNotebook)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound("no notebook %s yet", file)
	case err != nil:
		return nil, problem(http.StatusConflict, fmt.Sprintf("read %s: %v", file, err), "")
	}
	n, err := notebook.Read(data)
	if err != nil {
		return nil, problem(http.StatusConflict, file+": "+redact.OfProcess().Text(err.Error()), "")
	}
	return n, nil
}
