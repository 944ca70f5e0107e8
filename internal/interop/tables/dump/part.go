package dump

// Part is what is read of a table of a database: all of it, or only the rows where a column says something.
type Part struct {
	Table  string // in lower case
	Column string // Defaults to all rows.
	Is     string // what the column says
	Newest int    // so many of those rows, which were added last. Defaults to all.
}
