# Reads all pages, reports each link to a page or anchor that does not exist, and exits 1 if there is one.
# Links in code are no links; links to other sites are not followed.

FNR == 1 { page[FILENAME] = 1; fenced = 0; dir = FILENAME; sub(/[^\/]*$/, "", dir) }
/^```/ { fenced = !fenced; next }
fenced { next }

{
	gsub(/`[^`]*`/, "")
	for (rest = $0; match(rest, /<a id="[^"]*"/); rest = substr(rest, RSTART + RLENGTH))
		anchor[FILENAME "#" substr(rest, RSTART + 7, RLENGTH - 8)] = 1
	for (rest = $0; match(rest, /\]\([^)]*\)/); rest = substr(rest, RSTART + RLENGTH))
		take(substr(rest, RSTART + 2, RLENGTH - 3))
}

function take(target) {
	if (target ~ /^<?[a-z]+:/) return
	n++
	from[n] = FILENAME ":" FNR
	to[n] = target ~ /^#/ ? FILENAME target : resolve(dir target)
}

# resolve takes "folder/.." out of a path.
function resolve(path) {
	while (sub(/[^\/]+\/\.\.\//, "", path)) ;
	return path
}

END {
	for (i = 1; i <= n; i++) {
		file = to[i]
		sub(/#.*/, "", file)
		if (!(file in page)) { print from[i] ": no page " file; broken++ }
		else if (to[i] ~ /#/ && !(to[i] in anchor)) { print from[i] ": no anchor " to[i]; broken++ }
	}
	for (file in page) pages++
	printf "%d pages, %d links, %d broken\n", pages, n, broken
	exit broken > 0
}
