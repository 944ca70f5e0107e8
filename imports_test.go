package pawl_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers are the layers of the program, each with the layers that it may import from. Imports go in one direction.
var layers = map[string][]string{
	"words":    {},
	"tools":    {"words", "tools"},
	"adapters": {"words", "tools"},
	"runs":     {"words", "tools"},
	"history":  {"words", "tools", "runs"},
	"resume":   {"words", "tools", "runs", "history"},
	"formats":  {"words", "tools", "formats"},
	"interop":  {"words", "tools", "formats", "runs", "history", "resume"},
	"decide":   {"words", "tools", "runs", "history", "resume"},
	"engine":   {"words", "tools", "runs", "history", "resume", "decide"},
	"sessions": {"words", "tools", "runs", "history", "resume"},
	"rebuild":  {"words", "tools", "runs", "history", "resume"},
	"screens":  {"words", "tools", "formats", "runs", "history", "resume", "decide", "engine", "sessions", "rebuild", "screens"},
	"skins":    {"words", "tools", "screens", "formats", "runs", "history", "resume", "decide", "interop", "engine", "sessions", "rebuild"},
	"durable":  {"words", "pawl/internal/journal", "pawl/internal/project", "pawl/internal/disk", "pawl/internal/redact", "runs"},
	"main":     {"words", "tools", "formats", "runs", "history", "resume", "decide", "interop", "adapters", "engine", "sessions", "rebuild", "skins", "durable", "start"},
	"tests":    {"words", "tools", "formats", "runs", "history", "resume", "decide", "interop", "adapters", "engine", "sessions", "rebuild", "skins", "durable", "tests"},
	"start":    {"words", "tools", "formats", "runs", "history", "resume", "decide", "interop", "engine", "sessions", "rebuild", "skins"},
}

