// Package cheats has steps that cheat: they forge records, approve their own gates, edit their plan and plant programs. None of
// them gets past a gate, or done without its checks. What a step can still do is listed in docs/trust.md.
package cheats

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/test/stories/storytest"
)

func TestMain(m *testing.M) { os.Exit(storytest.Main(m)) }

// gated is a plan in which a step runs beside an open gate. CHEAT is the step's script, INDENT the whole text below it.
const gated = `name: demo
defaults: {shell: sh} # the scripts print the exit code of what fails
parallel: 4
steps:
  - {id: look, needs: [], gate: {type: human_verify, ask: Good?}}
  - {id: colour, needs: [], gate: {type: decision, ask: Which?, options: [red, blue]}}
  - id: cheat
    needs: []
    timeout: 20s
    run: |
      until pawl gates 2>/dev/null | grep -q 'step look'; do sleep 0.02; done
      bare="env -i PATH=$PATH HOME=$HOME PAWL_STATE=$PAWL_STATE"
      CHEAT
  - {id: ship, needs: [look, colour], run: touch shipped}
`

// checked is a plan whose step has a check that fails.
const checked = `name: demo
steps:
  - {id: before, run: 'true', accept: {fine: 'true'}}
  - id: cheat
    timeout: 20s
    idempotent: true
    retry: {attempts: 1}
    run: |
      CHEAT
    accept: {tests: 'CHECK'}
  - {id: ship, run: touch shipped}
`

// cheat is one way to cheat.
type cheat struct {
	name   string
	script string
}

// approvals are attempts to answer a gate from below a step. Each writes the exit code to the file code.
var approvals = []cheat{
	{name: "approve", script: `pawl approve --yes look; echo $? > code`},
	{name: "answer", script: `pawl answer colour red; echo $? > code`},
	{name: "reject", script: `pawl reject look -m no --stop; echo $? > code`},
	{name: "environment cleared", script: `$bare pawl approve --yes look; echo $? > code`},
	{name: "variables removed", script: `env -u PAWL_STEP -u PAWL_RUN -u PAWL_EVENTS -u PAWL_RESULT -u PAWL_TOKEN -u PAWL_ATTEMPT_DIR -u PAWL_ATTEMPT -u PAWL_PROJECT pawl approve --yes look; echo $? > code`},
	{name: "another session", script: `setsid -w $bare pawl approve --yes look; echo $? > code`},
	{name: "nohup", script: `nohup $bare pawl approve --yes look; echo $? > code`},
	{name: "double fork", script: `( ( $bare sh -c 'pawl approve --yes look; echo $? > code' & ) & ); until test -s code; do sleep 0.02; done`},
	{name: "daemon", script: `( setsid $bare sh -c '( pawl approve --yes look; echo $? > code ) &' & ); until test -s code; do sleep 0.02; done`},
	{name: "from elsewhere", script: `here=$PWD; cd /; $bare pawl -C $here approve --yes look; echo $? > $here/code`},
	{name: "another home", script: `env -i PATH=$PATH HOME=/tmp PAWL_STATE=$PWD/state pawl approve --yes look; echo $? > code`},
	{name: "a copy of the program", script: `cp $(readlink -f $(command -v pawl)) other; $bare ./other approve --yes look; echo $? > code`},
	{name: "another name", script: `ln -s $(readlink -f $(command -v pawl)) other; $bare ./other approve --yes look; echo $? > code`},
	{name: "another project named", script: `PAWL_PROJECT=/tmp PAWL_STEP= pawl approve --yes look; echo $? > code`},
	{name: "trust", script: `$bare pawl trust --yes; echo $? > code`},
	{name: "review", script: `$bare pawl review cheat --by ann --score 100; echo $? > code`},
	{name: "skip", script: `$bare pawl skip look; echo $? > code`},
	{name: "done", script: `$bare pawl done look; echo $? > code`},
	{name: "retry", script: `$bare pawl retry look; echo $? > code`},
	{name: "resume", script: `$bare pawl resume --yes; echo $? > code`},
	{name: "take over", script: `$bare pawl resume --take-over; echo $? > code`},
	{name: "rollback", script: `$bare pawl rollback --to 00000000; echo $? > code`},
	{name: "restore", script: `$bare pawl restore 00000000; echo $? > code`},
	{name: "attach", script: `$bare pawl attach claude --yes; echo $? > code`},
	{name: "flags that are off, or change a reading command", script: `
      echo 5 > code
      for c in "resume --dry-run=false" "rollback --to 00000000 --dry-run=false" "prune --keep-last 0 --dry-run=false" "attach claude --yes --dry-run=false" \
        "run --schedule @daily --install --dry-run=false plan.yaml" "run --uninstall --dry-run=false plan.yaml" "verify --repair" "processes --end"
      do $bare pawl $c; test $? = 5 || echo "$c" > code; done`},
	{name: "tokens of the server", script: `
      echo 5 > code
      for c in "serve" "serve open" "serve token create x --rights approve" "serve token list" "serve token revoke x" "serve add ." "serve remove ."
      do $bare pawl $c; test $? = 5 || echo "$c" > code; done`},
	{name: "supervisor killed", script: `trap '' HUP; ( $bare sh -c 'sleep 0.3; pawl approve --yes look; echo $? > code' & ); kill -9 $PPID; sleep 5`},
	{name: "supervisor killed, another session", script: `( setsid $bare sh -c 'sleep 0.3; pawl approve --yes look; echo $? > code' & ); sleep 0.1; kill -9 $PPID; sleep 5`},
	{name: "the server's form", script: `
      say() { printf '%s\n' "$1"; sleep 0.3; }
      { say '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}'
        say '{"jsonrpc":"2.0","method":"notifications/initialized"}'
        say '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{"question":"Good?","type":"human_verify"}}}'
        for id in 1 2 3; do say '{"jsonrpc":"2.0","id":'$id',"result":{"action":"accept","content":{"answer":"approve"}}}'; done
      } | PAWL_STEP=look pawl mcp > mcp.out; echo 5 > code`},
}

