package pawl

import "fmt"

// EngineStarted says that an engine has taken the run over; it raises the epoch.
type EngineStarted struct {
	Epoch Epoch  `json:"epoch"`
	PID   int    `json:"pid"`
	Host  string `json:"host,omitempty"`
	Why   string `json:"why"` // run | resume
}

func (EngineStarted) Event() EventType { return "engine.started" }

func (p EngineStarted) fold(s *State, _ Event) error {
	if p.Epoch <= s.Epoch {
		return fmt.Errorf("engine of epoch %d started in epoch %d", p.Epoch, s.Epoch)
	}
	if s.Engine != nil {
		s.Deaths++
	}
	s.Engine, s.Epoch = &p, p.Epoch
	s.Engines++
	return nil
}

// EngineStopped says that the engine left the run in good order. Without it the run was interrupted.
type EngineStopped struct {
	Why string `json:"why"`
}

func (EngineStopped) Event() EventType { return "engine.stopped" }

func (EngineStopped) fold(s *State, _ Event) error {
	s.Engine = nil
	return nil
}

// MachineSlept says how long the machine was asleep; that time counts against no limit.
type MachineSlept struct {
	Seconds float64 `json:"seconds"`
}

func (MachineSlept) Event() EventType { return "machine.slept" }

// fold changes nothing: supervisors and the engine subtract time asleep themselves.
func (MachineSlept) fold(*State, Event) error { return nil }