// layerOf names the layer of each package. A new package needs a line here.
var layerOf = map[string]string{
	"pawl":                                       "words",
	"pawl/examples/orders":                       "tests",
	"pawl/internal/account":                      "tools",
	"pawl/internal/agents":                       "tools",
	"pawl/internal/agents/headless":              "tools",
	"pawl/internal/attach":                       "tools",
	"pawl/internal/textedit/tomledit":            "tools",
	"pawl/internal/brief":                        "tools",
	"pawl/internal/caller":                       "tools",
	"pawl/internal/config":                       "tools",
	"pawl/internal/outputs":                      "tools",
	"pawl/internal/discover":                     "resume",
	"pawl/internal/disk":                         "tools",
	"pawl/internal/dispatch":                     "tools",
	"pawl/internal/dispatch/dispatchtest":        "tests",
	"pawl/internal/dispatch/order":               "tools",
	"pawl/internal/dispatch/worker":              "tools",
	"pawl/internal/dispatch/courier":             "tools",
	"pawl/internal/evidence":                     "tools",
	"pawl/internal/expression":                   "tools",
	"pawl/internal/git":                          "tools",
	"pawl/internal/httpaccess":                   "tools",
	"pawl/internal/interop/convert":              "formats",
	"pawl/internal/interop/format":               "formats",
	"pawl/internal/interop/format/grid":          "formats",
	"pawl/internal/interop/format/report":        "formats",
	"pawl/internal/interop/format/fileset":       "formats",
	"pawl/internal/interop/format/dotagent":      "formats",
	"pawl/internal/interop/format/gyoshu":        "formats",
	"pawl/internal/interop/format/projectstate":  "formats",
	"pawl/internal/interop/format/sitebuilder":   "formats",
	"pawl/internal/textedit":                     "tools",
	"pawl/internal/textedit/jsonedit":            "tools",
	"pawl/internal/textedit/yamledit":            "tools",
	"pawl/internal/textedit/markdown":            "tools",
	"pawl/internal/oneline":                      "tools",
	"pawl/internal/interop/tables/dump":          "formats",
	"pawl/internal/journal":                      "tools",
	"pawl/internal/operations":                   "tools",
	"pawl/internal/lazyregexp":                   "tools",
	"pawl/internal/markers":                      "tools",
	"pawl/internal/memo":                         "tools",
	"pawl/internal/planfile":                     "tools",
	"pawl/internal/planlint":                     "tools",
	"pawl/internal/planschema":                   "tools",
	"pawl/internal/postgres":                     "tools",
	"pawl/internal/postgres/postgrestest":        "tests",
	"pawl/internal/project":                      "tools",
	"pawl/internal/recovery":                     "tools",
	"pawl/internal/redact":                       "tools",
	"pawl/internal/redact/generate":              "tests",
	"pawl/internal/redact/redacttest":            "tests",
	"pawl/internal/schedule":                     "tools",
	"pawl/internal/schema":                       "tools",
	"pawl/internal/sessionlock":                  "tools",
	"pawl/internal/server/page":                  "tools",
	"pawl/internal/shellwords":                   "tools",
	"pawl/internal/snapshot":                     "tools",
	"pawl/internal/snapshot/ignore":              "tools",
	"pawl/internal/snapshot/pack":                "tools",
	"pawl/internal/snapshot/watch":               "tools",
	"pawl/internal/interop/tables/sqlite":        "formats",
	"pawl/internal/interop/tables/pgtables":      "formats",
	"pawl/internal/strictyaml":                   "tools",
	"pawl/internal/stepenv":                      "tools",
	"pawl/internal/supervise":                    "tools",
	"pawl/internal/supervise/process":            "tools",
	"pawl/internal/transcript":                   "tools",
	"pawl/internal/tokens":                       "tools",
	"pawl/internal/trust":                        "tools",
	"pawl/internal/userdir":                      "tools",
	"pawl/internal/version":                      "tools",
	"pawl/internal/view":                         "tools",
	"pawl/internal/watchdog":                     "tools",
	"pawl/internal/command":                      "tools",
	"pawl/internal/evaluator":                    "adapters",
	"pawl/internal/notify":                       "adapters",
	"pawl/internal/executor/agent":               "adapters",
	"pawl/internal/executor/kernel":              "adapters",
	"pawl/internal/executor/temporal":            "adapters",
	"pawl/internal/executor/events":              "tools",
	"pawl/internal/kernel/runner":                "tools",
	"pawl/internal/cli/kernelcmd":                "screens",
	"pawl/internal/kernel":                       "tools",
	"pawl/internal/notebook":                     "tools",
	"pawl/internal/notebook/display":             "tools",
	"pawl/internal/kernel/jupyter":               "tools",
	"pawl/internal/kernel/bridge":                "tools",
	"pawl/internal/kernel/interpreter":           "tools",
	"pawl/internal/kernel/kerneltest":            "tests",
	"pawl/internal/kernel/protocol":              "tools",
	"pawl/internal/kernel/remote":                "tools",
	"pawl/internal/kernel/variables":             "tools",
	"pawl/internal/kernel/saver":                 "tools",
	"pawl/internal/kernel/variablestest":         "tests",
	"pawl/internal/tracing":                      "adapters",
	"pawl/internal/remote":                       "tools",
	"pawl/internal/remote/address":               "tools",
	"pawl/internal/remote/folder":                "tools",
	"pawl/internal/remote/remotetest":            "tests",
	"pawl/internal/remote/remotetest/servers":    "tests",
	"pawl/internal/remote/oci":                   "tools",
	"pawl/internal/remote/request":               "tools",
	"pawl/internal/remote/s3":                    "tools",
	"pawl/internal/transfer":                     "resume",
	"pawl/internal/cli/workercmd":                "screens",
	"pawl/internal/cli/queuecheck":               "screens",
	"pawl/internal/cli/remotecmd":                "screens",
	"pawl/internal/runs":                         "runs",
	"pawl/internal/history":                      "history",
	"pawl/internal/resume":                       "resume",
	"pawl/internal/interop":                      "interop",
	"pawl/internal/interop/repl":                 "interop",
	"pawl/internal/decide":                       "decide",
	"pawl/internal/decide/rewind":                "decide",
	"pawl/internal/engine":                       "engine",
	"pawl/internal/sessions":                     "sessions",
	"pawl/internal/rebuild":                      "rebuild",
	"pawl/internal/cli":                          "skins",
	"pawl/internal/server":                       "skins",
	"pawl/internal/server/client":                "screens",
	"pawl/internal/server/webhooks":              "screens",
	"pawl/internal/cli/outcome":                  "screens",
	"pawl/internal/cli/remote":                   "screens",
	"pawl/internal/cli/runsview":                 "screens",
	"pawl/internal/cli/background":               "screens",
	"pawl/internal/cli/outputview":               "screens",
	"pawl/internal/cli/promptview":               "screens",
	"pawl/internal/cli/checkpointview":           "screens",
	"pawl/internal/cli/restoreview":              "screens",
	"pawl/internal/cli/forkview":                 "screens",
	"pawl/internal/cli/attachview":               "screens",
	"pawl/internal/cli/pruneview":                "screens",
	"pawl/internal/cli/processview":              "screens",
	"pawl/internal/cli/flags":                    "screens",
	"pawl/internal/cli/doctorview":               "screens",
	"pawl/internal/cli/gateprompt":               "screens",
	"pawl/internal/cli/signals":                  "screens",
	"pawl/internal/cli/logview":                  "screens",
	"pawl/internal/cli/recoverview":              "screens",
	"pawl/internal/cli/helptext":                 "screens",
	"pawl/internal/cli/hints":                    "screens",
	"pawl/internal/cli/layout":                   "screens",
	"pawl/internal/cli/resumeview":               "screens",
	"pawl/internal/cli/statusview":               "screens",
	"pawl/internal/cli/storecmd":                 "screens",
	"pawl/internal/cli/stats":                    "screens",
	"pawl/internal/cli/supply":                   "screens",
	"pawl/internal/cli/userfile":                 "screens",
	"pawl/internal/cli/trustview":                "screens",
	"pawl/internal/cli/permission":               "screens",
	"pawl/internal/cli/quick":                    "screens",
	"pawl/internal/cli/scheduling":               "screens",
	"pawl/internal/cli/serving":                  "screens",
	"pawl/internal/cli/updateview":               "screens",
	"pawl/internal/cli/liveview":                 "screens",
	"pawl/internal/cli/rollbackview":             "screens",
	"pawl/internal/cli/complete":                 "screens",
	"pawl/internal/cli/eventstream":              "screens",
	"pawl/internal/cli/failure":                  "screens",
	"pawl/internal/cli/holder":                   "screens",
	"pawl/internal/cli/worktrees":                "screens",
	"pawl/internal/cli/importview":               "screens",
	"pawl/internal/hook":                         "skins",
	"pawl/internal/mcp":                          "skins",
	"pawl/durable":                               "durable",
	"pawl/internal/faststart":                    "start",
	"pawl/cmd/pawl-hook":                         "main",
	"pawl/cmd/pawl":                              "main",
	"pawl/test/gyoshu":                           "tests",
	"pawl/test/remotes":                          "tests",
	"pawl/test/bench":                            "tests",
	"pawl/test/clients":                          "tests",
	"pawl/internal/agents/agentstest":            "tests",
	"pawl/internal/agents/headless/headlesstest": "tests",
	"pawl/internal/interop/format/formattest":    "tests",
	"pawl/internal/engine/enginetest":            "tests",
	"pawl/internal/disk/disktest":                "tests",
	"pawl/test/cases":                            "tests",
	"pawl/internal/journal/journaltest":          "tests",
	"pawl/test/resumebench":                      "tests",
	"pawl/test/mutations":                        "tests",
	"pawl/test/torture":                          "tests",
	"pawl/test/torture/stored":                   "tests",
	"pawl/test/torture/scripted":                 "tests",
	"pawl/test/torture/observed":                 "tests",
	"pawl/test/machines":                         "tests",
	"pawl/test/machines/machine":                 "tests",
	"pawl/test/kernels":                          "tests",
	"pawl/test/kills/creation":                   "tests",
	"pawl/test/page":                             "tests",
	"pawl/test/kernels/realnotebooks":            "tests",
	"pawl/test/compat":                           "tests",
	"pawl/test/docs":                             "tests",
	"pawl/test/examples":                         "tests",
	"pawl/test/hostile":                          "tests",
	"pawl/test/hooks":                            "tests",
	"pawl/test/kills":                            "tests",
	"pawl/test/stories/stores":                   "tests",
	"pawl/test/stories/cheats":                   "tests",
	"pawl/test/secrets":                          "tests",
	"pawl/test/stories/agents":                   "tests",
	"pawl/test/stories/attach":                   "tests",
	"pawl/test/stories/crashes":                  "tests",
	"pawl/test/stories/edits":                    "tests",
	"pawl/test/stories/gates":                    "tests",
	"pawl/test/stories/handlers":                 "tests",
	"pawl/test/stories/imports":                  "tests",
	"pawl/test/stories/kernels":                  "tests",
	"pawl/test/stories/machines":                 "tests",
	"pawl/test/stories/mirrors":                  "tests",
	"pawl/test/stories/postgres":                 "tests",
	"pawl/test/stories/recovery":                 "tests",
	"pawl/test/stories/remotes":                  "tests",
	"pawl/test/stories/seeds":                    "tests",
	"pawl/test/stories/serve":                    "tests",
	"pawl/test/stories/services":                 "tests",
	"pawl/test/stories/steps":                    "tests",
	"pawl/test/stories/storytest":                "tests",
	"pawl/test/stories/trust":                    "tests",
	"pawl/test/stories/travel":                   "tests",
	"pawl/packaging/manual":                      "tests",
	"pawl/test/packages":                         "tests",
	"pawl/test/notice":                           "tests",
	"pawl/test/notebooks":                        "tests",
	"pawl/test/terminal":                         "tests",
	"pawl/test/stories/terminal":                 "tests",
}

