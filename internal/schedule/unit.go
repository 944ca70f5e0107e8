package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"pawl/internal/shellwords"
	"slices"
	"strings"
	"unicode"
)

// Job is a plan of a project that is run at set times.
type Job struct {
	Project string // id
	Root    string // the project's folder
	Plan    string // path of the plan file, absolute
	Cron    Cron
	Program string   // path of pawl
	Args    []string // of pawl
	Env     []string // NAME=value, for pawl: what systemd and cron do not pass on
}

// Check returns an error if a path or value cannot be written into a unit or a crontab.
func (j Job) Check() error { return check(j.Program, []string{j.Root, j.Plan}, j.Args, j.Env) }

func check(program string, texts ...[]string) error {
	for _, text := range append(slices.Concat(texts...), program) {
		if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 || strings.ToValidUTF8(text, "") != text {
			return fmt.Errorf("%q has a control character or is not UTF-8: neither systemd nor cron can pass it on", text)
		}
	}
	if strings.ContainsAny(program, "$ \"'\\") {
		return fmt.Errorf("the path of pawl, %s, has a character that systemd does not allow there: install pawl elsewhere", program)
	}
	return nil
}

// Name returns the name of the job's units, without suffix. It is the same for the same project and plan.
func (j Job) Name() string {
	sum := sha256.Sum256([]byte(j.Project + "\x00" + j.plan()))
	return prefix + slug(strings.TrimSuffix(filepath.Base(j.Plan), filepath.Ext(j.Plan))) + "-" + hex.EncodeToString(sum[:6])
}

const prefix = "pawl-"

// plan returns the path of the plan, relative to the project if it is there.
func (j Job) plan() string {
	if rel, err := filepath.Rel(j.Root, j.Plan); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return j.Plan
}

// slug returns the letters and digits of a name, for the name of a unit.
func slug(name string) string {
	const most = 32
	safe := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	return strings.Trim(safe[:min(len(safe), most)], "-")
}

// Units returns the content of the service and of the timer.
func (j Job) Units() (service, timer string) {
	var s, t strings.Builder
	describe := fmt.Sprintf("pawl run %s (in %s)", j.plan(), j.Root) // a line must not end with a backslash
	fmt.Fprintf(&s, "# Written by pawl run --install. To remove it: pawl -C %s run --uninstall %s\n", shellwords.Word(j.Root), shellwords.Word(j.plan()))
	fmt.Fprintf(&s, "[Unit]\nDescription=%s\n\n[Service]\nType=oneshot\n", percents(describe))
	writeCommand(&s, j.Program, j.Args, j.Env)
	s.WriteString("# Steps survive the engine; a run that waits for a person has not failed.\nKillMode=process\nSuccessExitStatus=3\nTimeoutStartSec=infinity\n")
	s.WriteString(j.record())
	fmt.Fprintf(&t, "# Written by pawl run --install: %s\n[Unit]\nDescription=%s\n\n[Timer]\n", j.Cron, percents(describe))
	for _, calendar := range j.Cron.OnCalendar() {
		fmt.Fprintf(&t, "OnCalendar=%s\n", calendar)
	}
	t.WriteString("AccuracySec=1s\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n")
	t.WriteString(j.record())
	return s.String(), t.String()
}

// writeCommand writes the lines of a service that say what it runs.
func writeCommand(b *strings.Builder, program string, args, env []string) {
	for _, assignment := range env {
		fmt.Fprintf(b, "Environment=%s\n", quoted(assignment))
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = strings.ReplaceAll(quoted(arg), "$", "$$")
	}
	fmt.Fprintf(b, "ExecStart=%s %s\n", percents(program), strings.Join(words, " "))
}

// record returns the section that says whose unit it is. systemd ignores sections that begin with X-.
func (j Job) record() string {
	return fmt.Sprintf("\n[X-Pawl]\nProject=%s\nRoot=%q\nPlan=%q\nSchedule=%s\n", j.Project, j.Root, j.plan(), j.Cron)
}

// Crontab returns the job as a line for crontab(5).
func (j Job) Crontab() string {
	words := make([]string, 0, len(j.Env)+len(j.Args)+1)
	for _, assignment := range j.Env {
		name, value, _ := strings.Cut(assignment, "=")
		words = append(words, name+"="+shellwords.Word(value))
	}
	words = append(words, shellwords.Word(j.Program))
	for _, arg := range j.Args {
		words = append(words, shellwords.Word(arg))
	}
	return j.Cron.String() + " " + strings.ReplaceAll(strings.Join(words, " "), "%", `\%`)
}

// percents escapes specifiers.
func percents(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// quoted returns a word for a unit file.
func quoted(word string) string {
	return `"` + percents(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word)) + `"`
}
