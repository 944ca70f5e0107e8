# Writes release notes from lines "kind<tab>change<tab>number".
{ kinds[$1] = kinds[$1] "- " $2 " (#" $3 ")\n" }
END {
	printf "# %s\n", version
	split("added changed fixed removed", order, " ")
	for (i = 1; i <= 4; i++) if (order[i] in kinds) printf "\n## %s\n\n%s", order[i], kinds[order[i]]
}
