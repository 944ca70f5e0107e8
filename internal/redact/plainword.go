package redact

import (
	"slices"
	"strings"
)

// proseWords are words that follow "the password is" or the flag of a program in a sentence. Words of fewer than four letters
// are not passwords, and neither are those with an ending of proseEndings.
var proseWords = strings.Fields(`
	about above absent again also always another argument because before below blank both broken case clear correct different down easy
	elsewhere else even exactly fake fine flag flags following from gibberish given gone good hard have here identical insecure instead
	just kept known left like long lost mandatory means mine missing must needs never next nothing null numeric okay once only option
	options ours over parameter part permanent plain plaintext plus private prompt prompts public random reads ready right rubbish same
	secure self sent sets shared short should shown somewhere something still strong stuff switch syntax takes taken temporary text than
	that their theirs then there these this those true unique unknown unsafe until useless valid invalid value visible weak were what
	when where which while will with without world would wrong wrongly written yours incorrect insensitive sensitive okay stale`)

// proseEndings end participles, adjectives and adverbs: expired, working, readable, possibly.
var proseEndings = []string{"ed", "ing", "able", "ible", "ly", "n't"}

// proseWord reports whether a word belongs to a sentence about a secret, and is not the secret.
func proseWord(text string) bool {
	lower := strings.ToLower(text)
	if len(lower) < 4 || slices.Contains(proseWords, lower) {
		return true
	}
	return slices.ContainsFunc(proseEndings, func(end string) bool { return strings.HasSuffix(lower, end) })
}

// plainWord returns the word at an offset if a sentence ends with it. Such a word counts as a password whatever it consists of:
// "my password is swordfish."
func plainWord(text string, at int) match {
	v := valueAt(text, at)
	if v.from < len(text) && v.from-at > 1 && !v.quoted { // a column, or an unclosed quote
		return match{}
	}
	word := v.text
	if !v.quoted {
		word = strings.TrimRight(word, ".!?:")
	}
	end := v.from + len(word)
	if proseWord(word) || placeholder(word) || v.path() || v.isExpression() || strings.ContainsAny(word, " \t=") || likelyVariable(word) && !mixed(word) {
		return match{}
	}
	if !v.quoted && !endsClause(text[end:]) {
		return match{}
	}
	return match{v.from, end, "password"}
}

// endsClause reports whether a part of a sentence ends before a text.
func endsClause(rest string) bool {
	after := strings.TrimLeft(rest, ".!?:")
	if after == "" || strings.IndexByte(" \t", after[0]) < 0 {
		return after == "" || len(after) < len(rest) || !wordByte(after[0])
	}
	next := strings.TrimLeft(after, " \t")
	return len(after) < len(rest) || next == "" || slices.ContainsFunc([]string{"and ", "but ", "please "}, func(and string) bool { return strings.HasPrefix(next, and) })
}
