package scripted

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Part is a piece of a shell command: its words, the paths that it may touch, and what it makes of a world.
type Part struct {
	text   string
	paths  []string
	reads  []string           // the paths among them that it only reads
	stamps []string           // paths that it only touches
	do     func(w World) bool // false: it fails. nil: it changes nothing, and does not fail.
	beyond bool               // it has effects without a trace on this machine, or its text does not show all effects
	remote bool               // the former
}

func (p Part) run(w World) bool { return p.do == nil || p.do(w) }

// quote returns a word as a shell takes it.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// put writes a file, if its folder exists.
func put(w World, path, content string) bool {
	if w[path].Kind == Folder {
		return false
	}
	w[path] = fileOf(content)
	return true
}

func add(w World, path, content string) bool { return put(w, path, w[path].Text+content) }

// echo writes a line into a file, or adds it to one.
func echo(line, path string, added bool) Part {
	if added {
		return Part{text: "echo " + quote(line) + " >> " + quote(path), paths: []string{path},
			do: func(w World) bool { return add(w, path, line+"\n") }}
	}
	return Part{text: "echo " + quote(line) + " > " + quote(path), paths: []string{path},
		do: func(w World) bool { return put(w, path, line+"\n") }}
}

// printf does so with a format.
func printf(a, b, path string) Part {
	return Part{text: fmt.Sprintf(`printf "%s\n%s\n" > %s`, a, b, quote(path)), paths: []string{path},
		do: func(w World) bool { return put(w, path, a+"\n"+b+"\n") }}
}

// heredoc writes several lines.
func heredoc(lines, path string) Part {
	return Part{text: "cat > " + quote(path) + " <<'EOF'\n" + lines + "EOF", paths: []string{path},
		do: func(w World) bool { return put(w, path, lines) }}
}

// teeTo writes a line through a pipe.
func teeTo(line, path string) Part {
	return Part{text: "echo " + quote(line) + " | tee -a " + quote(path), paths: []string{path},
		do: func(w World) bool { return add(w, path, line+"\n") }}
}

// many writes a file that is long enough to be interrupted.
func many(n int, path string) Part {
	return Part{text: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x > %s", n, quote(path)), paths: []string{path},
		do: func(w World) bool { return put(w, path, strings.Repeat("x", n)) }}
}

// joined writes two files into a third one.
func joined(a, b, path string) Part {
	return Part{text: strings.Join([]string{"cat", quote(a), quote(b), ">", quote(path)}, " "), paths: []string{a, b, path}, reads: []string{a, b},
		do: func(w World) bool {
			return put(w, path, w[a].Text+w[b].Text) && w[a].Kind == File && w[b].Kind == File
		}}
}

// reversed writes a file's lines in reverse into another one.
func reversed(from, path string) Part {
	return Part{text: "tac " + quote(from) + " > " + quote(path), paths: []string{from, path}, reads: []string{from},
		do: func(w World) bool {
			lines := strings.SplitAfter(w[from].Text, "\n")
			text := ""
			for _, line := range lines {
				text = line + text
			}
			return put(w, path, text) && w[from].Kind == File
		}}
}

func touch(paths ...string) Part {
	return Part{text: "touch " + words(paths), paths: paths, stamps: paths, do: func(w World) bool {
		for _, p := range paths {
			if w[p].Kind == "" {
				w[p] = fileOf("")
			}
		}
		return true
	}}
}

// chmod changes no more of a file than its mode.
func chmod(path string) Part {
	return Part{text: "chmod u+x " + quote(path), paths: []string{path}, stamps: []string{path},
		do: func(w World) bool { return w[path].Kind != "" }}
}

func words(paths []string) string {
	var quoted []string
	for _, p := range paths {
		quoted = append(quoted, quote(p))
	}
	return strings.Join(quoted, " ")
}

