package remote

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/brief"
	"pawl/internal/cli/checkpointview"
	"pawl/internal/cli/flags"
	"pawl/internal/cli/layout"
	"pawl/internal/cli/outcome"
	"pawl/internal/cli/runsview"
	"pawl/internal/cli/signals"
	"pawl/internal/cli/statusview"
	"pawl/internal/server/client"
)

// verb is a command that a server does.
type verb struct {
	flags []string // those that it can have
	do    func(ctx context.Context, s *session, args []string) error
}

// verbs are the commands that work with a server.
var verbs = map[string]verb{
	"status":      {[]string{"json"}, status},
	"gates":       {[]string{"json"}, gates},
	"runs":        {[]string{"json", "all"}, runs},
	"log":         {[]string{"json", "last", "follow"}, log},
	"output":      {[]string{"run", "item", "attempt", "stderr", "follow"}, output},
	"why":         {[]string{"json", "items"}, why},
	"checkpoints": {[]string{"json"}, checkpoints},
	"show":        {[]string{"json", "left-out"}, show},
	"diff":        {[]string{"names", "stat", "json"}, diff},
	"brief":       {[]string{"json", "for", "budget", "since"}, printBrief},

	"approve": {[]string{"message", "run", "yes"}, answer("approve", "approved", func(s *session, _ []string) client.Reply { return client.Reply{Why: s.flag("message")} })},
	"reject": {[]string{"message", "run", "stop"}, answer("deny", "rejected", func(s *session, _ []string) client.Reply {
		return client.Reply{Feedback: s.flag("message"), Stop: s.flag("stop") == "true"}
	})},
	"answer": {[]string{"message", "run"}, answer("answer", "answered", func(s *session, args []string) client.Reply {
		return client.Reply{Option: at(args, 1), Why: s.flag("message")}
	})},

	"resume": {[]string{"background", "json"}, resume},
	"pause":  {[]string{"message"}, pause},
	"stop":   {[]string{"message"}, stop},
	"retry":  {[]string{"message", "run"}, onStep("retry", "queued for retry")},
	"skip":   {[]string{"message", "run", "item"}, onStep("skip", "skipped")},
	"done":   {[]string{"message", "run", "item"}, onStep("done", "marked as done")},
	"review": {[]string{"message", "run", "by", "score"}, review},

	"rollback": {[]string{"to", "plan", "dry-run", "yes", "json"}, rollback},
}

// report returns the status of a run.
func (s *session) report(ctx context.Context, run client.Run) (statusview.Report, error) {
	report, err := s.Status(ctx, run)
	if err == nil {
		report.NameRun(s.onRun(run))
	}
	return report, err
}

func status(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, at(args, 0))
	if err != nil {
		return err
	}
	report, err := s.report(ctx, run)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.print(report)
	}
	return report.Print(s.Out)
}

func gates(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, at(args, 0))
	if err != nil {
		return err
	}
	report, err := s.report(ctx, run)
	if err != nil {
		return err
	}
	for i := range report.Gates {
		report.Gates[i].Note = "" // pawl status reports it
	}
	if s.JSON {
		return s.print(report.Gates)
	}
	var missing []layout.MissingReview
	for _, step := range report.Steps {
		if len(step.Unreviewed) > 0 {
			missing = append(missing, layout.MissingReview{Step: step.ID, From: step.Unreviewed})
		}
	}
	layout.PrintGates(s.Out, report.Gates, missing)
	return nil
}

func runs(ctx context.Context, s *session, _ []string) error {
	projects := []client.Project{s.project}
	if s.flag("all") == "true" {
		var err error
		if projects, err = s.Projects(ctx); err != nil {
			return err
		}
	}
	reports := []runsview.Report{}
	for _, p := range projects {
		lines, err := s.Runs(ctx, p.ID)
		if err != nil {
			return err
		}
		for _, r := range lines {
			report := runsview.Report{
				Run: r.Run, Project: p.Path, Status: r.Status, Percent: r.Percent, Created: r.Created, Updated: r.Updated, Standing: r.Standing,
			}
			if r.Error != "" {
				report.Status, report.Error = "unreadable", r.Error
			}
			reports = append(reports, report)
		}
	}
	if s.JSON {
		return s.print(reports)
	}
	return runsview.Print(s.Out, reports)
}

func log(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, at(args, 0))
	if err != nil {
		return err
	}
	last, err := strconv.Atoi(s.flag("last"))
	if err != nil {
		return err
	}
	after, err := s.events(ctx, run, 0, last)
	if err != nil || s.flag("follow") != "true" {
		return err
	}
	soft, _, release := signals.Contexts(ctx)
	defer release()
	return s.followEvents(soft, run, after)
}

