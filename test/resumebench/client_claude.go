package main

import (
	"encoding/json"
	"regexp"
)

// claudeClient is Claude Code. The scripted agent's transcripts are its own.
var claudeClient = client{
	program:   "RESUMEBENCH_CLAUDE",
	arguments: []string{"--continue", "--print", firstPrompt},
	environ: func(url string) []string {
		return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	},
	answer: `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"scripted","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

`,
	read: func(request []byte) ([]message, error) {
		var asked struct{ Messages []message }
		err := json.Unmarshal(reminders.ReplaceAll(request, nil), &asked)
		return asked.Messages, err
	},
	own: func(text string) bool { return text == "No response requested." },
}

// reminders are what Claude Code adds to messages of every session, as they are in JSON.
var reminders = regexp.MustCompile(`<system-reminder>.*?</system-reminder>`)
