#!/bin/sh
# Writes the page that leads to all others, and removes pages of packages that are no longer there.
set -eu
index=out/pages/README.md
find out/pages -type f -name '*.md' ! -path "$index" | sed 's|^out/pages/||; s|\.md$||' | sort |
	comm -23 - out/packages.txt | while read -r gone; do rm "out/pages/$gone.md"; done

awk -v go="$(go env GOVERSION)" -f index.awk out/packages.tsv > "$index.new"
mv "$index.new" "$index"
