package dump

// Part selects the rows that are read from a table of a database: all, or those with a value in a column.
type Part struct {
	Table  string // in lower case
	Column string // Defaults to all rows.
	Value  string // of the column
	Newest int    // limits them to those that were added last. Defaults to all.

	// Numbered: where the database does not number rows, a new row gets the number after the highest one, so all rows are read.
	Numbered bool
}
