package pawl

import "strings"

// Elsewhere returns the key of a step for a key that other systems use, and how to write it. The key is empty if steps have
// none for it. Both are empty for keys of no system.
func (Step) Elsewhere(key string) (own, advice string) {
	own, advice = stepElsewhere.find(key)
	return own, advice
}

// Elsewhere is Step.Elsewhere for the keys of a service.
func (Service) Elsewhere(key string) (own, advice string) { return serviceElsewhere.find(key) }

// Elsewhere is Step.Elsewhere for the keys of a plan.
func (Plan) Elsewhere(key string) (own, advice string) { return planElsewhere.find(key) }

// Missing returns what to do about a plan without a name, which may be a file that is only included.
func (Plan) Missing(key string) string {
	if key != "name" {
		return ""
	}
	return "add it; for a file that other plans include, use pawl plan check --included"
}

// Elsewhere is Step.Elsewhere for the defaults of steps.
func (Defaults) Elsewhere(key string) (own, advice string) {
	own, advice = stepElsewhere.find(key)
	switch own {
	case "dir", "shell", "env", "timeout", "retry":
		return own, advice
	}
	return "", ""
}

// Instead returns what to write instead of a value of the wrong type, such as the items that other systems list in "parallel".
func (Step) Instead(key, kind string) string {
	if key == "parallel" && (kind == "a list" || kind == "a mapping") {
		return "write foreach: {items: [a, b]}, and parallel: N for the number of concurrent items"
	}
	return ""
}

// Missing returns what to add where a step has no id, but a name, as in other systems.
func (s Step) Missing(key string) string {
	if key != "id" || s.Name == "" {
		return ""
	}
	id := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s.Name)), "-")
	if _, err := ParseStepID(id); err != nil {
		id = "build"
	}
	return "a name is a title; add a unique id, such as id: " + id
}

// otherKeys are keys of other systems, by the own key that replaces them.
type otherKeys []struct {
	theirs string // separated by spaces; "_" also stands for "-"
	own    string // "": none
	advice string
}

func (keys otherKeys) find(key string) (own, advice string) {
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	for _, k := range keys {
		for theirs := range strings.FieldsSeq(k.theirs) {
			if theirs == key {
				return k.own, k.advice
			}
		}
	}
	return "", ""
}

var stepElsewhere = otherKeys{
	{"depends_on depends deps dependencies requires after", "needs", `write needs: [ID]`},
	{"command commands cmd cmds script scripts exec bash sh", "run", `write the commands as one script`},
	{"retries max_retries retry_attempts", "retry", `write retry: {attempts: 3}`},
	{"timeout_minutes timeout_seconds time_limit deadline", "timeout", `write timeout: 30m`},
	{"working_directory working_dir workdir cwd chdir", "dir", ""},
	{"environment envs variables vars", "env", ""},
	{"matrix strategy", "foreach", `write foreach: {matrix: {AXIS: [a, b]}}`},
	{"loop with_items for_each for", "foreach", `write foreach: {items: [a, b]}`},
	{"artifacts produces generates targets", "outputs", ""},
	{"sources reads", "inputs", ""},
	{"title label", "name", ""},
	{"description desc", "goal", ""},
	{"executor interpreter", "shell", ""},
	{"checks test tests", "accept", `write accept: {NAME: SCRIPT}`},
	{"continue_on_error continue_on_failure ignore_errors ignore_error allow_failure", "continue_on_error", `write continue_on_error: true`},
	{"if when only condition preconditions", "if", `write if: params.NAME == 'VALUE'`},
	{"unless except", "if", `write if: "!(CONDITION)"`},
	{"services background daemon", "service", `write service: {ready: SCRIPT}`},
	{"env_file dotenv", "", `env files belong to the whole plan; write dotenv: [.env] at its top`},
	{"ready ready_check healthcheck health_check readiness_probe", "service", `write service: {ready: SCRIPT}`},
	{"uses with", "", `pawl has no shared actions; use "run" or "agent", and "env" for their values`},
	{"includes import imports template extends call", "", `to insert the steps of a file, write an entry of the list: - include: FILE`},
	{"image container docker runs_on", "", `steps run on this machine; in "run", call docker run or podman run`},
	{"prompt model args role", "", `it belongs to an agent: write agent: {use: claude, prompt: TEXT}`},
	{"ask question options approval approve", "", `it belongs to a gate: write gate: {type: human_verify, ask: TEXT}`},
	{"schedule cron on", "", `a plan has no schedule; use pawl run --schedule, such as --schedule "0 6 * * *" --install`},
}

var serviceElsewhere = otherKeys{
	{"ready_check healthcheck health_check readiness_probe test check probe wait_for", "ready", `write ready: SCRIPT`},
	{"period every", "interval", ""},
	{"wait start_period", "timeout", ""},
	{"stop_grace_period grace stop_timeout", "stop", ""},
	{"scope lifetime", "until", `write until: phase or until: run`},
	{"retries restart", "", `it belongs to the step: write retry: {attempts: 3} there`},
}

var planElsewhere = otherKeys{
	{"tasks", "steps", ""},
	{"services", "", `write each service as a step with service: {ready: SCRIPT}`},
	{"jobs stages", "phases", `write phases: [{name: NAME, steps: […]}]`},
	{"environment envs variables vars", "env", ""},
	{"title", "name", ""},
	{"description desc", "goal", ""},
	{"concurrency max_parallel max_concurrency", "parallel", ""},
	{"shell", "defaults", `write defaults: {shell: bash}`},
	{"timeout retry retries", "defaults", `write defaults: {timeout: 30m, retry: {attempts: 3}}`},
	{"schedule cron on triggers", "", `a plan has no schedule; use pawl run --schedule, such as --schedule "0 6 * * *" --install`},
	{"env_file env_files", "dotenv", `write dotenv: [.env]`},
	{"parameters inputs arguments", "params", ""},
	{"handleron handler_on handlers hooks on_exit", "on_failure", `write on_failure: SCRIPT, and on_success: SCRIPT`},
	{"on_error on_fail onfailure", "on_failure", `write on_failure: SCRIPT`},
	{"on_complete on_completion onsuccess", "on_success", `write on_success: SCRIPT`},
	{"mailon mail_on notifications alerts webhooks", "notify", `write notify: [{on: [failure, gate], command: SCRIPT}]`},
	{"include includes import imports extends", "", `to insert the steps of a file, write an entry of "steps": - include: FILE`},
}
