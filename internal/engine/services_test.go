package engine

import (
	"testing"
	"time"

	"pawl"
)

// The limit of a service counts from the start of its attempt, whichever engine started it. If it was ready under an earlier engine, and
// is not now, it has the whole limit again.
func TestNotReadySince(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Hour)
	ref := pawl.AttemptRef{Step: "db", Attempt: 1, Token: "t"}
	s := pawl.NewState()
	apply := func(payloads ...pawl.Payload) {
		for _, p := range payloads {
			e, err := pawl.NewEvent(pawl.Author{Kind: pawl.ByEngine}, p)
			if err != nil {
				t.Fatal(err)
			}
			e.Seq, e.Time = s.Seq+1, began
			s.Apply(e)
		}
	}
	e := &Engine{state: s}
	apply(pawl.EngineStarted{Epoch: 1}, pawl.AttemptStarted{AttemptRef: ref}, pawl.EngineStarted{Epoch: 2})
	if since := e.notReadySince(ref); !since.Equal(began) {
		t.Errorf("never ready: since %s", time.Since(since))
	}
	apply(pawl.ServiceReady{AttemptRef: ref}, pawl.EngineStarted{Epoch: 3})
	if since := e.notReadySince(ref); time.Since(since) > time.Minute {
		t.Errorf("ready under an earlier engine: since %s", time.Since(since))
	}
}
