package pawl

import "path"

// KernelAction executes code or the cells of a notebook in a kernel, which keeps its variables for later steps.
type KernelAction struct {
	Name    string         `yaml:"name,omitempty" json:"name,omitempty"`       // kernelspec, such as python3 or ir. Defaults to that of the notebook, then to python3.
	Code    string         `yaml:"code,omitempty" json:"code,omitempty"`       // code to execute
	File    string         `yaml:"file,omitempty" json:"file,omitempty"`       // notebook (.ipynb) or script to execute
	Out     string         `yaml:"out,omitempty" json:"out,omitempty"`         // notebook that gets the outputs. Defaults to File.
	Session string         `yaml:"session,omitempty" json:"session,omitempty"` // steps with the same session share a kernel. Defaults to one for the run.
	Driver  KernelDriver   `yaml:"driver,omitempty" json:"driver,omitempty"`   // Defaults to jupyter if it is installed for the interpreter, else python.
	Python  string         `yaml:"python,omitempty" json:"python,omitempty"`   // interpreter. Defaults to that of .venv, of $VIRTUAL_ENV, of the kernelspec, then python3.
	Server  string         `yaml:"server,omitempty" json:"server,omitempty"`   // address of a Jupyter server, for driver remote; its token is in JUPYTER_TOKEN
	Params  map[string]any `yaml:"params,omitempty" json:"params,omitempty"`   // of a notebook

	Strict       bool        `yaml:"strict,omitempty" json:"strict,omitempty"`               // load no variables if Python, a package or the platform changed since they were saved
	Watch        KernelWatch `yaml:"watch,omitempty" json:"watch,omitzero"`                  // after which inactivity of a cell pawl warns
	StartTimeout Duration    `yaml:"start_timeout,omitempty" json:"start_timeout,omitempty"` // how long the kernel may take to start. Defaults to 1m.
	OutputLimit  string      `yaml:"output_limit,omitempty" json:"output_limit,omitempty"`   // bytes of text of a cell in its notebook, from 10KiB to 100MiB; a file has the rest. Defaults to 1MiB.
	CellTimeout  Duration    `yaml:"cell_timeout,omitempty" json:"cell_timeout,omitempty"`   // limit of each cell of a notebook. Defaults to none.
}

// work returns the action without the settings that do not change what its cells do; nil for nil.
func (k *KernelAction) work() *KernelAction {
	if k == nil {
		return nil
	}
	work := *k
	work.Strict, work.Watch, work.StartTimeout, work.CellTimeout, work.OutputLimit = false, KernelWatch{}, 0, 0, ""
	return &work
}

// KernelWatch says after how long pawl warns about a cell that runs; 0: never. A warning never ends a cell.
type KernelWatch struct {
	Silent   Duration `yaml:"silent,omitempty" json:"silent,omitempty"`     // without output. Defaults to 60s.
	Marker   Duration `yaml:"marker,omitempty" json:"marker,omitempty"`     // without a marker. Defaults to 90s for code, else to 0.
	Progress Duration `yaml:"progress,omitempty" json:"progress,omitempty"` // without progress, once it has reported some. Defaults to 30s for code, else to 0.
	Long     Duration `yaml:"long,omitempty" json:"long,omitempty"`         // since its start. Defaults to 4m for files, else to 0.
}

// KernelDriver is how pawl talks to a kernel.
type KernelDriver string

// The drivers.
const (
	PythonDriver  KernelDriver = "python"  // Python alone, without Jupyter
	JupyterDriver KernelDriver = "jupyter" // any Jupyter kernel on this machine
	RemoteDriver  KernelDriver = "remote"  // a kernel of a Jupyter server
)

// KernelJob is what a step in a kernel, or the runner of a kernel, has to do.
type KernelJob struct {
	Action  KernelAction `json:"action"`
	Session string       `json:"session"`         // name
	Folder  string       `json:"folder"`          // of the session; absolute
	After   []StepID     `json:"after,omitempty"` // earlier steps of the session, in the order of the plan
	Seed    string       `json:"seed,omitempty"`  // hash of what the cells depend on besides their code
	Once    bool         `json:"once,omitempty"`  // finished cells must not be executed again
	Again   bool         `json:"again,omitempty"` // all cells are executed again
}

// Notebook returns the notebook that gets the outputs of the step, "" if it executes no notebook.
func (s *Step) Notebook() string {
	if s.Kernel == nil || path.Ext(s.Kernel.File) != ".ipynb" {
		return ""
	}
	if s.Kernel.Out != "" {
		return s.Kernel.Out
	}
	return s.Kernel.File
}

func (KernelAction) Example() string { return "{file: fit.ipynb}" }
func (KernelWatch) Example() string  { return "{silent: 5m}" }
