#!/bin/sh
# What a person would look for first: check.sh count | empty | links.
set -eu
case $1 in
count)
	want=$(wc -l < out/packages.txt)
	have=$(find out/pages -type f -name '*.md' ! -path out/pages/README.md | wc -l)
	echo "$((have)) pages for $((want)) packages"
	test "$have" -eq "$want"
	;;
empty)
	empty=$(find out/pages -type f -name '*.md' -size -2 -exec sh -c 'test "$(wc -c < "$1")" -lt 100' _ {} \; -print)
	echo "empty: ${empty:-none}"
	test -z "$empty"
	;;
links)
	tail -n 1 out/links.txt
	tail -n 1 out/links.txt | grep -q ' links, 0 broken$'
	;;
*)
	echo "usage: check.sh count | empty | links" >&2
	exit 2
	;;
esac