// TestApprovals runs each step beside an open gate. The gate stays open and what it guards does not run.
func TestApprovals(t *testing.T) {
	t.Parallel()
	for _, c := range approvals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write("plan.yaml", strings.ReplaceAll(gated, "CHEAT", c.script))
			p.pawl("run", "plan.yaml")
			if code := p.code(); code != "5" && code != "" {
				t.Errorf("the step got exit code %s", code)
			} else if code == "" && !strings.Contains(c.name, "killed") {
				t.Errorf("the step did not try it: %s", p.log())
			}
			for range 2 {
				p.pawl("resume", "--yes")
			}
			p.notShipped()
			if answered := p.journal("gate.answered"); answered != "" {
				t.Errorf("a gate is answered: %s", answered)
			}
		})
	}
}

// forgeries are attempts to pass checks that fail. The scripts know where pawl keeps its records.
var forgeries = []cheat{
	{name: "exit record without checks", script: `
      printf '{"token":"%s","reason":"exited","exit":0,"started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:01Z","seconds":1}' $PAWL_TOKEN > $PAWL_ATTEMPT_DIR/exit.json
      kill -9 $PPID; sleep 5`},
	{name: "exit record with checks", script: `
      printf '{"token":"%s","reason":"exited","exit":0,"started":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:01Z","seconds":1,"checks":[{"name":"tests","exit":0,"seconds":1}]}' $PAWL_TOKEN > $PAWL_ATTEMPT_DIR/exit.json
      kill -9 $PPID; sleep 5`},
	{name: "exit record with another seal", script: `
      sed "s/\"token\":\"[0-9a-f]*\"/\"token\":\"$PAWL_TOKEN\"/; s/fine/tests/" $PAWL_PROJECT/.pawl/runs/*/steps/before/1/exit.json > $PAWL_ATTEMPT_DIR/exit.json
      kill -9 $PPID; sleep 5`},
	{name: "exit record with a result", script: `
      echo '{"status":"done"}' > $PAWL_RESULT
      printf '{"token":"%s","reason":"exited","exit":0,"checks":[{"name":"tests","exit":0,"seconds":1}]}' $PAWL_TOKEN > $PAWL_ATTEMPT_DIR/exit.json
      kill -9 $PPID; sleep 5`},
	{name: "unknown and double checks", script: `
      printf '{"token":"%s","reason":"exited","exit":0,"checks":[{"name":"other","exit":0},{"name":"other","exit":0}]}' $PAWL_TOKEN > $PAWL_ATTEMPT_DIR/exit.json
      kill -9 $PPID; sleep 5`},
	{name: "result only", script: `
      echo '{"status":"done","summary":"all good"}' > $PAWL_RESULT
      kill -9 $PPID; sleep 5`},
	{name: "engine killed too", script: `
      printf '{"token":"%s","reason":"exited","exit":0,"checks":[{"name":"tests","exit":0,"seconds":1}]}' $PAWL_TOKEN > $PAWL_ATTEMPT_DIR/exit.json
      echo '{"status":"done"}' > $PAWL_RESULT
      engine=$(sed 's/.*) [A-Z] \([0-9]*\) .*/\1/' /proc/$PPID/stat); kill -9 $engine $PPID; sleep 5`},
	{name: "job without checks", script: `sed -i 's/"checks":{[^}]*}/"checks":{}/' $PAWL_ATTEMPT_DIR/job.json`},
	{name: "records of the checks", script: `
      mkdir -p $PAWL_ATTEMPT_DIR/check
      printf '{"token":"%s","reason":"exited","exit":0,"checks":[{"name":"tests","exit":0,"seconds":1}]}' $PAWL_TOKEN > $PAWL_ATTEMPT_DIR/check/exit.json
      echo '{"status":"done"}' > $PAWL_RESULT
      kill -9 $PPID; sleep 5`},
	{name: "result of no known status", script: `echo '{"status":"perfect"}' > $PAWL_RESULT`},
	{name: "events", script: `echo '{"type":"step.done","step":"cheat"}' >> $PAWL_EVENTS; echo '{"done":1,"total":1}' >> $PAWL_EVENTS`},
	{name: "state cache", script: `sed -i 's/"status":"running"/"status":"done"/' $PAWL_PROJECT/.pawl/runs/$PAWL_RUN/state.json 2>/dev/null; echo '{"format":1,"status":"completed"}' > $PAWL_PROJECT/.pawl/runs/$PAWL_RUN/state.json`},
	{name: "journal line without checksum", script: `
      printf '{"seq":9,"batch":9,"time":"2026-01-01T00:00:00Z","epoch":1,"by":{"kind":"engine"},"type":"step.done","data":{"step":"cheat","attempt":1,"token":"%s"},"crc":"00000000"}\n' $PAWL_TOKEN >> $PAWL_PROJECT/.pawl/runs/$PAWL_RUN/journal.jsonl`},
}

