package snapshot

import "context"

// Tracked returns those of paths, relative to root and with slashes, that git tracks, or below which it tracks files. Outside a
// repository there are none.
func Tracked(ctx context.Context, root string, paths ...string) ([]string, error) {
	t, err := trackedBelow(ctx, root)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		file, err := t.covers(path, false)
		if err != nil {
			return nil, err
		}
		below, err := t.covers(path, true)
		if err != nil {
			return nil, err
		}
		if file || below {
			found = append(found, path)
		}
	}
	return found, nil
}
