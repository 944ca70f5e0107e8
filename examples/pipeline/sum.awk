# Sums lines "quarter,product,amount" by product and quarter.
{ sum[$2 "\t" $1] += $3 }
END { for (k in sum) print k "\t" sum[k] }
