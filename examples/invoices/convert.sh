# Writes the page of an invoice: convert.sh ID
set -eu
page=out/pages/$1.txt
awk -F, -v id="$1" '
	$1 == id && $3 !~ /^[0-9]+\.[0-9][0-9]$/ { print "invoice " id ": the net amount \"" $3 "\" is not a number" > "/dev/stderr"; exit 1 }
	$1 == id { printf "invoice %s\ncustomer %s\nnet %s\nvat %.2f\ntotal %.2f\n", $1, $2, $3, $3 * $4 / 100, $3 * (1 + $4 / 100) }
' invoices.csv > "$page.new"
mv "$page.new" "$page" # a page is whole or not there