func checkpoints(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, at(args, 0))
	if err != nil {
		return err
	}
	found, err := s.Checkpoints(ctx, run, at(args, 0) == "")
	if err != nil {
		return err
	}
	several := false
	for _, c := range found.Checkpoints {
		several = several || c.Run != run.ID
	}
	if s.JSON {
		return s.print(append([]checkpointview.Report{}, found.Checkpoints...))
	}
	checkpointview.List(s.Out, found.Checkpoints, several)
	return nil
}

func diff(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, "")
	if err != nil {
		return err
	}
	named := len(args)
	if dash := s.command.ArgsLenAtDash(); dash >= 0 {
		named = dash
	}
	d := client.Difference{From: at(args[:named], 0), To: at(args[:named], 1), Paths: args[named:], Form: string(checkpointview.Patch)}
	switch {
	case s.JSON:
		d.Form = "json"
	case s.flag("names") == "true":
		d.Form = string(checkpointview.Paths)
	case s.flag("stat") == "true":
		d.Form = string(checkpointview.Stats)
	}
	text, err := s.Patch(ctx, run, d)
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

func show(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, "")
	if err != nil {
		return err
	}
	if len(args) > 1 {
		text, err := s.File(ctx, run, args[0], args[1])
		if err == nil {
			_, err = s.Out.Write(text)
		}
		return err
	}
	shown, err := s.Checkpoint(ctx, run, args[0], s.flag("left-out") == "true")
	if err != nil {
		return err
	}
	if s.JSON {
		return s.print(shown)
	}
	shown.Print(s.Out, shown.List)
	return nil
}

func why(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, at(args, 0))
	if err != nil {
		return err
	}
	forecast, err := s.Why(ctx, run)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.print(forecast)
	}
	forecast.Print(s.Out, run.ID, s.flag("items") == "true")
	return nil
}

func printBrief(ctx context.Context, s *session, args []string) error {
	run, err := s.run(ctx, at(args, 0))
	if err != nil {
		return err
	}
	reader, err := brief.ParseAudience(s.flag("for"))
	if err != nil {
		return usage("pawl brief --for human", "%v", err)
	}
	budget, err := strconv.Atoi(s.flag("budget"))
	if err != nil {
		return err
	}
	told, err := s.Brief(ctx, run, brief.Options{For: reader, Budget: budget}, s.flag("since"))
	if err != nil {
		return err
	}
	if s.JSON {
		return s.print(told)
	}
	_, err = fmt.Fprint(s.Out, told.Text)
	return err
}

// answer returns a command that answers a gate.
func answer(verb, done string, reply func(s *session, args []string) client.Reply) func(context.Context, *session, []string) error {
	return func(ctx context.Context, s *session, args []string) error {
		if _, err := s.current(ctx, s.flag("run")); err != nil {
			return err
		}
		g, err := s.gate(ctx, args[0])
		if err != nil {
			return err
		}
		if verb == "approve" && s.flag("yes") != "true" && !s.Interactive && g.Type != pawl.DecisionFor {
			return usage("", "approving gate %s; not a terminal: pass --yes to confirm", g.Gate)
		}
		r := reply(s, args)
		r.Shown = g.Shown
		if _, err := s.Answer(ctx, g.ID, verb, r); err != nil {
			return err
		}
		fmt.Fprintln(s.Out, outcome.Gate(g.Gate, done))
		return s.hintContinue(ctx)
	}
}

// gate returns the open gate that a name stands for.
func (s *session) gate(ctx context.Context, name string) (client.OpenGate, error) {
	all, err := s.Gates(ctx, s.project.ID)
	if err != nil {
		return client.OpenGate{}, err
	}
	var found []client.OpenGate
	var ids []string
	for _, g := range all {
		if string(g.Step) == name || strings.HasPrefix(string(g.Gate), name) {
			found = append(found, g)
			ids = append(ids, string(g.Gate))
		}
	}
	switch len(found) {
	case 0:
		return client.OpenGate{}, usage("pawl gates", "no open gate %s", name)
	case 1:
		return found[0], nil
	}
	return client.OpenGate{}, usage("pawl gates", "%q matches %s: %s", name, layout.Count(len(found), "open gate"), strings.Join(ids, ", "))
}

