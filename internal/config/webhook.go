package config

import (
	"slices"
	"strings"

	"pawl"
	"pawl/internal/stepenv"
	"pawl/internal/strictyaml"
)

// Webhook is a receiver of signed messages about all projects that `pawl serve` serves. It counts only in the user's own settings.
type Webhook struct {
	Name       string            `yaml:"name"`              // what the server remembers of the receiver has this name
	URL        string            `yaml:"url"`               // https, or http to this machine
	SecretFile string            `yaml:"secret_file"`       // whsec_ and the secret in base64; absolute, or relative to the folder of the settings
	On         []pawl.NoticeKind `yaml:"on,omitempty"`      // Defaults to all.
	Private    bool              `yaml:"private,omitempty"` // the name in the URL may have an address of a private network. Defaults to false.
}

// webhookKinds returns the kinds of notices that webhooks get.
func webhookKinds() []pawl.NoticeKind {
	return append(slices.Clone(pawl.NoticeKinds), pawl.NoticeExpiry)
}

// maxWebhooks is the maximum number of webhooks.
const maxWebhooks = 20

// checkWebhooks reports what is wrong with a list of webhooks.
func checkWebhooks(list []Webhook, wrong func(pointer any, format string, args ...any)) {
	if len(list) > maxWebhooks {
		wrong(&list[maxWebhooks], "there are %d webhooks; the maximum is %d", len(list), maxWebhooks)
	}
	kinds := webhookKinds()
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = string(kind)
	}
	names := map[string]bool{}
	for i := range list {
		w := &list[i]
		if _, err := pawl.ParseStepID(w.Name); err != nil {
			wrong(&w.Name, "invalid name %q of a webhook: use 1 to 64 letters, digits, '.', '_' or '-'", w.Name)
		}
		if names[strings.ToLower(w.Name)] { // they are names of folders
			wrong(&w.Name, "duplicate webhook %q; change its name", w.Name)
		}
		names[strings.ToLower(w.Name)] = true
		if err := stepenv.CheckWebhook(w.URL); err != nil {
			wrong(&w.URL, "%v", err)
		}
		if w.SecretFile == "" {
			wrong(w, `a webhook needs "secret_file", with the secret of its signatures`)
		}
		for j, kind := range w.On {
			if !slices.Contains(kinds, kind) {
				wrong(&w.On[j], "unknown kind of message %q; %s", kind, strictyaml.DidYouMean(string(kind), words))
			}
		}
	}
}
