package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/tokens"
)

// Where the user's own settings have `gates: server-only`, only a client of `pawl serve` that may approve can answer a gate, review a step
// or vouch for one. Every other act that does so is refused, and an answer in a journal that no server gave makes the run one from
// elsewhere.

// ViaServer is the program through which clients of a server answer.
const ViaServer = "pawl serve"

type serverKey struct{}

// ByClient returns a context for the acts of a client of a server.
func ByClient(ctx context.Context, mayApprove bool) context.Context {
	return context.WithValue(ctx, serverKey{}, mayApprove)
}

// ServerOnly reports whether the user's own settings accept answers from clients of a server only.
func ServerOnly(p *project.Project) (bool, error) {
	own, err := config.ReadUser(p.Root)
	return own.Gates == config.ServerOnly, err
}

// refuseOutside returns an error for an act that lets work continue on somebody's word, if that must come from a server.
func refuseOutside(ctx context.Context, p *project.Project, r *Run, by pawl.Author, payloads []pawl.Payload) error {
	gate, approves := approvalIn(r, by, payloads)
	if !approves {
		return nil
	}
	if only, err := ServerOnly(p); !only || err != nil {
		return err
	}
	mayApprove, fromServer := ctx.Value(serverKey{}).(bool)
	switch {
	case mayApprove:
		return nil
	case fromServer:
		return outsideError(`"gates: server-only" in the settings of the server requires the right approve for this`, "")
	}
	command := "gates"
	if gate != "" {
		command = "approve " + string(gate)
	}
	return outsideError(`your own settings have "gates: server-only": only a server accepts answers, reviews and skipped gates`, ServerCommand(command))
}

func outsideError(text, hint string) error {
	return &pawl.Error{Kind: pawl.KindDamaged, Err: errors.New(text), Hint: hint}
}

// ServerCommand returns a command line that has the user's running server do a command, or starts a server.
func ServerCommand(command string) string {
	store, err := tokens.Open()
	if err != nil {
		return ViaServer
	}
	running, err := store.Servers()
	if err != nil || len(running) == 0 {
		return ViaServer
	}
	return fmt.Sprintf("pawl --server %s %s", running[0].URL, command)
}

// approvalIn reports whether an act answers a gate, reviews a step or vouches for one, and which gate. What only stops work does not count
// if another system's table says so.
func approvalIn(r *Run, by pawl.Author, payloads []pawl.Payload) (gate pawl.GateID, is bool) {
	for _, payload := range payloads {
		switch e := payload.(type) {
		case pawl.GateAnswered:
			if by.Kind != pawl.ByTable || e.Answer != pawl.Rejected {
				return e.Gate, true
			}
		case pawl.StepReviewed:
			return "", true
		case pawl.StepDone:
			if e.Adopted != "" {
				return "", true
			}
		case pawl.ItemDone:
			if e.Adopted != "" {
				return "", true
			}
		case pawl.StepSkipped:
			if step := r.Plan.Step(e.Step); step != nil && step.Gate != nil {
				return "", true
			}
			if st := r.State.Steps[e.Step]; st != nil && st.Status == pawl.AwaitsReview {
				return "", true
			}
		}
	}
	return "", false
}

// outsideWord is why a run counts as made elsewhere if a person answered one of its gates without a server.
const outsideWord = `its journal has an answer that no server gave, and your own settings have "gates: server-only"`

// fromOutside reports whether a word is an answer of a person that lets work continue and does not say that it came through a server.
func fromOutside(kind pawl.EventType, data []byte) bool {
	var answer pawl.GateAnswered
	if kind != answer.Event() {
		return false
	}
	if json.Unmarshal(data, &answer) != nil {
		return true
	}
	stops := answer.Answer == pawl.Rejected || answer.Answer == pawl.Refused
	return !answer.Auto && !stops && answer.Via != ViaServer
}

// CheckNews returns an error if one of some new events is a word that no pawl of this user announced, or an answer that must come from a
// server and does not. An engine calls it before it acts on them, where the user's own settings have `gates: server-only`.
func CheckNews(p *project.Project, run pawl.RunID, news []pawl.Event) error {
	for _, e := range news {
		if isWord(e.Type) {
			return RequireOwn(p, run)
		}
	}
	return nil
}

// RefuseAnswers returns an error if answers must come from a server: a person does not accept those in the journal of a run from elsewhere.
func RefuseAnswers(p *project.Project, run pawl.RunID) error {
	only, err := ServerOnly(p)
	if !only || err != nil {
		return err
	}
	return outsideError(fmt.Sprintf(`your own settings have "gates: server-only": run %s comes from elsewhere, and answers in its journal do not count`, run), "")
}
