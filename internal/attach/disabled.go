package attach

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/disk"
	"pawl/internal/textedit/jsonedit"
)

// disabled reports settings that disable hooks.
func (e *examination) disabled() {
	switch e.agent.name {
	case "claude":
		e.claudeOff()
	case "codex":
		if config, path := e.setup.codexSettings(); config.Get("features", "hooks") == false {
			e.report(pawl.Bad, path, "remove hooks = false from [features] there", "hooks are disabled (features.hooks is false)")
		}
	case "gemini":
		e.geminiOff()
	case "copilot":
		home := e.setup.home("COPILOT_HOME", ".copilot")
		for _, path := range []string{filepath.Join(home, "settings.json"), e.inProject(".github/copilot/settings.json"), e.inProject(".github/copilot/settings.local.json")} {
			e.offWhere(path, true, "disableAllHooks")
		}
	}
}

func (e *examination) claudeOff() {
	home := e.setup.home("CLAUDE_CONFIG_DIR", ".claude")
	managed := []string{"/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"}
	own := []string{filepath.Join(home, "settings.json"), e.inProject(".claude/settings.json"), e.inProject(".claude/settings.local.json")}
	for _, path := range append(own, managed...) {
		e.offWhere(path, true, "disableAllHooks")
		e.offWhere(path, true, "allowManagedHooksOnly")
	}
}

// geminiOff checks the settings that disable hooks, all or by name; older versions used hooks.enabled.
func (e *examination) geminiOff() {
	for _, path := range []string{filepath.Join(e.setup.geminiHome(), "settings.json"), e.inProject(".gemini/settings.json"), "/etc/gemini-cli/settings.json"} {
		e.offWhere(path, false, "hooksConfig", "enabled")
		e.offWhere(path, false, "hooks", "enabled")
		names, _ := setting(path, "hooksConfig", "disabled").([]any)
		if slices.Contains(names, any(geminiName)) {
			e.report(pawl.Bad, path, "run gemini, type /hooks enable "+geminiName, "the hooks named %s are disabled (hooksConfig.disabled)", geminiName)
		}
	}
}

// offWhere reports a setting that disables hooks.
func (e *examination) offWhere(path string, off bool, keys ...string) {
	if path != "" && setting(path, keys...) == any(off) {
		name := keys[0]
		for _, key := range keys[1:] {
			name += "." + key
		}
		e.report(pawl.Bad, path, "remove "+name+" there", "hooks are disabled (%s is %v)", name, off)
	}
}

// inProject is a path in the project, empty where there is none.
func (e *examination) inProject(path string) string {
	if e.setup.Root == "" {
		return ""
	}
	return filepath.Join(e.setup.Root, path)
}

// setting returns a value of a settings file, nil if it is missing or the file cannot be read.
func setting(path string, keys ...string) any {
	if path == "" {
		return nil
	}
	data, err := disk.ReadFile(path, largest)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	doc, err := jsonedit.ReadJSONC(data)
	if err != nil {
		return nil
	}
	v := doc.Root.Get(keys...)
	if v == nil {
		return nil
	}
	return v.Decode()
}

// trusted reports hooks and folders that the user has not trusted yet.
func (e *examination) trusted() {
	switch {
	case e.agent.name == "codex":
		e.codexTrust()
	case e.scope != Project:
	case e.agent.name == "gemini":
		e.geminiTrust()
	case e.agent.name == "copilot":
		e.copilotTrust()
	}
}

// copilotTrust checks whether Copilot CLI trusts the folder or one above. Older versions wrote trusted_folders.
func (e *examination) copilotTrust() {
	if e.setup.Env("COPILOT_ALLOW_ALL") == "true" {
		return
	}
	path := filepath.Join(e.setup.home("COPILOT_HOME", ".copilot"), "config.json")
	for _, key := range []string{"trustedFolders", "trusted_folders"} {
		folders, _ := setting(path, key).([]any)
		for _, folder := range folders {
			if folder, ok := folder.(string); ok && isBelow(e.setup.Root, folder) {
				return
			}
		}
	}
	e.report(pawl.Warn, path, "run copilot in the project and choose to trust the folder for future sessions",
		"this folder is not trusted, so Copilot CLI runs none of its hooks; `copilot -p` does not ask")
}

func (e *examination) codexTrust() {
	config, path := e.setup.codexSettings()
	never, other, off := untrusted(config, e.hooksIn, e.trusts)
	const hint = "run codex, type /hooks and trust those of pawl"
	if never > 0 {
		e.report(pawl.Warn, path, hint, "%d of %d hooks do not run: they are not trusted yet", never, len(e.trusts))
	}
	if other > 0 {
		e.report(pawl.Warn, path, hint, "%d of %d hooks do not run: they have changed since they were trusted", other, len(e.trusts))
	}
	if off > 0 {
		e.report(pawl.Warn, path, "run codex, type /hooks and enable those of pawl", "%d of %d hooks are disabled", off, len(e.trusts))
	}
	if e.scope == Project && config.Get("projects", e.setup.Root, "trust_level") != "trusted" {
		e.report(pawl.Warn, path, "run codex in the project and trust the folder", "this folder is not trusted, so Codex does not read its .codex/")
	}
}

// geminiTrust checks whether Gemini CLI trusts the folder. It trusts all folders if the check is disabled.
func (e *examination) geminiTrust() {
	home := e.setup.geminiHome()
	if setting(filepath.Join(home, "settings.json"), "security", "folderTrust", "enabled") == false {
		return
	}
	path := filepath.Join(home, "trustedFolders.json")
	rules, _ := setting(path).(map[string]any)
	if !geminiTrusts(rules, e.setup.Root) {
		e.report(pawl.Warn, path, "run gemini in the project and trust the folder", "this folder is not trusted, so Gemini CLI runs none of its hooks")
	}
}

// geminiTrusts applies the rule with the longest path that contains the folder.
func geminiTrusts(rules map[string]any, root string) bool {
	longest, trusts := -1, false
	for path, trust := range rules {
		in := path
		if trust == "TRUST_PARENT" {
			in = filepath.Dir(path)
		}
		if rest, err := filepath.Rel(in, root); err != nil || rest == ".." || strings.HasPrefix(rest, "../") || len(path) <= longest {
			continue
		}
		longest, trusts = len(path), trust != "DO_NOT_TRUST"
	}
	return trusts
}
