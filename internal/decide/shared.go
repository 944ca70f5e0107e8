package decide

import (
	"slices"

	"pawl"
)

// The end of an attempt and the intent of the next one share a sync if nothing else happens in between. The functions below say so.

// OnlyDone reports whether events, of which there are some, only say that steps and items are done.
func OnlyDone(events []pawl.Event) bool {
	return len(events) > 0 && !slices.ContainsFunc(events, func(event pawl.Event) bool {
		return event.Type != pawl.StepDone{}.Event() && event.Type != pawl.ItemDone{}.Event()
	})
}

// OnlyScripts reports whether actions, of which there are some, only start attempts of scripts on this machine, for which nothing is read
// before.
func OnlyScripts(actions []Action) bool {
	return len(actions) > 0 && !slices.ContainsFunc(actions, func(a Action) bool {
		return a.Kind != Start || a.Step.Run == "" || len(a.Step.Inputs) > 0 || a.Step.Service != nil || a.Step.On.Queue != ""
	})
}
