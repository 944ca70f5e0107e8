# Turns the text of `go doc -all` into a Markdown page.
# Reads packages.tsv, for the package's imports and for which packages have pages, then that text.
# Wants the variables package (an import path) and go (the version).
#
# The text has the package's words in column 1. Then, under titles in capitals, come declarations in column 1, each
# followed by its words, indented by four spaces. Code is indented by four more than the words around it.

BEGIN {
	FS = "\t"
	for (i = split(package, folders, "/"); i > 1; i--) up = up "../"
	titles["CONSTANTS"] = "Constants"; titles["VARIABLES"] = "Variables"
	titles["FUNCTIONS"] = "Functions"; titles["TYPES"] = "Types"
	add("## Overview")
}

FNR == NR { pages[$1] = 1; if ($1 == package) imports = $3; next }
FNR == 1 { next } # package http // import "net/http"

open { declare($0); next } # a declaration of several lines goes on
/^$/ { blank = 1; next }
$0 in titles { title(titles[$0]); next }
/^BUG: / { if (section != "Bugs") title("Bugs"); words($0); next }
section == "" || section == "Bugs" || /^\[[^]]*\]: https?:/ { words($0); next } # [name]: address
/^[^ ]/ { declare($0); next }
{ words(substr($0, 5)) }

END {
	close_code()
	print_page()
	if (open) { print package ": a declaration does not end: " hold[1] > "/dev/stderr"; exit 1 }
}

# --- The page

function add(line) { body[++lines] = line }

function title(name) {
	close_code()
	if (!section) overview = lines
	section = name
	add("\n## <a id=\"" tolower(name) "\"></a>" name)
	contents = contents "- [" name "](#" tolower(name) ")\n"
}

# print_page puts the contents between the overview and the first title.
function print_page(    i, n, list) {
	print "# " package "\n\n[Handbook](" up "README.md) · `import \"" package "\"`\n"
	for (i = 1; i <= lines; i++) {
		if (i == overview + 1 && contents) printf "\n## Contents\n\n%s", contents
		print body[i]
	}
	n = split(imports, list, " ")
	if (n) print "\n## Imports\n"
	for (i = 1; i <= n; i++) print "- " link(list[i])
	print "\n---\n\n_Written from `go doc -all " package "`, " go "._"
}

# link names a package, and leads to its page where it has one.
function link(path) {
	return path in pages ? "[" path "](" up path ".md)" : "`" path "`"
}

# --- Declarations

# declare takes the lines of a declaration; with the last of them it is written.
function declare(line) {
	if (!open) { close_code(); held = 0 }
	hold[++held] = line
	open = held == 1 ? line ~ /[({]$/ : line !~ /^[)}]/
	if (!open) write_declaration()
}

function write_declaration(    i) {
	ids = ""
	if (hold[1] ~ /^(const|var) /) for (i = 1; i <= held; i++) name_values(hold[i])
	else head(hold[1])
	if (ids) add("\n" ids)
	add("\n```go")
	for (i = 1; i <= held; i++) add(hold[i])
	add("```")
	blank = 1
}

# head writes the heading of a function, method or type, and enters it in the contents.
function head(line,    what, receiver, id) {
	what = line
	sub(/^(func|type) /, "", what)
	if (sub(/^\(/, "", what)) { # a method: "(w *Writer) Flush() error", here without "("
		receiver = what
		sub(/\).*/, "", receiver); sub(/^[^ ]* /, "", receiver)
		sub(/^[^)]*\) /, "", what)
		id = identifier(substr(receiver, receiver ~ /^\*/ ? 2 : 1)) "." identifier(what)
		what = "func (" receiver ") " identifier(what)
	} else {
		id = identifier(what)
		what = (line ~ /^func/ ? "func " : "type ") id
	}
	add("\n" (section == "Types" && line ~ /^func/ ? "####" : "###") " <a id=\"" id "\"></a>" escape(what))
	contents = contents (section == "Types" && line ~ /^func/ ? "    " : "  ") "- [`" what "`](#" id ")\n"
}

# name_values collects anchors for the constants or variables that a line declares.
function name_values(line) {
	if (!sub(hold[1] ~ /\($/ ? "^\t" : "^(const|var) ", "", line)) return
	while (line ~ /^[A-Za-z_]/) {
		if (identifier(line) != "_") ids = ids "<a id=\"" identifier(line) "\"></a>"
		if (!sub(/^[A-Za-z_0-9]+, */, "", line)) return
	}
}

function identifier(s) { sub(/[^A-Za-z_0-9].*/, "", s); return s }

# --- Words

# words takes a line of documentation: a heading, a list item, code, or a line of a paragraph.
function words(line,    mark) {
	if (line ~ /^    / && (code || blank || !item)) { write_code(substr(line, 5)); return }
	close_code()
	if (line ~ /^ *(-|[0-9]+\.) / && line ~ /^ /) {
		if (blank && !item) add("")
		sub(/^ +/, "", line)
		mark = substr(line, 1, index(line, " "))
		item = substr("    ", 1, length(mark))
		line = mark prose(substr(line, length(mark) + 1))
	} else if (line ~ /^# /) {
		line = section == "" ? "\n### " prose(substr(line, 3)) : "\n**" prose(substr(line, 3)) "**"
		item = ""
	} else {
		if (blank) { add(""); item = "" }
		sub(/^ +/, "", line)
		line = line ~ /^\[[^]]*\]: https?:/ ? reference(line) : item start(prose(line))
	}
	add(line)
	blank = 0
}

# reference makes a visible link of "[name]: address": go doc leaves no brackets in the text that would use it.
function reference(line,    at) {
	at = index(line, "]: ")
	return "- [" escape(substr(line, 2, at - 2)) "](<" substr(line, at + 3) ">)"
}

function write_code(line) {
	if (!code) { add("\n```text"); code = 1 }
	else if (blank) add("")
	add(line)
	blank = 0
}

# close_code ends the code and the list that may be open.
function close_code() {
	if (code) { add("```"); item = ""; blank = 1 }
	code = 0
}

# prose escapes what Markdown would take for its own, and makes links of addresses and of the paths of packages.
function prose(s,    out, before, address) {
	while (match(s, /https?:\/\/[^ <>"')]*[^ <>"'),.;:?\]]/)) {
		before = substr(s, 1, RSTART - 1)
		address = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		out = out paths(before) "<" address ">"
	}
	return out paths(s)
}

function paths(s,    out, before, path) {
	while (match(s, /[A-Za-z0-9_.\/-]*[A-Za-z0-9]/)) {
		before = substr(s, 1, RSTART - 1)
		path = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		out = out escape(before) (path ~ /\// && path != package && path in pages ? link(path) : escape(path))
	}
	return out escape(s)
}

function escape(s) {
	gsub(/[\\`*_<]/, "\\\\&", s)
	gsub(/&[A-Za-z#]+[0-9]*;/, "\\\\&", s)
	gsub(/\]\(/, "]\\(", s)
	return s
}

# start keeps a line of a paragraph from being taken for a heading, a list or a quotation.
function start(s) {
	if (s ~ /^([-+>#=~]|[0-9]+[.)] )/) { match(s, /^[0-9]*/); s = substr(s, 1, RLENGTH) "\\" substr(s, RLENGTH + 1) }
	return s
}