// owners are the packages that may use a foreign library: one each, but for YAML, which the first writes, the second reads
// strictly, and the third changes in place. Libraries that are missing are for tests only.
var owners = map[string]string{
	"github.com/aymanbagabas/go-udiff":       "pawl/internal/snapshot",
	"github.com/clipperhouse/displaywidth":   "pawl/internal/cli/layout",
	"github.com/expr-lang/expr":              "pawl/internal/expression",
	"github.com/fsnotify/fsnotify":           "pawl/internal/journal",
	"github.com/google/jsonschema-go":        "pawl/internal/schema",
	"github.com/danielgtaylor/huma/v2":       "pawl/internal/server",
	"github.com/google/uuid":                 "pawl/internal/project",
	"github.com/klauspost/compress":          "pawl/internal/snapshot/pack",
	"github.com/modelcontextprotocol/go-sdk": "pawl/internal/mcp",
	"github.com/ncruces/go-sqlite3":          "pawl/internal/interop/tables/sqlite",
	"github.com/jackc/pgx/v5":                "pawl/internal/postgres pawl/internal/postgres/postgrestest pawl/test/stories/postgres pawl/test/bench pawl/test/torture/stored",
	"github.com/pressly/goose/v3":            "pawl/internal/postgres pawl/internal/postgres/postgrestest",
	"github.com/aws/aws-sdk-go-v2":           "pawl/internal/remote/s3",
	"github.com/coder/websocket":             "pawl/internal/kernel/remote",
	"github.com/spf13/cobra":                 "pawl/internal/cli pawl/internal/cli/remote pawl/internal/cli/serving pawl/internal/cli/storecmd pawl/internal/cli/remotecmd pawl/internal/cli/workercmd pawl/internal/cli/kernelcmd pawl/packaging/manual",
	"go.opentelemetry.io/otel":               "pawl/internal/tracing",
	"go.yaml.in/yaml/v4":                     "pawl/internal/planfile pawl/internal/strictyaml pawl/internal/textedit/yamledit",
	"golang.org/x/term":                      "pawl/internal/cli pawl/internal/cli/layout pawl/internal/cli/liveview pawl/internal/cli/supply",
	"golang.org/x/sys":                       "", // the system's own interface: whoever needs it
	"github.com/google/go-cmp":               "tests",
	"github.com/chromedp/cdproto":            "tests",
	"github.com/chromedp/chromedp":           "tests",
	"github.com/rogpeppe/go-internal":        "tests",
	"github.com/santhosh-tekuri/jsonschema":  "tests",
	"go.uber.org/goleak":                     "tests",
	"github.com/prometheus/common":           "tests",
	"github.com/prometheus/client_model":     "tests",
	"pgregory.net/rapid":                     "tests",
}