// mkdir makes a folder, and perhaps others in it.
func mkdir(dir string, more ...string) Part {
	paths := []string{dir}
	for _, name := range more {
		dir = path.Join(dir, name)
		paths = append(paths, dir)
	}
	return Part{text: "mkdir -p " + quote(dir), paths: paths, do: func(w World) bool {
		for _, p := range paths {
			w[p] = Node{Kind: Folder}
		}
		return true
	}}
}

func rm(paths ...string) Part {
	return Part{text: "rm " + words(paths), paths: paths, do: func(w World) bool {
		all := true
		for _, p := range paths {
			all = all && w[p].Kind != ""
			delete(w, p)
		}
		return all
	}}
}

// rmForce removes a path that may not exist.
func rmForce(path string) Part {
	return Part{text: "rm -f " + quote(path), paths: []string{path}, do: func(w World) bool { delete(w, path); return true }}
}

// rmAll removes a folder with the files in it.
func rmAll(dir string, names ...string) Part {
	paths := []string{dir}
	for _, name := range names {
		paths = append(paths, path.Join(dir, name))
	}
	return Part{text: "rm -rf " + quote(dir), paths: paths, do: func(w World) bool {
		for _, p := range paths {
			delete(w, p)
		}
		return true
	}}
}

func mv(from, to string) Part {
	return Part{text: "mv " + quote(from) + " " + quote(to), paths: []string{from, to}, do: func(w World) bool { return move(w, from, to) }}
}

func move(w World, from, to string) bool {
	if w[from].Kind == "" {
		return false
	}
	w[to] = w[from]
	delete(w, from)
	return true
}

// mvInto moves a file into a folder.
func mvInto(from, dir string) Part {
	to := path.Join(dir, path.Base(from))
	return Part{text: "mv " + quote(from) + " " + quote(dir) + "/", paths: []string{from, to}, do: func(w World) bool { return move(w, from, to) }}
}

func cp(from, to string) Part {
	return Part{text: "cp " + quote(from) + " " + quote(to), paths: []string{from, to}, reads: []string{from}, do: func(w World) bool {
		if w[from].Kind == "" {
			return false
		}
		w[to] = w[from]
		return true
	}}
}

func ln(target, name string) Part {
	return Part{text: "ln -s " + quote(target) + " " + quote(name), paths: []string{name}, do: func(w World) bool {
		if w[name].Kind != "" {
			return false
		}
		w[name] = Node{Kind: Link, Text: target}
		return true
	}}
}

// sed replaces a text in files.
func sed(old, now string, paths ...string) Part {
	return Part{text: "sed -i 's/" + old + "/" + now + "/' " + words(paths), paths: paths, stamps: paths,
		do: func(w World) bool { return replaced(w, old, now, paths...) }}
}

func replaced(w World, old, now string, paths ...string) bool {
	all := true
	for _, p := range paths {
		if w[p].Kind != File {
			all = false
			continue
		}
		var out strings.Builder
		for line := range strings.Lines(w[p].Text) {
			out.WriteString(strings.Replace(line, old, now, 1))
		}
		w[p] = fileOf(out.String())
	}
	return all
}

// counted writes a line a turn of a loop, each into a file of its own.
func counted(n int, prefix, pause string) Part {
	p := Part{text: fmt.Sprintf("for i in $(seq %d); do echo $i > %s$i; sleep %s; done", n, quote(prefix), pause)}
	for i := range n {
		p.paths = append(p.paths, fmt.Sprint(prefix, i+1))
	}
	p.do = func(w World) bool {
		for i, path := range p.paths {
			put(w, path, fmt.Sprintln(i+1))
		}
		return true
	}
	return p
}

// grown adds a line a turn of a loop to one file.
func grown(n int, path, pause string) Part {
	return Part{text: fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo line $i >> %s; sleep %s; i=$((i+1)); done", n, quote(path), pause), paths: []string{path},
		do: func(w World) bool {
			for i := range n {
				add(w, path, fmt.Sprintln("line", i))
			}
			return true
		}}
}

