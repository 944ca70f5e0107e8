package pawl

import (
	"encoding/json"
	"errors"
)

// Result is what a step reports in the file PAWL_RESULT.
type Result struct {
	Status   ResultStatus `json:"status"`
	Summary  string       `json:"summary,omitempty"`
	Blockers []string     `json:"blockers,omitempty"`
	Gate     *GateAction  `json:"gate,omitempty"` // with status waiting: what to ask
	Items    []ItemNamed  `json:"items,omitempty"`
	Usage    Usage        `json:"usage,omitzero"`
	Memory   []Memory     `json:"memory,omitempty"`
}

// ResultStatus is the status that a step reports.
type ResultStatus string

// The statuses of a result.
const (
	ResultDone    ResultStatus = "done"
	ResultFailed  ResultStatus = "failed"
	ResultBlocked ResultStatus = "blocked"
	ResultWaiting ResultStatus = "waiting"
)

// ParseResult decodes a result file. It ignores unknown keys.
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

// Usage is the cost of an attempt.
type Usage struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage { return Usage{USD: u.USD + v.USD, Tokens: u.Tokens + v.Tokens} }

// Outputs maps paths, relative to the project with '/', to their recorded content.
type Outputs map[string]Content

// Content is the hash of a file, or of a folder with all its files.
type Content struct {
	SHA256 string `json:"sha256"`          // of the file; of the sorted listing for a folder
	Size   int64  `json:"size"`            // bytes, of all files
	Files  int    `json:"files,omitempty"` // for a folder: how many
}

// Resume is the content of PAWL_RESUME, for attempts after the first.
type Resume struct {
	Attempt   int         `json:"attempt"`
	ItemsDone []ItemID    `json:"items_done,omitempty"`
	Progress  *Progress   `json:"last_progress,omitempty"`
	Ended     string      `json:"last_ended,omitempty"` // why the last attempt ended
	Verdict   VerdictWord `json:"verdict,omitempty"`    // on the last attempt: continue from its partial work, or start again
	Partial   []string    `json:"partial,omitempty"`    // declared outputs that exist and are not verified
	Unmet     []string    `json:"unmet,omitempty"`      // acceptance checks that the last attempt failed
	Rejected  string      `json:"rejected,omitempty"`   // why a person rejected the last result
	Answers   []GateReply `json:"answers,omitempty"`

	Prescribed string `json:"prescribed,omitempty"` // what the mirrored system requires before its work continues

	Conversation *Conversation `json:"conversation,omitempty"` // an agent session to resume
}

// GateReply is the answer to a gate.
type GateReply struct {
	Ask    string `json:"ask"`
	Answer Answer `json:"answer"`
	Option string `json:"option,omitempty"`
	Why    string `json:"why,omitempty"`
}
