package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Line is a line of a committed file, with the commit that last changed it.
type Line struct {
	Text   string
	Commit string
	Author string
	Time   time.Time // of the author
}

// maxBlame is the number of bytes that are read of what git says about the lines of a file.
const maxBlame = 16 << 20

// Blame returns the lines of a file as HEAD has it. It neither reads the file on disk, which filters could convert, nor uses
// text conversions, and it reads a limited amount of output.
func Blame(ctx context.Context, folder, file string) ([]Line, error) {
	cmd, err := Command(ctx, folder, os.Environ(), "blame", "--no-textconv", "--porcelain", "HEAD", "--", file)
	if err != nil {
		return nil, err
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	data, readErr := io.ReadAll(io.LimitReader(out, maxBlame+1))
	if len(data) > maxBlame {
		readErr = fmt.Errorf("git blame %s: more than %d bytes", file, maxBlame)
		_ = cmd.Process.Kill() // Wait reports it
	}
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return nil, err
	}
	return parseBlame(data), nil
}

// parseBlame reads git's porcelain format: for each line of the file "COMMIT OLD NEW [COUNT]", where the commit comes up for the first
// time its facts, and the line itself after a tab.
func parseBlame(data []byte) []Line {
	var lines []Line
	known := map[string]Line{}
	var commit string
	for scan := bufio.NewReader(bytes.NewReader(data)); ; {
		raw, err := scan.ReadString('\n')
		if err != nil {
			return lines
		}
		raw = strings.TrimSuffix(raw, "\n")
		if text, found := strings.CutPrefix(raw, "\t"); found {
			l := known[commit]
			l.Text, l.Commit = text, commit
			lines, commit = append(lines, l), ""
			continue
		}
		word, rest, _ := strings.Cut(raw, " ")
		if commit == "" {
			commit = word
			continue
		}
		l := known[commit]
		switch word {
		case "author":
			l.Author = rest
		case "author-time":
			if seconds, err := strconv.ParseInt(rest, 10, 64); err == nil {
				l.Time = time.Unix(seconds, 0).UTC()
			}
		}
		known[commit] = l
	}
}
