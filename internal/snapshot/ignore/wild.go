package ignore

import "strings"

// A place is where a match may be taken up again: the pattern from p on, against the text from t on.
type place struct{ p, t int }

var nowhere = place{-1, -1}

// wild reports whether pattern matches the whole of path, as git has it: * and ? stop at slashes, ** between slashes
// does not, and a pattern with a broken class or a backslash at its end matches nothing.
//
// Only the last * and the last ** are ever taken up again. What stands before the last one has matched as early as it
// can, and a later match would leave less text, so the cost is bounded by the pattern times the square of the path.
func wild(pattern, path string, fold bool) bool {
	at, star, folders := place{}, nowhere, nowhere
	for {
		switch stars := countStars(pattern[at.p:]); {
		case stars > 0 && crossesFolders(pattern, at.p, stars):
			at.p += stars
			if at.p == len(pattern) {
				return true
			}
			folders, star = at, nowhere
			if pattern[at.p] == '/' { // **/ may stand for no folder at all
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
				at = place{at.p + size, at.t + 1}
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
			slash := strings.IndexByte(path[folders.t:], '/') // what follows ** is a slash
			if slash < 0 {
				return false
			}
			at = place{folders.p, folders.t + slash}
			folders.t, star = at.t+1, nowhere
		default:
			return false
		}
	}
}

// gap is how many bytes of path a star may take at once, because what follows it cannot match before.
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

// crossesFolders reports whether the stars at pattern[p:] fill all that is between two slashes, the second of which may
// be escaped.
func crossesFolders(pattern string, p, stars int) bool {
	rest := pattern[p+stars:]
	return stars > 1 && (p == 0 || pattern[p-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
}

// matchOne holds the first element of a pattern, which is not a star, against one byte; size is the element's length.
// Folding leaves escaped letters as they are, which git does too.
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