// hintContinue prints the command that continues the current run, unless an engine works on it.
func (s *session) hintContinue(ctx context.Context) error {
	report, err := s.Status(ctx, client.Run{Project: s.project.ID, ID: s.project.Run})
	if err != nil {
		return err
	}
	if report.Engine == nil && report.Next != "" {
		fmt.Fprintf(s.Err, "pawl: hint: %s\n", report.Next)
	}
	return nil
}

// act does an action with the current run.
func (s *session) act(ctx context.Context, run, verb string, a client.Action) (client.Acted, error) {
	if _, err := s.current(ctx, run); err != nil {
		return client.Acted{}, err
	}
	a.Why = s.flag("message")
	return s.Act(ctx, s.project.ID, verb, a)
}

func resume(ctx context.Context, s *session, args []string) error {
	done, err := s.act(ctx, at(args, 0), "resume", client.Action{})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.print(done)
	}
	fmt.Fprintln(s.Out, done.Run)
	fmt.Fprintln(s.Err, "pawl: resumed in background by the server; follow with pawl log")
	return nil
}

func pause(ctx context.Context, s *session, args []string) error {
	done, err := s.act(ctx, at(args, 0), "pause", client.Action{})
	if err != nil {
		return err
	}
	live, err := s.live(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, outcome.Paused(done.Run, live))
	return s.hintContinue(ctx)
}

// live counts the running attempts of the current run.
func (s *session) live(ctx context.Context) (n int, err error) {
	report, err := s.Status(ctx, client.Run{Project: s.project.ID, ID: s.project.Run})
	for _, step := range report.Steps {
		n += len(step.Live)
	}
	return n, err
}

func stop(ctx context.Context, s *session, args []string) error {
	if _, err := s.current(ctx, at(args, 0)); err != nil {
		return err
	}
	live, err := s.live(ctx)
	if err != nil {
		return err
	}
	done, err := s.act(ctx, at(args, 0), "stop", client.Action{})
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, outcome.Stopping(done.Run, live))
	if live > 0 && done.Message != client.Stopping {
		fmt.Fprintln(s.Out, outcome.Stopped(done.Run, live))
	}
	return s.hintContinue(ctx)
}

// onStep returns a command that acts on a step, or on items of it.
func onStep(verb, done string) func(context.Context, *session, []string) error {
	return func(ctx context.Context, s *session, args []string) error {
		a := client.Action{Step: pawl.StepID(args[0]), Items: s.items()}
		acted, err := s.act(ctx, s.flag("run"), verb, a)
		if err != nil {
			return err
		}
		fmt.Fprintln(s.Out, outcome.Step(a.Step, a.Items, done, acted.Run))
		return s.hintContinue(ctx)
	}
}

// review scores a step.
func review(ctx context.Context, s *session, args []string) error {
	score, err := strconv.Atoi(s.flag("score"))
	if err != nil {
		return err
	}
	a := client.Action{Step: pawl.StepID(args[0]), By: s.flag("by"), Score: &score}
	acted, err := s.act(ctx, s.flag("run"), "review", a)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "step %s: score %d by %s (run %s)\n", a.Step, score, a.By, acted.Run)
	return s.hintContinue(ctx)
}

// items returns the values of --item.
func (s *session) items() []string {
	f := s.command.Flags().Lookup("item")
	if f == nil {
		return nil
	}
	value := f.Value
	if named, ok := value.(flags.Named); ok {
		value = named.Value
	}
	if list, ok := value.(interface{ GetSlice() []string }); ok {
		return list.GetSlice()
	}
	return nil
}

// rollback shows what a rollback undoes, and has the server do exactly that.
func rollback(ctx context.Context, s *session, _ []string) error {
	run, err := s.run(ctx, "")
	if err != nil {
		return err
	}
	planned, err := s.Rollback(ctx, run, s.flag("to"), "")
	if err != nil {
		return err
	}
	dry := s.flag("dry-run") == "true"
	if !s.JSON {
		planned.Print(s.Out, func(text string) string { return text })
	}
	if dry && s.JSON {
		return s.print(planned.Report)
	}
	if dry {
		return nil
	}
	err = planned.Confirm(s.flag("yes") == "true", s.flag("plan"), func(effect, _ string) error {
		return usage("", "%s: pass --yes to confirm", effect)
	})
	if err != nil {
		return err
	}
	done, err := s.Rollback(ctx, run, string(planned.Checkpoint), planned.Plan)
	switch {
	case err != nil:
		return err
	case done.Running:
		fmt.Fprintln(s.Err, "pawl: the server continues the rollback; follow with pawl log")
	case !s.JSON:
		done.PrintDone(s.Out, s.Err)
	}
	if s.JSON {
		return s.print(done.Report)
	}
	return nil
}
