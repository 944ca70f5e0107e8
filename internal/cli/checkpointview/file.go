package checkpointview

import (
	"fmt"
	"io"

	"pawl"
	"pawl/internal/history"
	"pawl/internal/oneline"
	"pawl/internal/snapshot"
)

// PrintFile prints the content of a file in a checkpoint, the list of a folder, or the target of a link.
func PrintFile(w io.Writer, store *snapshot.Store, saved history.SavedCheckpoint, path string) error {
	record, err := saved.SnapshotRecord()
	if err != nil {
		return err
	}
	e, err := store.At(record, path)
	switch {
	case err != nil:
		return err
	case e == nil:
		return &pawl.Error{Kind: pawl.KindUsage, Err: fmt.Errorf("no %s in this checkpoint", oneline.Path(path)), Hint: "pawl show " + string(saved.ID)}
	case e.Kind == snapshot.Folder:
		return printFolder(w, store, *e)
	case e.Kind == snapshot.Link:
		_, err = fmt.Fprintf(w, "%s\n", e.Target)
		return err
	}
	return store.Content(*e, w)
}

func printFolder(w io.Writer, store *snapshot.Store, folder snapshot.Entry) error {
	entries, err := store.List(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		mark := ""
		if e.Kind == snapshot.Folder {
			mark = "/"
		}
		if _, err := fmt.Fprintf(w, "%04o  %12d  %s%s\n", e.Mode, e.Size, oneline.Path(e.Name), mark); err != nil {
			return err
		}
	}
	return nil
}

// LeftOut returns the paths that a checkpoint excludes.
func LeftOut(store *snapshot.Store, saved history.SavedCheckpoint) ([]snapshot.LeftOut, error) {
	record, err := saved.SnapshotRecord()
	if err != nil {
		return nil, err
	}
	return store.LeftOutOf(record)
}
