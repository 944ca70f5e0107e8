package dump

// Part selects what is read from a table of a database: all rows, or only those with a value in a column.
type Part struct {
	Table  string // in lower case
	Column string // Defaults to all rows.
	Is     string // what the column says
	Newest int    // so many of those rows, which were added last. Defaults to all.
}