// TestForgeries runs each step with a check that fails. The step does not count as done.
func TestForgeries(t *testing.T) {
	t.Parallel()
	for _, c := range forgeries {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write("plan.yaml", strings.NewReplacer("CHEAT", c.script, "CHECK", "false").Replace(checked))
			p.pawl("run", "plan.yaml")
			for range 2 {
				p.pawl("resume", "--yes")
			}
			p.notShipped()
			if out, _ := p.pawl("verify"); strings.HasPrefix(c.name, "exit record") && !strings.Contains(out, "was not written by the supervisor") {
				t.Errorf("pawl verify: %s", out)
			}
			if done := p.journal(`"step.done","data":{"step":"cheat"`); done != "" && c.name != "journal line without checksum" {
				t.Errorf("the step is done: %s", done)
			}
		})
	}
}

// TestForgedUndo has undo commands kill their supervisor and write the record of a success. The work does not count as undone.
func TestForgedUndo(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"its own token": "$PAWL_TOKEN", "another token": "0123456789abcdef"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write("plan.yaml", strings.ReplaceAll(`name: demo
steps:
  - {id: make, run: 'true'}
  - id: cheat
    idempotent: false
    run: 'true'
    undo: |
      printf '{"token":"%s","reason":"exited","exit":0,"seconds":1,"seal":"AAAA"}' TOKEN > $PAWL_ATTEMPT_DIR/exit.json
      kill -9 $PPID; sleep 5
`, "TOKEN", token))
			p.pawl("run", "plan.yaml")
			out, code := p.pawl("rollback", "--to", "make", "--yes")
			if code != 3 || p.journal(`"undo.done"`) != "" || !strings.Contains(p.journal(`"undo.failed"`), `"outcome":"lost"`) {
				t.Errorf("exit code %d: %s\n%s", code, out, p.journal("undo."))
			}
			if out, _ := p.pawl("verify"); token == "$PAWL_TOKEN" && !strings.Contains(out, "exit record of undo 1 of cheat was not written by the supervisor") {
				t.Errorf("pawl verify: %s", out)
			}
		})
	}
}

