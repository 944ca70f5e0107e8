package pawl

import (
	"encoding/json"
	"errors"
)

// Result is what a step says of itself, in the file PAWL_RESULT.
type Result struct {
	Status   ResultStatus `json:"status"`
	Summary  string       `json:"summary,omitempty"`
	Blockers []string     `json:"blockers,omitempty"`
	Gate     *GateAction  `json:"gate,omitempty"` // with status waiting: what to ask
	Items    []ItemNamed  `json:"items,omitempty"`
	Usage    Usage        `json:"usage,omitzero"`
	Memory   []Memory     `json:"memory,omitempty"`
}

// ResultStatus is how a step says that it ended.
type ResultStatus string

// The statuses of a result.
const (
	ResultDone    ResultStatus = "done"
	ResultFailed  ResultStatus = "failed"
	ResultBlocked ResultStatus = "blocked"
	ResultWaiting ResultStatus = "waiting"
)

// ParseResult reads a result file. Unknown keys are kept out silently: a step may write more than we know.
func ParseResult(data []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return Result{}, err
	}
	switch r.Status {
	case ResultDone, ResultFailed, ResultBlocked, ResultWaiting:
		return r, nil
	}
	return Result{}, errors.New(`status must be "done", "failed", "blocked" or "waiting"`)
}

// Usage is what an attempt cost.
type Usage struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage { return Usage{USD: u.USD + v.USD, Tokens: u.Tokens + v.Tokens} }

// Outputs are recorded contents: path, relative to the project with '/', → what is there.
type Outputs map[string]Content

// Content is a file, or a folder with everything in it, by hash.
type Content struct {
	SHA256 string `json:"sha256"`          // of the file; of the sorted listing for a folder
	Size   int64  `json:"size"`            // bytes, of all files
	Files  int    `json:"files,omitempty"` // for a folder: how many
}

// Resume is what a later attempt is told in PAWL_RESUME.
type Resume struct {
	Attempt   int         `json:"attempt"`
	ItemsDone []ItemID    `json:"items_done,omitempty"`
	Progress  *Progress   `json:"last_progress,omitempty"`
	Ended     string      `json:"last_ended,omitempty"` // why the last attempt ended
	Verdict   VerdictWord `json:"verdict,omitempty"`    // on the last attempt: go on from what is there, or begin again
	Partial   []string    `json:"partial,omitempty"`    // declared outputs in which there is something; nobody vouches for it
	Unmet     []string    `json:"unmet,omitempty"`      // acceptance checks that the last attempt failed
	Rejected  string      `json:"rejected,omitempty"`   // why a person wants it done again
	Answers   []GateReply `json:"answers,omitempty"`

	Prescribed string `json:"prescribed,omitempty"` // by the system whose files are kept up to date, before its work is gone on with

	Conversation *Conversation `json:"conversation,omitempty"` // an agent's, that can go on
}

// GateReply is the answer to a gate.
type GateReply struct {
	Ask    string `json:"ask"`
	Answer Answer `json:"answer"`
	Option string `json:"option,omitempty"`
	Why    string `json:"why,omitempty"`
}
