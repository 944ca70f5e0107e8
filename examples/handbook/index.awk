# Turns packages.tsv into the index: the packages that stand alone first, then each folder's under a heading.

BEGIN { FS = "\t" }

{
	path[NR] = $1
	synopsis[NR] = $2
	folder[NR] = $1
	sub(/\/.*/, "", folder[NR])
	size[folder[NR]]++
}

END {
	print "# The Go standard library\n\n" NR " packages, as " go " documents them.\n\n## Single packages\n"
	for (i = 1; i <= NR; i++) if (size[folder[i]] == 1) entry(i)
	for (i = 1; i <= NR; i++) {
		if (size[folder[i]] == 1) continue
		if (folder[i] != last) print "\n## " folder[i] "\n"
		last = folder[i]
		entry(i)
	}
}

function entry(i) {
	gsub(/[\\`*_<]/, "\\\\&", synopsis[i])
	gsub(/\]\(/, "]\\(", synopsis[i])
	print "- [" path[i] "](" path[i] ".md)" (synopsis[i] ? ": " synopsis[i] : "")
}
