package headless_test

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/agents/headless"
)

// What each agent may run of pawl. Every rule is a prefix, so none may end before a command that starts no program.
const (
	claudeGrants = "--allowedTools=Bash(pawl progress),Bash(pawl progress *),Bash(pawl learn),Bash(pawl learn *),Bash(pawl decide),Bash(pawl decide *)," +
		"Bash(pawl block),Bash(pawl block *),Bash(pawl ask),Bash(pawl ask *),Bash(pawl checkpoint),Bash(pawl checkpoint *)," +
		"Bash(pawl status),Bash(pawl status *),Bash(pawl brief),Bash(pawl brief *)"
	geminiGrants = "--allowed-tools=run_shell_command(pawl progress),run_shell_command(pawl learn),run_shell_command(pawl decide)," +
		"run_shell_command(pawl block),run_shell_command(pawl ask),run_shell_command(pawl checkpoint),run_shell_command(pawl status),run_shell_command(pawl brief)"
	copilotGrants = "--allow-tool=shell(pawl progress:*) --allow-tool=shell(pawl learn:*) --allow-tool=shell(pawl decide:*) --allow-tool=shell(pawl block:*) " +
		"--allow-tool=shell(pawl ask:*) --allow-tool=shell(pawl checkpoint:*) --allow-tool=shell(pawl status:*) --allow-tool=shell(pawl brief:*)"
)

// TestArgv: each agent is told to work without a person, in which session, by which model and at what cost; what the plan
// says of permissions takes the place of our own.
func TestArgv(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turn headless.Turn
		want string
	}{
		{headless.Turn{Action: pawl.AgentAction{Use: "claude"}, Session: "S"},
			"claude -p --output-format stream-json --verbose " + claudeGrants + " --session-id S --permission-mode acceptEdits"},
		{headless.Turn{Action: pawl.AgentAction{Use: "claude", Model: "m", Args: []string{"--permission-mode=plan"}}, Session: "S", Resume: true, USD: 0.25},
			"claude -p --output-format stream-json --verbose " + claudeGrants + " --resume S --max-budget-usd 0.25 --model m --permission-mode=plan"},
		{headless.Turn{Action: pawl.AgentAction{Use: "codex", Model: "m"}},
			"codex exec --json --skip-git-repo-check --model m --sandbox workspace-write -"},
		{headless.Turn{Action: pawl.AgentAction{Use: "codex", Args: []string{"-s", "read-only"}}, Session: "S", Resume: true},
			"codex exec --json --skip-git-repo-check -s read-only resume S -"},
		{headless.Turn{Action: pawl.AgentAction{Use: "gemini"}, Session: "S"},
			"gemini --output-format stream-json --skip-trust --session-id S --approval-mode auto_edit " + geminiGrants},
		{headless.Turn{Action: pawl.AgentAction{Use: "gemini", Model: "m", Args: []string{"--yolo"}}, Session: "S", Resume: true},
			"gemini --output-format stream-json --skip-trust --resume S --model m --yolo"},
		{headless.Turn{Action: pawl.AgentAction{Use: "opencode", Model: "p/m", Args: []string{"--auto"}}},
			"opencode run --format json --print-logs --log-level ERROR --model p/m --auto"},
		{headless.Turn{Action: pawl.AgentAction{Use: "opencode"}, Session: "ses_1", Resume: true},
			"opencode run --format json --print-logs --log-level ERROR --session ses_1"},
		{headless.Turn{Action: pawl.AgentAction{Use: "copilot"}, Session: "S"},
			"copilot --output-format json --no-ask-user " + copilotGrants + " --session-id=S --allow-tool=write"},
		{headless.Turn{Action: pawl.AgentAction{Use: "copilot", Model: "m", Args: []string{"--allow-all-tools"}}, Session: "S", Resume: true},
			"copilot --output-format json --no-ask-user " + copilotGrants + " --resume=S --model m --allow-all-tools"},
		{headless.Turn{Action: pawl.AgentAction{Use: "command", Command: "./mine -x"}, Session: "S", Resume: true},
			"/bin/sh -c ./mine -x"},
	} {
		agent, ok := headless.Find(c.turn.Action.Use)
		if !ok {
			t.Fatalf("no agent %q", c.turn.Action.Use)
		}
		if got := strings.Join(agent.Argv(c.turn), " "); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.turn, got, c.want)
		}
	}
}

// TestEveryAgent: the table has each agent that a plan may name, and no other.
func TestEveryAgent(t *testing.T) {
	t.Parallel()
	for _, name := range pawl.AgentNames {
		if agent, ok := headless.Find(name); !ok || agent.Name != name || agent.Program == "" {
			t.Errorf("%s: %+v, %v", name, agent.Name, ok)
		}
	}
	if _, ok := headless.Find("cladue"); ok || slices.Contains(pawl.AgentNames, "") {
		t.Error("an agent without a name")
	}
}

// TestEnviron: an agent that pawl starts inherits the environment, except the variables of another agent's session.
func TestEnviron(t *testing.T) {
	t.Parallel()
	given := []string{"PATH=/bin", "CLAUDECODE=1", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_SESSION_ID=x", "PAWL_RUN=r", "CODEX_HOME=/h", "CODEX_THREAD_ID=y", "OPENCODE=1"}
	want := []string{"PATH=/bin", "CLAUDE_CONFIG_DIR=/c", "PAWL_RUN=r", "CODEX_HOME=/h", "GEMINI_CLI_TRUST_WORKSPACE=true"}
	if got := headless.Environ(given); !slices.Equal(got, want) || given[1] != "CLAUDECODE=1" {
		t.Errorf("%q", got)
	}
}

// FuzzStream: whatever an agent prints, and however it ends, the stream stands and says how that came out.
func FuzzStream(f *testing.F) {
	for i := range pawl.AgentNames {
		f.Add(i, []byte(`{"type":"result","usage":{"input_tokens":-1e300},"stats":7,"data":[],"part":{"tokens":{"cache":null}}}`), 0, "")
		f.Add(i, []byte("\x1b[\n{}\n[1]\nnull\n{\"type\":\"error\",\"message\":\"rate limit, try again in 99999999999 days at 99:99 pm\"}"), 1, "")
		f.Add(i, []byte(`{"type":"assistant","message":{"content":[null,5,{"type":"tool_use","input":{"command":""}}]}}`), -1, "SIGKILL")
	}
	f.Fuzz(func(t *testing.T, which int, out []byte, code int, signal string) {
		if signal != "" {
			signal = "SIGKILL" // the supervisor names it, not the agent
		}
		name := pawl.AgentNames[uint(which)%uint(len(pawl.AgentNames))]
		agent, _ := headless.Find(name)
		stream := agent.Read(headless.Turn{Session: "S", Resume: code%2 == 0, USD: 1})
		for line := range strings.SplitSeq(string(out), "\n") {
			stream.Out([]byte(line))
			stream.Err([]byte(line))
		}
		e := stream.End(headless.Exit{Code: code, Signal: signal}, now)
		good := e.How == headless.Finished || e.How == headless.Denied
		if e.How == "" || good && (code != 0 || signal != "") || !good && e.How != headless.Overspent && e.Why == "" {
			t.Errorf("%s: %+v", name, e)
		}
		if u := stream.Usage(); u.Tokens < 0 || u.USD < 0 || u.USD != u.USD {
			t.Errorf("%s: used %+v", name, u)
		}
		if !e.Reset.IsZero() && !e.Reset.After(now) {
			t.Errorf("%s: reset %s", name, e.Reset)
		}
	})
}
