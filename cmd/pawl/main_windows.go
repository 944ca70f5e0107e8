package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "pawl: error: pawl does not run on Windows: it needs flock, signals and process groups. Use WSL.")
	os.Exit(1)
}
