package scripted

import (
	"path"
	"slices"
	"strings"
)

// chain puts parts one behind the other, with what stands between them: "&&" or ";".
func chain(between string, parts ...Part) Part {
	whole := Part{text: parts[0].text}
	var written []string
	for i, p := range parts {
		whole.paths = append(whole.paths, p.paths...)
		whole.stamps = append(whole.stamps, p.stamps...)
		for _, path := range p.paths {
			if !slices.Contains(p.reads, path) || slices.Contains(p.stamps, path) {
				written = append(written, path)
			}
		}
		if i > 0 {
			whole.text += separator(whole.text, between) + p.text
		}
	}
	whole.paths = slices.Compact(slices.Sorted(slices.Values(whole.paths)))
	whole.reads = slices.DeleteFunc(slices.Clone(whole.paths), func(path string) bool { return slices.Contains(written, path) })
	whole.do = func(w World) bool {
		ok := true
		for _, p := range parts {
			if ok || between == ";" {
				ok = p.run(w)
			}
		}
		return ok
	}
	return whole
}

// separator returns what stands behind a text. Behind a here document only a new line can.
func separator(text, between string) string {
	switch {
	case strings.HasSuffix(text, "\nEOF"):
		return "\n"
	case between == ";":
		return "; "
	}
	return " " + between + " "
}

// in has a part work in a folder.
func in(dir string, p Part) Part {
	there := p
	there.text = "cd " + quote(dir) + " && " + p.text
	there.paths, there.reads, there.stamps = below(dir, p.paths), below(dir, p.reads), below(dir, p.stamps)
	there.do = func(w World) bool {
		inside := World{}
		for i, path := range there.paths {
			if node, ok := w[path]; ok {
				inside[p.paths[i]] = node
			}
		}
		ok := p.run(inside)
		for i, path := range there.paths {
			if w[path] = inside[p.paths[i]]; w[path].Kind == "" {
				delete(w, path)
			}
		}
		return ok
	}
	return there
}

func below(dir string, paths []string) []string {
	var found []string
	for _, p := range paths {
		found = append(found, path.Join(dir, p))
	}
	return found
}

// beyondOf says whether a command of these parts does anything that leaves no trace here.
func beyondOf(parts []Part) beyond {
	found := never
	traces := false
	for _, p := range parts {
		switch {
		case p.remote && !traces:
			return first
		case p.beyond:
			found = perhaps
		}
		traces = traces || len(p.paths) > 0
	}
	return found
}
