package pawl

import (
	"cmp"
	"fmt"
	"time"
)

// EngineStarted records that an engine owns the run from now on. It raises the epoch.
type EngineStarted struct {
	Epoch Epoch  `json:"epoch"`
	PID   int    `json:"pid"`
	Host  string `json:"host,omitempty"`
	Home  string `json:"home,omitempty"` // ID of the project in which it works; a run in a database can have engines in several
	Boot  string `json:"boot,omitempty"` // the system's boot ID; the records of its attempts are not synced, so after a restart none need be there
	Why   string `json:"why"`            // run | resume

	Parallel Parallel `json:"parallel,omitzero"`
	Trace    *Trace   `json:"trace,omitempty"` // of the run, if this is the first engine that traces it
}

// Trace identifies the distributed trace that a run belongs to, in the terms of W3C Trace Context.
type Trace struct {
	ID      string `json:"id"`                // 32 hex digits
	Parent  string `json:"parent,omitempty"`  // span of the process that started the run, 16 hex digits; empty: the run is the root
	Sampled bool   `json:"sampled,omitempty"` // spans are exported
}

func (EngineStarted) Event() EventType { return "engine.started" }

func (p EngineStarted) fold(s *State, _ Event) error {
	if p.Epoch <= s.Epoch {
		return fmt.Errorf("engine started with epoch %d, not above the current epoch %d", p.Epoch, s.Epoch)
	}
	if s.Engine != nil {
		s.Deaths++
	}
	s.Engine, s.Epoch, s.LastHome, s.LastHost, s.LastBoot = &p, p.Epoch, p.Home, p.Host, p.Boot
	s.Trace = cmp.Or(s.Trace, p.Trace)
	s.Engines++
	for _, st := range s.Steps {
		if live := st.Retries.Live; live != nil {
			live.WasReady = live.WasReady || !live.Ready.IsZero()
			live.Ready, live.Waiting = time.Time{}, nil // a service may have failed while no engine was there
		}
	}
	return nil
}

// EngineStopped records that the engine ended normally. Without it the run was interrupted.
type EngineStopped struct {
	Why string `json:"why"`
}

func (EngineStopped) Event() EventType { return "engine.stopped" }

func (EngineStopped) fold(s *State, _ Event) error {
	s.Engine = nil
	return nil
}

// MachineSlept records how long the machine was suspended. That time counts against no limit.
type MachineSlept struct {
	Seconds float64 `json:"seconds"`
}

func (MachineSlept) Event() EventType { return "machine.slept" }

// fold changes nothing: limits exclude suspended time where they are measured.
func (MachineSlept) fold(*State, Event) error { return nil }
