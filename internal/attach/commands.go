package attach

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
)

// command is a command that users type in an agent to resume work with pawl: pawl's own, and those by which the users of another
// system know that.
type command struct {
	path   string // its file below the agent's folder of commands, without extension
	system string // it is installed where there are files of this system; empty: everywhere
	about  string
	only   string // how an import is limited to what the user names
}

var commands = []command{
	{"pawl/resume", "", "Resume interrupted work with pawl", ""},
	{"grid/resume", "grid", "Resume an interrupted mission of The Grid with pawl", ""},
	{"develop", "dotagent", "Check for an unfinished dotagent workflow and resume it with pawl", ""},
	{"dispatch-sitebuilder", "sitebuilder", "Resume the tasks of sitebuilder agents with pawl ({type} --resume)",
		" If the user named an agent type or a task, add `--only NAME` to both."},
}

// Texts of commands, with {{about}}, {{import}} and {{arguments}}.
var (
	//go:embed files/resume.md
	resumeText string
	//go:embed files/resume-command.md
	resumeMarkdown string
	//go:embed files/resume-command.toml
	resumeTOML string
)

// commandFiles are the files of all commands in an agent's folder of commands. between is what the agent puts between the parts of a
// command's name.
func (p Setup) commandFiles(folder, ext, head, arguments, between string) (files []target) {
	for _, c := range commands {
		source := "If `{{pawl}} status` lists unfinished work of another system, show the user what its command with `--dry-run` prints, and import it if they agree."
		if c.system != "" {
			source = "Run `{{pawl}} import " + c.system + " --dry-run` and show it to the user. If its work is unfinished and `{{pawl}} status` has no run of it, ask whether to run `{{pawl}} import " + c.system + "`." + c.only
		}
		text := strings.ReplaceAll(head, "{{resume}}", strings.TrimSpace(resumeText))
		text = strings.NewReplacer("{{about}}", c.about, "{{import}}", source).Replace(text)
		file := p.file(filepath.Join(folder, filepath.FromSlash(c.path)+ext), text, arguments)
		file.edits = []edit{whole{content: file.edits[0].(whole).content, command: "/" + strings.ReplaceAll(c.path, "/", between), system: c.system}}
		files = append(files, file)
	}
	return files
}

// command returns the command that a file is, as users type it, and the system that it is for; empty if it is none.
func (t target) command() (name, system string) {
	if w, ok := t.edits[0].(whole); ok {
		return w.command, w.system
	}
	return "", ""
}

// unwanted reports whether attach leaves out a command: that of a system without files here, or one that somebody else has
// installed. It notes the latter.
func (d *Edits) unwanted(t target, old *fileRecord) bool {
	name, system := t.command()
	if name == "" || old != nil {
		return false
	}
	if system != "" && !slices.Contains(d.setup.Systems, system) {
		return true
	}
	file, err := readSettings(t.path)
	if err != nil || isBlank(file.data) || t.edits[0].(whole).ours(file.data) {
		return false
	}
	d.Notes = append(d.Notes, d.shown(t.path)+" is a command of yours: unchanged; "+name+" does not call pawl")
	return true
}
