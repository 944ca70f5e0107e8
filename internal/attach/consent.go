package attach

import (
	"path/filepath"
	"slices"
	"strings"
)

// Consent returns where the user's own settings of an agent show that the user let pawl work in the project, "" for nowhere. Files of
// the project prove nothing: they could have arrived with it.
func (p Setup) Consent() string {
	for _, found := range []string{p.claudeConsent(), p.codexConsent()} {
		if found != "" {
			return found
		}
	}
	return ""
}

// claudeConsent returns Claude Code's own file if it names pawl as an MCP server that the user approved in the project.
func (p Setup) claudeConsent() string {
	path := filepath.Join(p.Home, ".claude.json")
	if folder := p.Env("CLAUDE_CONFIG_DIR"); filepath.IsAbs(folder) {
		path = filepath.Join(folder, ".claude.json")
	}
	if isBelow(path, p.Root) {
		return ""
	}
	servers, _ := setting(path, "projects", p.Root, "enabledMcpjsonServers").([]any)
	if !slices.Contains(servers, any(serverName)) {
		return ""
	}
	return path
}

// codexConsent returns Codex's own settings if they name a hook of the project's hooks.json that the user trusted.
func (p Setup) codexConsent() string {
	config, path := p.codexSettings()
	if isBelow(path, p.Root) {
		return ""
	}
	hooks, _ := config.Get("hooks", "state").(map[string]any)
	for name, value := range hooks {
		state, _ := value.(map[string]any)
		if strings.HasPrefix(name, filepath.Join(p.Root, ".codex", "hooks.json")+":") && state["trusted_hash"] != nil && state["enabled"] != false {
			return path
		}
	}
	return ""
}

// isBelow reports whether a path lies in a folder.
func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