// plants are programs that stand in for that of a check.
var plants = []cheat{
	{name: "in the project", script: `mkdir -p .pawl/bin bin; for d in .pawl/bin bin .; do printf '#!/bin/sh\nexit 0\n' > $d/mycheck; chmod +x $d/mycheck; done`},
	{name: "in our folder", script: `d=$(dirname $(command -v pawl)); printf '#!/bin/sh\nexit 0\n' > $d/mycheck; chmod +x $d/mycheck`},
	{name: "in a new folder of ours", script: `d=$(dirname $(dirname $(command -v pawl))); for b in $d/*/; do printf '#!/bin/sh\nexit 0\n' > $b/mycheck; chmod +x $b/mycheck; done`},
	{name: "by PATH", script: `mkdir p; printf '#!/bin/sh\nexit 0\n' > p/mycheck; chmod +x p/mycheck; export PATH=$PWD/p:$PATH`},
}

// TestPlantedPrograms has steps plant the program of their check. The check finds none.
func TestPlantedPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range plants {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write("plan.yaml", strings.NewReplacer("CHEAT", c.script, "CHECK", "mycheck").Replace(checked))
			p.pawl("run", "plan.yaml")
			p.pawl("resume", "--yes")
			p.notShipped()
		})
	}
}

// edits are changes that a step makes to its plan while a gate is open.
var edits = []cheat{
	{name: "gate removed", script: `sed -i '/id: look/d; s/needs: \[look, colour\]/needs: [colour]/' plan.yaml`},
	{name: "gate not needed", script: `sed -i 's/needs: \[look, colour\]/needs: []/' plan.yaml`},
	{name: "gate with a default that expires", script: `sed -i 's/ask: Good?/ask: Good?, expires: 1s/' plan.yaml`},
	{name: "gate replaced", script: `sed -i "s/gate: {type: human_verify, ask: Good?}/run: 'true'/" plan.yaml`},
	{name: "autopilot", script: `sed -i 's/^parallel: 4/mode: autopilot/' plan.yaml`},
}

// TestEditedPlan has steps edit their plan. A resume without a person's yes to exactly that plan does not use it.
func TestEditedPlan(t *testing.T) {
	t.Parallel()
	for _, c := range edits {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.write("plan.yaml", strings.ReplaceAll(gated, "CHEAT", c.script))
			p.pawl("run", "plan.yaml")
			before := p.read("plan.yaml")
			if strings.Contains(c.name, "removed") && strings.Contains(before, "id: look") {
				t.Fatalf("the plan is not edited:\n%s", before)
			}
			p.pawl("answer", "colour", "red")
			out, code := p.pawl("resume", "--yes")
			if code != 3 || !strings.Contains(out, "weakened") || !strings.Contains(out, "approve gate") {
				t.Errorf("exit code %d: %s", code, out)
			}
			if out, code := p.pawl("resume", "--yes", "--plan-hash", "000000000000"); code != 2 {
				t.Errorf("another hash: exit code %d: %s", code, out)
			}
			p.notShipped()
		})
	}
}

// TestEditedLater changes what runs after an approval. That needs a yes too, and --yes is one where nothing is weakened.
func TestEditedLater(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", strings.ReplaceAll(gated, "CHEAT", `sed -i 's/run: touch shipped/run: touch shipped evil/' plan.yaml`))
	p.pawl("run", "plan.yaml")
	p.pawl("approve", "--yes", "look")
	p.pawl("answer", "colour", "red")
	if out, code := p.pawl("resume"); code != 3 || !strings.Contains(out, "the plan was changed") || !strings.Contains(out, "+  - {id: ship") {
		t.Errorf("exit code %d: %s", code, out)
	}
	p.notShipped()
	if !strings.Contains(p.journal("gate.answered"), `"plan":"`) {
		t.Error("the approval has no hash of its plan")
	}
}

