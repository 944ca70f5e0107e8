package strictyaml

import (
	"fmt"
	"strconv"
	"strings"
)

// DidYouMean suggests the nearest word of the list, or the whole list where none is near.
func DidYouMean(word string, list []string) string {
	if near := Nearest(word, list); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "expected " + OneOf(list)
}

// UnknownStep returns the message about a step id that is in no plan, with the ids that it may stand for. It is the same in plans and
// on command lines.
func UnknownStep(id string, ids []string) string {
	text := fmt.Sprintf("unknown step %q", id)
	if near := nearIDs(id, ids); len(near) > 0 {
		text += "; did you mean " + OneOf(near) + "?"
	}
	return text
}

// maxNearIDs is the maximum number of ids that a message suggests.
const maxNearIDs = 3

// nearIDs returns the quoted id that is nearest to a word, or those that are the word with the prefix of an include.
func nearIDs(id string, ids []string) (near []string) {
	if nearest := Nearest(id, ids); nearest != "" {
		return []string{strconv.Quote(nearest)}
	}
	for _, candidate := range ids {
		if len(candidate) > len(id) && id != "" && strings.HasSuffix(strings.ToLower(candidate), strings.ToLower(id)) && len(near) < maxNearIDs {
			near = append(near, strconv.Quote(candidate))
		}
	}
	return near
}

// OneOf returns "a, b or c".
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Nearest returns the word of the list that is at most two typos away (one for a short word), "" where none is. Of words that are
// equally near it prefers the one of the same length: letters are swapped or mistyped more often than left out.
func Nearest(word string, list []string) string {
	best, least := "", 2
	if len(word) > shortWord {
		least = 3
	}
	for _, candidate := range list {
		d := typos(strings.ToLower(word), strings.ToLower(candidate))
		if d < least || d == least && best != "" && len(best) != len(word) && len(candidate) == len(word) {
			best, least = candidate, d
		}
	}
	return best
}

// shortWord is the length up to which a second typo makes another word.
const shortWord = 5

// typos returns the Damerau-Levenshtein distance of two words, 99 where one is long or much longer.
func typos(a, b string) int {
	if len(a) > 64 || len(a) > len(b)+2 || len(b) > len(a)+2 {
		return 99
	}
	var d [65][67]int // d[i][j]: from the first i letters of a to the first j of b
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			d[i][j] = min(d[i-1][j], d[i][j-1], d[i-1][j-1]) + 1
			if a[i-1] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
