#!/bin/sh
# Writes the page of one package: convert.sh net/http writes out/pages/net/http.md.
# The page appears whole or not at all, and is the same each time.
set -eu
package=$1
page=out/pages/$package.md
mkdir -p "$(dirname "$page")"

hidden=
if test "$package" = builtin; then hidden=-u; fi # its names are lower case, and nothing else counts there
go doc -all $hidden "$package" > "$page.doc"
awk -v package="$package" -v go="$(go env GOVERSION)" -f page.awk out/packages.tsv "$page.doc" > "$page.new"
rm "$page.doc"
mv "$page.new" "$page"