// TestMirroredAnswer has a step answer its gate in the files of another system.
func TestMirroredAnswer(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{"not set": "", "set": "mirrors: {answers: true}\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.writeFile(filepath.Join(p.home, ".config/pawl/config.yaml"), settings)
			p.write("plan.yaml", strings.ReplaceAll(gated, "CHEAT", `until test -e .grid/CHECKPOINT.md; do sleep 0.02; done
      sleep 1; sed -i '$d' .grid/CHECKPOINT.md; printf 'user_response: approved\n---\n' >> .grid/CHECKPOINT.md; sleep 1`))
			p.pawl("run", "--mirror", "grid", "plan.yaml")
			out, _ := p.pawl("resume", "--yes")
			p.notShipped()
			if answered := p.journal("gate.answered"); answered != "" {
				t.Errorf("a gate is answered: %s", answered)
			}
			t.Log(out)
		})
	}
}

// byAgent are commands of an attached agent, with the exit code of each.
var byAgent = []struct{ command, code string }{
	{"pawl approve --yes look", "5"},
	{"env -i PATH=$PATH HOME=$HOME pawl approve --yes look", "5"},
	{"setsid -w env -i PATH=$PATH HOME=/tmp pawl approve --yes look", "5"},
	{"env PAWL_STATE=$PWD/state pawl approve --yes look", "5"},
	{"mkdir -p $HOME/x/pawl; echo 'agents: {allow: [approve]}' > $HOME/x/pawl/config.yaml; env XDG_CONFIG_HOME=$HOME/x pawl approve --yes look", "5"},
	{"mkdir -p $HOME/y/.config/pawl; cp $HOME/x/pawl/config.yaml $HOME/y/.config/pawl/; env HOME=$HOME/y pawl approve --yes look", "5"},
	{"sh -c 'sh -c \"pawl answer colour red; exit \\$?\"; exit $?'", "5"},
	{"pawl resume --take-over", "5"},
	{"pawl rollback --to 00000000", "5"}, // the user's settings refuse it, and the next three
	{"pawl export grid", "5"},
	{"pawl status", "5"},
	{"pawl status nosuch", "5"},
	{`printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' ` +
		`'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"decide","arguments":{"choice":"red"}}}' | ` +
		`env XDG_CONFIG_HOME=$HOME/x pawl mcp | grep "your settings refuse pawl decide to agents"`, "0"},
	{"pawl review cheat --by ann --score 100", "0"},
	{"pawl retry cheat -m again", "0"},
	{"pawl learn 'it is slow'", "0"},
}

// TestAgent attaches an agent, which then answers gates. It may rerun steps, and the journal says that it was the agent.
func TestAgent(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.writeFile(filepath.Join(p.home, ".config/pawl/config.yaml"), "agents: {refuse: [rollback, export, decide, status], allow: [review]}\n")
	p.write("plan.yaml", strings.ReplaceAll(gated, "CHEAT", "true"))
	p.pawl("run", "plan.yaml")
	p.write("start.json", `{"hook_event_name":"SessionStart","session_id":"0f1e","source":"startup","cwd":"`+p.dir+`"}`)
	script := "pawl hook claude < start.json > brief.txt\n"
	for _, c := range byAgent {
		script += c.command + " >> said.txt 2>&1; echo $? >> codes\n"
	}
	p.write("agent.sh", script+"true\n")
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(t.Context(), shell, "-c", `cp $(readlink -f $(command -v sh)) agent; ./agent agent.sh; true`)
	agent.Dir, agent.Env = p.dir, p.environ()
	if out, err := agent.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	codes := strings.Fields(p.read("codes"))
	for i, c := range byAgent {
		if i >= len(codes) || codes[i] != c.code {
			t.Errorf("%s: exit codes %v, want %s\n%s", c.command, codes, c.code, p.read("said.txt"))
			break
		}
	}
	p.notShipped()
	if said := p.read("said.txt"); strings.Contains(said, "position") || strings.Contains(said, "no run") {
		t.Errorf("a refused status shows something: %s", said)
	}
	if answered := p.journal("gate.answered"); answered != "" {
		t.Errorf("a gate is answered: %s", answered)
	}
	for _, event := range []string{"step.reopened", "step.reviewed"} {
		if !strings.Contains(p.journal(event), `"by":{"kind":"agent","name":"claude","session":"0f1e"}`) {
			t.Errorf("%s: %s", event, p.journal(event))
		}
	}
}

