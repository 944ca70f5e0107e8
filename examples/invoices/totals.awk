# Sums the pages of invoices by customer.
/^customer / { customer = substr($0, 10) }
/^total / { total[customer] += $2; count[customer]++ }
END { for (c in total) printf "%s,%d,%.2f\n", c, count[c], total[c] }