// fileCalls are the functions that open, read, list or change files by path. Everything below .pawl goes through package disk,
// which follows no links there, so a package needs a line in mayUseFiles to call one of them.
var fileCalls = []string{
	"os.Open", "os.OpenFile", "os.ReadFile", "os.Stat", "os.Lstat", "os.ReadDir", "os.WriteFile", "os.Mkdir", "os.MkdirAll", "os.MkdirTemp",
	"os.CreateTemp", "os.Create", "os.Remove", "os.RemoveAll", "os.Rename", "os.Link", "os.Symlink", "os.Readlink", "os.Chmod", "os.Chown",
	"os.Lchown", "os.Chtimes", "os.Truncate", "os.OpenRoot", "os.DirFS", "os.CopyFS", "filepath.Glob", "filepath.Walk", "filepath.WalkDir",
	"unix.Open", "unix.Stat", "unix.Lstat", "unix.Statfs", "syscall.Open", "syscall.Stat", "ioutil.ReadFile",
}

// mayUseFiles says which of fileCalls a package calls, and for what outside .pawl.
var mayUseFiles = map[string]struct{ calls, why string }{
	"pawl/internal/disk":                  {"os.Lstat os.Stat os.OpenFile unix.Open unix.Fstatat unix.Statfs", "it is the owner"},
	"pawl/internal/attach":                {"os.Stat os.ReadDir os.Readlink", "the agents' settings of the user, and their programs"},
	"pawl/internal/cli":                   {"os.Stat os.Lstat", "folders that the user names"},
	"pawl/internal/cli/userfile":          {"os.Stat os.Lstat os.Open os.ReadDir", "plans and pipes that the user names, and files with similar names"},
	"pawl/internal/cli/kernelcmd":         {"os.ReadFile", "files of parameters that the user names"},
	"pawl/internal/kernel/runner":         {"os.MkdirTemp os.RemoveAll os.Stat", "the folder of its socket, whose path must be short"},
	"pawl/internal/evidence":              {"os.Lstat os.ReadDir", "the files of the workspace"},
	"pawl/internal/git":                   {"os.Lstat", "folders that may hold a repository"},
	"pawl/internal/history":               {"os.Stat os.ReadDir", "artifacts, and a folder that the user names"},
	"pawl/internal/hook":                  {"os.Stat os.Lstat", "files that an agent is about to change"},
	"pawl/internal/interop":               {"os.Stat os.Lstat os.ReadDir filepath.WalkDir", "other systems' files"},
	"pawl/internal/interop/tables/sqlite": {"os.Lstat os.Open", "other systems' databases"},
	"pawl/internal/account":               {"os.Stat os.Lstat", "who owns the folders above pawl's files"},
	"pawl/internal/httpaccess":            {"os.Stat", "a token file that the user names"},
	"pawl/internal/kernel/bridge":         {"os.Stat os.ReadFile", "the working folder of a kernel; /proc"},
	"pawl/internal/kernel/interpreter":    {"os.Stat os.ReadDir filepath.Glob", "interpreters, virtual environments, and the names of installed packages"},
	"pawl/internal/kernel/jupyter":        {"os.Stat os.OpenFile os.ReadDir os.ReadFile os.Remove", "kernelspecs, programs, /proc, and the folder of a kernel's sockets"},
	"pawl/internal/memo":                  {"os.Lstat os.ReadDir", "whether files changed, and its folder in the user's state folder"},
	"pawl/internal/outputs":               {"os.Stat os.Lstat os.ReadDir os.Readlink os.DirFS filepath.WalkDir", "outputs of steps in the workspace"},
	"pawl/internal/project":               {"os.Stat os.Lstat os.Open", "folders above .pawl, and a folder that projects share"},
	"pawl/internal/rebuild":               {"os.Stat", "plans of the user"},
	"pawl/internal/redact/generate":       {"os.ReadFile", "a generator; not part of pawl"},
	"pawl/internal/resume":                {"os.Stat unix.Statfs", "plans of the user; the free space"},
	"pawl/internal/schedule":              {"os.Stat os.Readlink", "units of the user's systemd, and plans of the user"},
	"pawl/internal/sessions":              {"os.Stat os.Lstat unix.Lstat filepath.WalkDir", "files of the workspace"},
	"pawl/internal/snapshot":              {"os.Lstat os.ReadDir os.MkdirAll filepath.WalkDir unix.Open unix.Stat unix.Lstat", "the workspace, git's folder, and a folder to export to"},
	"pawl/internal/snapshot/ignore":       {"os.Stat os.Lstat os.OpenFile", "ignore rules of the workspace and git"},
	"pawl/internal/snapshot/watch":        {"os.ReadFile", "/proc"},
	"pawl/internal/supervise": {"os.Stat os.Lstat os.Mkdir os.MkdirTemp os.Open os.OpenFile os.ReadDir os.ReadFile os.Readlink os.Remove os.RemoveAll os.WriteFile",
		"cgroups, /proc, /dev/null, and the program folder in the user's state folder"},
	"pawl/internal/supervise/process": {"os.Open os.ReadDir os.ReadFile os.Readlink unix.Open unix.Stat", "/proc"},
	"pawl/internal/trust":             {"os.Stat os.Lstat os.ReadDir", "the user's state folder, and .pawl itself"},
	"pawl/internal/userdir":           {"os.Stat", "who owns the user's folders"},
	"pawl/internal/version":           {"os.Stat os.Open os.ReadFile", "pawl's own programs"},
}