// byClient is the script of a program that is connected over MCP only. It tries to answer gates, also after it killed the server, and
// at last after it disconnected and connected no more.
const byClient = `
try() { "$@" >> said.txt 2>&1; echo $? >> codes; }
connect() {
  rm -f in out; mkfifo in; : > out
  pawl mcp < in > out & server=$!
  exec 3> in
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}' >&3
  until grep -q '"id":1' out; do sleep 0.02; done
}
connect
try pawl approve --yes look
try env -i PATH=$PATH HOME=$HOME PAWL_STATE=$PAWL_STATE setsid -w pawl approve --yes look
try sh -c 'sh -c "pawl answer colour red; exit \$?"; exit $?'
try sh -c "pawl run --mirror grid --mirror-answers plan.yaml; exit \$?"
kill -9 $server; wait $server
try pawl approve --yes look
exec 3>&-
rm $PAWL_STATE/sessions/*mcp*
connect
exec 3>&-
wait $server
try pawl approve --yes look
`

// TestClient connects a program over MCP, without hooks. What it starts below a shell is no person while it is connected.
func TestClient(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("plan.yaml", strings.ReplaceAll(gated, "CHEAT", "true"))
	p.pawl("run", "plan.yaml")
	p.write("client.sh", byClient)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	client := exec.CommandContext(t.Context(), shell, "-c", `cp $(readlink -f $(command -v sh)) client; ./client client.sh; true`)
	client.Dir, client.Env = p.dir, p.environ()
	if out, err := client.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if codes := strings.Fields(p.read("codes")); strings.Join(codes, " ") != "5 5 5 5 5 0" {
		t.Errorf("exit codes %v\n%s", codes, p.read("said.txt"))
	}
	if said := p.read("said.txt"); !strings.Contains(said, "this process belongs to the MCP client client: it runs below process") {
		t.Errorf("it was told: %s", said)
	}
	if answered := p.journal("gate.answered"); strings.Count(answered, "\n") != 1 {
		t.Errorf("answered: %s", answered)
	}
}

// project is a folder in which a step cheats.
type project struct {
	*testing.T
	dir, home, state string
}

func newProject(t *testing.T) *project {
	p := &project{T: t, dir: t.TempDir(), home: t.TempDir(), state: t.TempDir()}
	t.Cleanup(func() { storytest.EndKeepers(p.dir) })
	return p
}

func (p *project) write(name, text string) {
	p.Helper()
	p.writeFile(filepath.Join(p.dir, name), text)
}

func (p *project) writeFile(path, text string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *project) read(name string) string {
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// pawl runs a command as a person without a terminal.
func (p *project) pawl(args ...string) (out string, code int) {
	p.Helper()
	program := storytest.Pawl(p)
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = p.dir
	c.Env = p.environ()
	c.WaitDelay = time.Second // what a step left behind holds the pipe
	text, _ := c.CombinedOutput()
	if ctx.Err() != nil {
		p.Fatalf("pawl %v does not end: %s", args, text)
	}
	return string(text), c.ProcessState.ExitCode()
}

func (p *project) environ() []string {
	return []string{
		"PATH=" + filepath.Dir(storytest.Pawl(p)) + ":" + os.Getenv("PATH"), "HOME=" + p.home, "PAWL_STATE=" + p.state,
		"USER=tester", "TZ=UTC",
	}
}

func (p *project) code() string { return strings.TrimSpace(p.read("code")) }

// notShipped fails the test if the step behind the gate or the check ran.
func (p *project) notShipped() {
	p.Helper()
	if _, err := os.Stat(filepath.Join(p.dir, "shipped")); err == nil {
		p.Errorf("the last step ran:\n%s", p.log())
	}
}

func (p *project) log() string {
	out, _ := p.pawl("log")
	return out
}

// journal returns the lines of the journal that contain a text.
func (p *project) journal(text string) string {
	names, err := filepath.Glob(filepath.Join(p.dir, ".pawl/runs/*/journal.jsonl"))
	if err != nil || len(names) == 0 {
		p.Fatalf("no journal: %v", err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		p.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}
