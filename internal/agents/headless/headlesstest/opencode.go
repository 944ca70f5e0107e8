package headlesstest

import (
	"fmt"
	"os"
	"os/signal"
	"time"

	"pawl"
)

// openCode prints the messages of OpenCode 1.18.33.
type openCode struct{ args []string }

func (o *openCode) asked() (string, bool) {
	id := flag(o.args, "--session")
	return id, id != ""
}

func (o *openCode) id() string { return "ses_" + uuid()[:8] + "ffeFAXIXbwtRytTwd" }

func (o *openCode) gone(f *fake) int {
	fmt.Fprintln(f.err, "\x1b[91m\x1b[1mError: \x1b[0mSession not found")
	return 1
}

func (o *openCode) event(f *fake, kind string, more object) {
	message := object{"type": kind, "timestamp": 1795299868175, "sessionID": f.Session}
	for key, value := range more {
		message[key] = value
	}
	f.print(message)
}

func (o *openCode) part(f *fake, kind string, part object) {
	o.event(f, kind, object{"part": part})
}

func (o *openCode) begin(f *fake) {
	o.part(f, "step_start", object{"type": "step-start", "snapshot": "a364e323c2594f69d60d4cf016b1117a2d95e040"})
}

func (o *openCode) say(f *fake, text string) { o.part(f, "text", object{"type": "text", "text": text}) }

func (o *openCode) todo(f *fake, done, all int, text string) {
	var todos []object
	for i := range all {
		status := []string{"completed", "in_progress", "pending"}[min(max(i-done+1, 0), 2)]
		todos = append(todos, object{"id": fmt.Sprint(i), "content": text, "status": status})
	}
	o.part(f, "tool_use", object{"type": "tool", "tool": "todowrite", "callID": "todo", "state": object{"status": "completed", "input": object{"todos": todos}}})
}

// tool is reported when it has ended.
func (o *openCode) tool(*fake, string, string) {}

func (o *openCode) result(f *fake, id, command, output string, good bool) {
	o.part(f, "tool_use", object{"type": "tool", "tool": "bash", "callID": id, "state": object{
		"status": "completed", "input": object{"command": command}, "output": output, "metadata": object{"exit": map[bool]int{true: 0, false: 1}[good]},
	}})
}

func (o *openCode) refused(f *fake, id, what string) {
	fmt.Fprintf(f.err, "\x1b[93m\x1b[1m! \x1b[0mpermission requested: bash (%s); auto-rejecting\n", what)
	o.part(f, "tool_use", object{"type": "tool", "tool": "bash", "callID": id, "state": object{
		"status": "error", "input": object{"command": what}, "error": "The user rejected permission to use this specific tool call.",
	}})
}

func (o *openCode) costs(f *fake, more pawl.Usage) {
	o.part(f, "step_finish", object{"type": "step-finish", "reason": "tool-calls", "cost": more.USD, "tokens": object{
		"input": more.Tokens, "output": 0, "reasoning": 0, "cache": object{"read": 100, "write": 0},
	}})
	o.begin(f)
}

func (o *openCode) finish(f *fake, text string) int {
	if text != "" {
		o.say(f, text)
	}
	o.part(f, "step_finish", object{"type": "step-finish", "reason": "stop", "cost": 0, "tokens": object{"input": 0, "output": 0}})
	return 0
}

func (o *openCode) fail(f *fake, text string) int {
	o.event(f, "error", object{"error": object{"name": "APIError", "data": object{"message": text, "statusCode": 500}}})
	return 1
}

// limit is reported in the log only; then the agent waits.
func (o *openCode) limit(f *fake, reset time.Time) int {
	text := "Rate limit reached for requests."
	if !reset.IsZero() {
		text += " Please try again in " + time.Until(reset).Round(time.Second).String() + "."
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	for {
		fmt.Fprintf(f.err, "timestamp=2026-11-21T22:26:03.082Z level=ERROR message=\"stream error\" session.id=%s small=false agent=build error.error=\"AI_APICallError: %s\"\n", f.Session, text)
		select {
		case <-signals:
			return 130
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (o *openCode) full(f *fake) int {
	o.event(f, "error", object{"error": object{"name": "ContextOverflowError", "data": object{"message": "Your input exceeds the context window of this model."}}})
	return 1
}

func (o *openCode) broke(f *fake) int { return o.finish(f, "it goes on until somebody ends it") }
