package headless

import "strings"

// granted are the commands of pawl that an agent may use without a question: they tell pawl about the work, and ask it. The
// commands that start programs are not among them: `pawl -C FOLDER run` would be any shell command. No option may stand
// before the command, since each rule is a prefix.
var granted = []string{"progress", "learn", "decide", "block", "ask", "checkpoint", "status", "brief"}

// grants returns a rule for each granted command: format has %s for "pawl COMMAND".
func grants(formats ...string) []string {
	var rules []string
	for _, command := range granted {
		for _, format := range formats {
			rules = append(rules, strings.ReplaceAll(format, "%s", "pawl "+command))
		}
	}
	return rules
}