// TestFilesGoThroughDisk checks that only the packages in mayUseFiles use files without package disk.
func TestFilesGoThroughDisk(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if layer := layerOf[p.ImportPath]; layer == "tests" {
			continue
		}
		may := mayUseFiles[p.ImportPath]
		files := token.NewFileSet()
		for _, name := range append(slices.Clone(p.GoFiles), p.IgnoredGoFiles...) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Obj == nil {
					call := pkg.Name + "." + sel.Sel.Name
					if slices.Contains(fileCalls, call) && !slices.Contains(strings.Fields(may.calls), call) {
						t.Errorf("%s: %s: use package disk, or say in mayUseFiles what for", files.Position(n.Pos()), call)
					}
				}
				return true
			})
		}
	}
}

// TestGitIsRunByOnePackage: only package git starts git, without the settings of a repository that start programs.
func TestGitIsRunByOnePackage(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if layerOf[p.ImportPath] == "tests" || p.ImportPath == "pawl/internal/git" {
			continue
		}
		files := token.NewFileSet()
		for _, name := range append(slices.Clone(p.GoFiles), p.IgnoredGoFiles...) {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				fun, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := fun.X.(*ast.Ident); !ok || pkg.Name != "exec" {
					return true
				}
				for _, arg := range call.Args {
					if text, ok := arg.(*ast.BasicLit); ok && text.Value == `"git"` {
						t.Errorf("%s: use package git", files.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// impure are the standard packages that reach for the world outside. The words never do.
var impure = []string{"os", "net", "syscall", "log", "runtime", "io/fs", "io/ioutil", "path/filepath", "database", "plugin", "testing", "embed"}

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath     string
	Dir            string
	Name           string
	GoFiles        []string
	IgnoredGoFiles []string // those of other systems
	Imports        []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,IgnoredGoFiles,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// TestImportsRunOneWay checks the direction of imports: words ← tools ← adapters ← engine ← skins ← main.
func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		layer, known := layerOf[p.ImportPath]
		if !known {
			t.Errorf("%s has no layer: add it to layerOf in imports_test.go", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			switch {
			case strings.HasPrefix(imported, "pawl"):
				if !slices.Contains(layers[layer], layerOf[imported]) && !slices.Contains(layers[layer], imported) {
					t.Errorf("%s (%s) imports %s (%s)", p.ImportPath, layer, imported, layerOf[imported])
				}
			case foreign(imported):
				if owner := ownerOf(imported); owner != "" && owner != layer && !slices.Contains(strings.Fields(owner), p.ImportPath) {
					t.Errorf("%s imports %s, which %s owns", p.ImportPath, imported, owner)
				}
			case layer == "words" && slices.ContainsFunc(impure, func(name string) bool { return within(imported, name) }):
				t.Errorf("%s imports %s: the words are pure", p.ImportPath, imported)
			}
		}
	}
}

// slowToStart are packages that pawl-hook must not link: their initialization would delay every tool call of an agent.
var slowToStart = []string{
	"crypto/tls", "encoding/gob", "net/http", "text/template",
	"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk", "github.com/spf13/cobra",
	"github.com/ncruces/go-sqlite3",
	"github.com/jackc/pgx/v5", "github.com/pressly/goose/v3",
	"github.com/expr-lang/expr", "go.opentelemetry.io/otel", "pawl/internal/tracing",
	"pawl/internal/cli", "pawl/internal/engine", "pawl/internal/evaluator", "pawl/internal/interop", "pawl/internal/mcp", "pawl/internal/postgres",
}

// TestPawlHookStartsFast checks what the program that agents' hooks start is linked with.
func TestPawlHookStartsFast(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "./cmd/pawl-hook").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for linked := range strings.FieldsSeq(string(out)) {
		if slices.ContainsFunc(slowToStart, func(slow string) bool { return within(linked, slow) }) {
			t.Errorf("pawl-hook links %s", linked)
		}
	}
}

// foreign reports whether an import path is that of neither pawl nor the standard library.
func foreign(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".")
}

// ownerOf returns the package that owns a foreign library, or "nobody".
func ownerOf(path string) string {
	for module, owner := range owners {
		if within(path, module) {
			return owner
		}
	}
	return "nobody"
}

func within(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }

// vague names say nothing of what a package is for.
var vague = []string{"util", "utils", "common", "core", "types", "models", "helpers", "misc", "shared", "base"}

// TestHabits checks what every package keeps to, on every system.
func TestHabits(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s: the name says nothing", p.ImportPath)
		}
		layer, documented := layerOf[p.ImportPath], len(p.GoFiles) == 0 // go doc shows nothing of a package that has only tests
		files := token.NewFileSet()
		for _, name := range append(slices.Clone(p.GoFiles), p.IgnoredGoFiles...) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || file.Doc != nil
			for at, what := range oddities(file, forbidden(p.Name, layer)) {
				t.Errorf("%s: %s", files.Position(at), what)
			}
		}
		if !documented {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

// forbidden returns the calls that a package does without, with the reason.
func forbidden(name, layer string) map[string]string {
	calls := map[string]string{}
	if name != "main" {
		calls["os.Exit"] = "only main exits"
		calls["log.Fatal"], calls["log.Fatalf"] = "only main exits", "only main exits"
	}
	if name != "main" && layer != "tests" {
		calls["context.Background"], calls["context.TODO"] = "take the caller's context", "take the caller's context"
	}
	if layer == "words" {
		for _, clock := range []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"} {
			calls["time."+clock] = "the words read no clock"
		}
	}
	return calls
}

// ofFunction matches a comment that says what a function does.
var ofFunction = regexp.MustCompile(`^([a-z]\w*) (?:returns|reports)\b`)

// oddities returns what a file does that it should not, by place.
func oddities(file *ast.File, forbidden map[string]string) map[token.Pos]string {
	found := map[token.Pos]string{}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.Contains(c.Text, "nolint") {
				found[c.Pos()] = "nolint: mend it instead"
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				found[n.Pos()] = "init() hides what happens at the start"
			}
			if m := ofFunction.FindStringSubmatch(n.Doc.Text()); m != nil && m[1] != n.Name.Name {
				found[n.Pos()] = "the comment of " + n.Name.Name + " names " + m[1]
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Obj == nil {
				if why, bad := forbidden[pkg.Name+"."+n.Sel.Name]; bad {
					found[n.Pos()] = pkg.Name + "." + n.Sel.Name + ": " + why
				}
			}
		}
		return true
	})
	return found
}
