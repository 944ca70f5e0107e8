package attach

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/textedit/jsonedit"
)

// disabled tells of settings that keep hooks from running.
func (e *examination) disabled() {
	switch e.agent.name {
	case "claude":
		e.claudeOff()
	case "codex":
		if config, path := e.place.codexSettings(); config.Get("features", "hooks") == false {
			e.say(pawl.Bad, path, "remove hooks = false from [features] there", "hooks are switched off (features.hooks is false)")
		}
	case "gemini":
		e.geminiOff()
	case "copilot":
		home := e.place.home("COPILOT_HOME", ".copilot")
		for _, path := range []string{filepath.Join(home, "settings.json"), e.inProject(".github/copilot/settings.json"), e.inProject(".github/copilot/settings.local.json")} {
			e.offWhere(path, true, "disableAllHooks")
		}
	}
}

func (e *examination) claudeOff() {
	home := e.place.home("CLAUDE_CONFIG_DIR", ".claude")
	managed := []string{"/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"}
	own := []string{filepath.Join(home, "settings.json"), e.inProject(".claude/settings.json"), e.inProject(".claude/settings.local.json")}
	for _, path := range append(own, managed...) {
		e.offWhere(path, true, "disableAllHooks")
		e.offWhere(path, true, "allowManagedHooksOnly")
	}
}

// geminiOff looks where hooks can be switched off, all of them or ours by their name; older versions said hooks.enabled.
func (e *examination) geminiOff() {
	for _, path := range []string{filepath.Join(e.place.geminiHome(), "settings.json"), e.inProject(".gemini/settings.json"), "/etc/gemini-cli/settings.json"} {
		e.offWhere(path, false, "hooksConfig", "enabled")
		e.offWhere(path, false, "hooks", "enabled")
		names, _ := setting(path, "hooksConfig", "disabled").([]any)
		if slices.Contains(names, any(geminiName)) {
			e.say(pawl.Bad, path, "gemini, then /hooks enable "+geminiName, "the hooks named %s are switched off (hooksConfig.disabled)", geminiName)
		}
	}
}

// offWhere tells of a setting that says to run no hooks.
func (e *examination) offWhere(path string, off bool, keys ...string) {
	if path != "" && setting(path, keys...) == any(off) {
		name := keys[0]
		for _, key := range keys[1:] {
			name += "." + key
		}
		e.say(pawl.Bad, path, "take "+name+" out there", "hooks are switched off (%s is %v)", name, off)
	}
}

// inProject is a path in the project, empty where there is none.
func (e *examination) inProject(path string) string {
	if e.place.Root == "" {
		return ""
	}
	return filepath.Join(e.place.Root, path)
}

// setting returns what a settings file says under keys, nil where it says nothing or cannot be read.
func setting(path string, keys ...string) any {
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
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

// trusted tells of hooks and folders that a person has yet to trust.
func (e *examination) trusted() {
	switch {
	case e.agent.name == "codex":
		e.codexTrust()
	case e.scope != Project:
	case e.agent.name == "gemini":
		e.geminiTrust()
	}
}

func (e *examination) codexTrust() {
	config, path := e.place.codexSettings()
	never, other, off := untrusted(config, e.hooksIn, e.trusts)
	const hint = "codex, then /hooks, and trust those of pawl"
	if never > 0 {
		e.say(pawl.Warn, path, hint, "%d of %d hooks do not run: they are not trusted yet", never, len(e.trusts))
	}
	if other > 0 {
		e.say(pawl.Warn, path, hint, "%d of %d hooks do not run: they are not those that were trusted", other, len(e.trusts))
	}
	if off > 0 {
		e.say(pawl.Warn, path, "codex, then /hooks, and switch those of pawl on", "%d of %d hooks are switched off", off, len(e.trusts))
	}
	if e.scope == Project && config.Get("projects", e.place.Root, "trust_level") != "trusted" {
		e.say(pawl.Warn, path, "codex, in the project, and trust the folder", "this folder is not trusted, so its .codex/ is not read")
	}
}

// geminiTrust looks whether Gemini CLI trusts the folder. Where trust is switched off it trusts all.
func (e *examination) geminiTrust() {
	home := e.place.geminiHome()
	if setting(filepath.Join(home, "settings.json"), "security", "folderTrust", "enabled") == false {
		return
	}
	path := filepath.Join(home, "trustedFolders.json")
	rules, _ := setting(path).(map[string]any)
	if !geminiTrusts(rules, e.place.Root) {
		e.say(pawl.Warn, path, "gemini, in the project, and trust the folder", "this folder is not trusted, so none of its hooks runs")
	}
}

// geminiTrusts reports what the longest rule says that a folder lies in.
func geminiTrusts(rules map[string]any, root string) bool {
	longest, trusts := -1, false
	for path, said := range rules {
		in := path
		if said == "TRUST_PARENT" {
			in = filepath.Dir(path)
		}
		if rest, err := filepath.Rel(in, root); err != nil || rest == ".." || strings.HasPrefix(rest, "../") || len(path) <= longest {
			continue
		}
		longest, trusts = len(path), said != "DO_NOT_TRUST"
	}
	return trusts
}