// edited has sed change files, one a turn of a loop.
func edited(old, now, pause string, paths ...string) Part {
	return Part{text: fmt.Sprintf(`for f in %s; do sed -i "s/%s/%s/" "$f"; sleep %s; done`, words(paths), old, now, pause), paths: paths, stamps: paths,
		do: func(w World) bool { replaced(w, old, now, paths...); return true }}
}

// either runs one of two parts, depending on whether a path exists.
func either(test string, then, otherwise Part) Part {
	return Part{text: fmt.Sprintf("if [ -e %s ]; then %s; else %s; fi", quote(test), then.text, otherwise.text),
		paths: slices.Compact(slices.Sorted(slices.Values(slices.Concat([]string{test}, then.paths, otherwise.paths)))),
		do: func(w World) bool {
			if w[test].Kind != "" {
				return then.run(w)
			}
			return otherwise.run(w)
		}}
}

// script runs a program whose effects the command does not show: it writes a line into each of some files.
func script(command, line, pause string, paths ...string) Part {
	return Part{text: command + " " + quote(line) + " " + pause + " " + words(paths), paths: paths, beyond: true, do: func(w World) bool {
		for _, p := range paths {
			put(w, p, line+"\n")
		}
		return true
	}}
}

// python writes a file by a program on the command line.
func python(line, path string) Part {
	return Part{text: fmt.Sprintf("python3 - <<'EOF'\nwith open(%q, 'w') as f:\n    f.write(%q)\nEOF", path, line+"\n"), paths: []string{path}, beyond: true,
		do: func(w World) bool { return put(w, path, line+"\n") }}
}

// behind leaves a process that runs its part after the command has ended.
func behind(pause string, p Part) Part {
	p.text = "(sleep " + pause + "; " + p.text + ") &"
	return p
}

// sleep waits.
func sleep(seconds string) Part { return Part{text: "sleep " + seconds} }

// fails ends with an exit code.
func fails(text string) Part { return Part{text: text, do: func(World) bool { return false }} }

// calls sends a request to a server that does not exist.
func calls(n int) Part {
	return Part{text: fmt.Sprintf("curl -s -m 5 -X POST -d n=%d http://127.0.0.1:9/issues", n), do: func(World) bool { return false }, beyond: true, remote: true}
}

// gitAdd stages files.
func gitAdd(paths ...string) Part {
	p := Part{text: "git add " + words(paths), paths: append([]string{}, paths...), reads: paths}
	for _, path := range paths {
		p.paths = append(p.paths, gitIndex+path)
	}
	p.do = func(w World) bool {
		for _, path := range paths {
			if w[path].Kind != File {
				return false
			}
		}
		for _, path := range paths {
			w[gitIndex+path] = Node{Kind: Entry, Text: blobOf(w[path].Text)}
		}
		return true
	}
	return p
}

// blobOf returns git's hash of a content.
func blobOf(content string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	return hex.EncodeToString(sum[:])
}

// gitCommit commits what is staged. The caller ensures that something is.
func gitCommit(message string) Part {
	return Part{text: "git commit -q -m " + quote(message), paths: []string{gitHead}, do: func(w World) bool {
		w[gitHead] = Node{Kind: Entry, Text: message}
		return true
	}}
}

// gitCommitLong commits with a long message, as some agents do.
func gitCommitLong(message string) Part {
	p := gitCommit(message)
	p.text = "git commit -q -m \"$(cat <<'EOF'\n" + message + "\nEOF\n)\""
	return p
}

func gitTag(name string) Part {
	ref := gitRef + "refs/tags/" + name
	return Part{text: "git tag " + name, paths: []string{ref}, do: func(w World) bool {
		w[ref] = Node{Kind: Entry, Text: "there"}
		return true
	}}
}

func gitMove(from, to string) Part {
	return Part{text: "git mv " + quote(from) + " " + quote(to), paths: []string{from, to, gitIndex + from, gitIndex + to}, do: func(w World) bool {
		if w[gitIndex+from].Kind == "" || !move(w, from, to) {
			return false
		}
		return move(w, gitIndex+from, gitIndex+to)
	}}
}
