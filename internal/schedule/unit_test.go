package schedule

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func job(t *testing.T, root, plan string, args ...string) Job {
	t.Helper()
	cron, err := ParseCron("30 6 * * 1-5")
	if err != nil {
		t.Fatal(err)
	}
	return Job{
		Project: "01a2", Root: root, Plan: filepath.Join(root, plan), Cron: cron, Program: "/usr/bin/pawl",
		Args: append([]string{"-C", root, "run"}, append(args, filepath.Join(root, plan))...), Env: []string{"PATH=/usr/bin:" + root},
	}
}

// odd are names that systemd, cron or sh would change if they were not escaped.
var odd = []string{
	"plain", "with space", `"quoted" 'twice'`, `back\slash`, `ends\`, "100%d %h", "$HOME ${HOME} $$", "a;b|c&d", "#no comment", "äöü", "*?[a]", "~", "-n", `\x41\n`,
}

func TestUnits(t *testing.T) {
	t.Parallel()
	service, timer := job(t, "/home/you/my work", "daily.yaml", "--update").Units()
	wantService := `# Written by pawl run --install. To remove it: pawl -C '/home/you/my work' run --uninstall daily.yaml
[Unit]
Description=pawl run daily.yaml (in /home/you/my work)

[Service]
Type=oneshot
Environment="PATH=/usr/bin:/home/you/my work"
ExecStart=/usr/bin/pawl "-C" "/home/you/my work" "run" "--update" "/home/you/my work/daily.yaml"
# Steps survive the engine; a run that waits for a person has not failed.
KillMode=process
SuccessExitStatus=3
TimeoutStartSec=infinity

[X-Pawl]
Project=01a2
Root="/home/you/my work"
Plan="daily.yaml"
Schedule=30 6 * * 1-5
`
	wantTimer := `# Written by pawl run --install: 30 6 * * 1-5
[Unit]
Description=pawl run daily.yaml (in /home/you/my work)

[Timer]
OnCalendar=Mon..Fri *-*-* 06:30:00
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target

[X-Pawl]
Project=01a2
Root="/home/you/my work"
Plan="daily.yaml"
Schedule=30 6 * * 1-5
`
	if service != wantService {
		t.Errorf("service:\n%s", service)
	}
	if timer != wantTimer {
		t.Errorf("timer:\n%s", timer)
	}
}

// TestOddNamesReachTheProgram reads the units as systemd.syntax(7) and systemd.service(5) say, and runs the crontab line in sh.
func TestOddNamesReachTheProgram(t *testing.T) {
	t.Parallel()
	for _, name := range odd {
		j := job(t, "/w/"+name, name+".yaml", "--param", "x="+name)
		if err := j.Check(); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		service, timer := j.Units()
		for line := range strings.Lines(service + timer) {
			if strings.HasSuffix(line, "\\\n") {
				t.Errorf("%q: the line continues: %s", name, line)
			}
			if rest, found := strings.CutPrefix(line, "ExecStart="); found {
				if got, want := systemdWords(t, rest, true), append([]string{j.Program}, j.Args...); !slices.Equal(got, want) {
					t.Errorf("%q: %q, want %q", name, got, want)
				}
			}
			if rest, found := strings.CutPrefix(line, "Environment="); found {
				if got := systemdWords(t, rest, false); !slices.Equal(got, j.Env) {
					t.Errorf("%q: %q, want %q", name, got, j.Env)
				}
			}
		}
		_, command, _ := strings.Cut(j.Crontab(), "1-5 ")
		command = strings.ReplaceAll(command, `\%`, "%") // as cron does
		command = strings.Replace(command, " "+j.Program+" ", ` printf '%s\n' "$PATH" `, 1)
		command = strings.Replace(command, "PATH=", "export PATH=", 1)
		command = strings.Replace(command, " printf", "; printf", 1)
		out, err := exec.Command("/bin/sh", "-c", command).CombinedOutput()
		want := strings.Join(append([]string{strings.TrimPrefix(j.Env[0], "PATH=")}, j.Args...), "\n") + "\n"
		if err != nil || string(out) != want {
			t.Errorf("%q: %v: %q, want %q", name, err, out, want)
		}
		checkUnits(t, j)
	}
}

// systemdWords splits a line as systemd does: quotes, C escapes, specifiers and, for a command, variables.
func systemdWords(t *testing.T, line string, command bool) (words []string) {
	t.Helper()
	line = strings.TrimSuffix(line, "\n")
	word, inside, begun := []byte{}, false, false
	for i := 0; i < len(line); i++ {
		next := byte(0)
		if i+1 < len(line) {
			next = line[i+1]
		}
		switch c := line[i]; {
		case c == '"':
			inside, begun = !inside, true
		case c == ' ' && !inside:
			if begun {
				words = append(words, string(word))
			}
			word, begun = nil, false
		case c == '\\' && (next == '\\' || next == '"'), c == '%' && next == '%', c == '$' && next == '$' && command:
			word, i = append(word, next), i+1
		case c == '\\' || c == '%' || c == '$' && command:
			t.Fatalf("%s: %c at %d is not escaped", line, c, i)
		default:
			word, begun = append(word, c), true
		}
	}
	return append(words, string(word))
}

// checkUnits asks systemd, where it is installed, for what it does not understand.
func checkUnits(t *testing.T, j Job) {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	folder := t.TempDir()
	j.Program = "/bin/true"
	service, timer := j.Units()
	for suffix, text := range map[string]string{".service": service, ".timer": timer} {
		if err := os.WriteFile(filepath.Join(folder, j.Name()+suffix), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command(program, "verify", "--man=no", filepath.Join(folder, j.Name()+".timer")).CombinedOutput() // it fails where no manager runs
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, j.Name()) && !strings.Contains(line, "Description") {
			t.Errorf("%s", line)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, root := range []string{"/a", "/b"} {
		for _, plan := range []string{"daily.yaml", "sub/daily.yaml", "Über Plan!.yaml", strings.Repeat("long", 40) + ".yaml"} {
			j := job(t, root, plan)
			j.Project = root
			name := j.Name()
			if seen[name] || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				t.Errorf("%s %s: %s", root, plan, name)
			}
			seen[name] = true
			j.Root, j.Plan = "/moved", filepath.Join("/moved", plan)
			if j.Name() != name {
				t.Errorf("%s: a moved project gets another name", plan)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"line\nbreak", "tab\t", "not\xffutf8"} {
		if err := job(t, "/w", name).Check(); err == nil {
			t.Errorf("%q is not refused", name)
		}
	}
	j := job(t, "/w", "p.yaml")
	j.Program = "/opt/my tools/pawl"
	if err := j.Check(); err == nil {
		t.Error("a program with a space is not refused")
	}
}
