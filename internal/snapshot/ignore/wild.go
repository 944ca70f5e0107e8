package ignore

import "strings"

// A position is an index into the pattern and one into the text.
type position struct{ p, t int }

var nowhere = position{-1, -1}

// wild reports whether pattern matches the whole path by git's rules: * and ? do not match slashes, ** between slashes
// does, and a pattern with a broken class or a trailing backslash matches nothing.
//
// It backtracks only to the last * and the last **. Anything before the last one has matched as early as possible, and
// a later match would leave less text. The cost is therefore at most the length of the pattern times the square of the
// length of the path.
func wild(pattern, path string, fold bool) bool {
	at, star, folders := position{}, nowhere, nowhere
	for {
		switch stars := countStars(pattern[at.p:]); {
		case stars > 0 && crossesFolders(pattern, at.p, stars):
			at.p += stars
			if at.p == len(pattern) {
				return true
			}
			folders, star = at, nowhere
			if pattern[at.p] == '/' { // **/ may match no folder
				at.p++
			}
			continue
		case stars > 0:
			at.p += stars
			star = at
			continue
		case at.p == len(pattern) && at.t == len(path):
			return true
		case at.p < len(pattern) && at.t < len(path):
			if size, ok := matchOne(pattern[at.p:], path[at.t], fold); ok {
				at = position{at.p + size, at.t + 1}
				continue
			}
		}
		switch {
		case star != nowhere && star.t < len(path) && path[star.t] != '/':
			star.t++
			if !fold {
				star.t += gap(pattern[star.p:], path[star.t:])
			}
			at = star
		case folders != nowhere:
			slash := strings.IndexByte(path[folders.t:], '/') // ** is followed by a slash
			if slash < 0 {
				return false
			}
			at = position{folders.p, folders.t + slash}
			folders.t, star = at.t+1, nowhere
		default:
			return false
		}
	}
}

// gap returns the number of bytes that a star can skip at once, since what follows it cannot match earlier.
func gap(pattern, path string) int {
	if pattern == "" || strings.IndexByte(`?[\/`, pattern[0]) >= 0 {
		return 0
	}
	n := 0
	for n < len(path) && path[n] != pattern[0] && path[n] != '/' {
		n++
	}
	return n
}

func countStars(pattern string) int {
	n := 0
	for n < len(pattern) && pattern[n] == '*' {
		n++
	}
	return n
}

// crossesFolders reports whether the stars at pattern[p:] are a whole path component. The slash after them may be
// escaped.
func crossesFolders(pattern string, p, stars int) bool {
	rest := pattern[p+stars:]
	return stars > 1 && (p == 0 || pattern[p-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
}

// matchOne matches the first element of a pattern, which is not a star, against one byte; size is the element's length.
// Like git, it does not fold escaped letters.
func matchOne(pattern string, c byte, fold bool) (size int, ok bool) {
	if fold {
		c = lower(c)
	}
	switch first := pattern[0]; {
	case first == '?':
		return 1, c != '/'
	case first == '[':
		return matchClass(pattern, c, fold)
	case first == '\\':
		return 2, len(pattern) > 1 && pattern[1] == c
	case fold:
		return 1, lower(first) == c
	default:
		return 1, first == c
	}
}
