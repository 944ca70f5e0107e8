package convert

import (
	"strings"
)

// known notes an action that a run does not need, and reports whether it is one.
func (g *github) known(n, uses *node) bool {
	action, _, _ := strings.Cut(uses.Text, "@")
	switch action = strings.ToLower(action); {
	case action == "actions/checkout":
		return g.checkout(n, uses)
	case action == "actions/cache" || strings.HasPrefix(action, "actions/cache/") || strings.HasSuffix(action, "/rust-cache") || action == "gradle/actions/setup-gradle":
		g.note(uses, "uses", "%s: not needed: the files in the project stay", uses.Text)
	case action == "actions/upload-artifact":
		g.note(uses, "uses", "%s: not needed: %s in the project; add outputs to the step that writes it", uses.Text, pathsOf(n, "the files stay"))
	case action == "actions/download-artifact":
		g.note(uses, "uses", "%s: not needed: later steps see the files of earlier ones", uses.Text)
	case tools[action] != "":
		g.note(uses, "uses", "%s: install %s on this machine", uses.Text, withVersion(n, tools[action]))
	case strings.HasPrefix(action, "actions/setup-"):
		g.note(uses, "uses", "%s: install %s on this machine", uses.Text, withVersion(n, strings.TrimPrefix(action, "actions/setup-")))
	default:
		return false
	}
	return true
}

// tools are what actions install.
var tools = map[string]string{
	"actions/setup-node": "Node.js", "actions/setup-python": "Python", "actions/setup-go": "Go", "actions/setup-java": "Java", "actions/setup-dotnet": ".NET",
	"astral-sh/setup-uv": "uv", "pnpm/action-setup": "pnpm", "oven-sh/setup-bun": "Bun", "denoland/setup-deno": "Deno", "ruby/setup-ruby": "Ruby",
	"dtolnay/rust-toolchain": "Rust", "actions-rs/toolchain": "Rust", "actions-rust-lang/setup-rust-toolchain": "Rust", "shivammathur/setup-php": "PHP",
	"hashicorp/setup-terraform": "Terraform", "azure/setup-helm": "Helm", "azure/setup-kubectl": "kubectl", "docker/setup-buildx-action": "Docker with buildx",
	"docker/setup-qemu-action": "QEMU for Docker", "arduino/setup-protoc": "protoc", "extractions/setup-just": "just", "arduino/setup-task": "Task",
	"erlef/setup-beam": "Erlang and Elixir", "julia-actions/setup-julia": "Julia", "r-lib/actions/setup-r": "R", "subosito/flutter-action": "Flutter",
	"gradle/wrapper-validation-action": "nothing",
}

// withVersion returns a tool with the version that an action installs.
func withVersion(n *node, tool string) string {
	for _, f := range fieldsOf(n.Get("with")) {
		if (f.Name == "version" || strings.HasSuffix(f.Name, "-version") || f.Name == "toolchain") && f.Value.Scalar() {
			return tool + " (" + f.Name + ": " + oneLine(f.Value.Text) + ")"
		}
	}
	return tool
}

// pathsOf says which files an action is about.
func pathsOf(n *node, otherwise string) string {
	path := n.Get("with").Get("path")
	if !path.Scalar() {
		return otherwise
	}
	if fields := strings.Fields(path.Text); len(fields) > 0 && !strings.Contains(path.Text, "${{") {
		return strings.Join(fields, ", ") + " stays"
	}
	return otherwise
}

// checkout notes that a run does not need a checkout of its own repository. One of another repository is not converted.
func (g *github) checkout(n, uses *node) bool {
	with := n.Get("with")
	for _, key := range []string{"repository", "ref", "path"} {
		if with.Get(key) != nil {
			g.report(uses.Line, uses.Column, "uses", false, uses.Text+" has "+key+": the step needs a git command")
			return false
		}
	}
	if value := with.Get("submodules"); value != nil && value.Text != "false" {
		g.note(value, "submodules", "run git submodule update --init in the project")
	}
	g.note(uses, "uses", "%s: not needed: pawl runs in the project", uses.Text)
	return true
}
