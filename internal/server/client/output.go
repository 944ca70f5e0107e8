package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"pawl"
)

// AttemptHeader has the number of the attempt whose output an answer is.
const AttemptHeader = "Pawl-Attempt"

// Output names the output of an attempt.
type Output struct {
	Step    pawl.StepID
	Item    string // value of the item of a foreach step
	Attempt int    // 0: the newest one
	Stderr  bool
}

func (o Output) query(run Run) url.Values {
	query := run.query()
	if o.Item != "" {
		query.Set("item", o.Item)
	}
	if o.Attempt > 0 {
		query.Set("attempt", strconv.Itoa(o.Attempt))
	}
	if o.Stderr {
		query.Set("stream", "err")
	}
	return query
}

// Output writes the output of an attempt that comes after so many bytes, and returns the number of the attempt and the bytes that it has
// written. If the connection breaks, it continues where it was.
func (c *Client) Output(ctx context.Context, run Run, o Output, after int64, w io.Writer) (attempt int, n int64, err error) {
	address := c.base + path("/api/runs/%s/steps/%s/output", string(run.ID), string(o.Step)) + "?" + o.query(run).Encode()
	for failures := 0; ; {
		number, got, more, err := c.outputPart(ctx, address, after+n, w)
		n += got
		if attempt = max(attempt, number); err == nil && !more {
			return attempt, n, nil
		}
		if failures++; got > 0 {
			failures = 0
		}
		if err != nil && (!errors.Is(err, errConnection) || failures > 1 || ctx.Err() != nil) {
			return attempt, n, err
		}
	}
}

// outputPart writes the next part of an output. more reports whether there is another one.
func (c *Client) outputPart(ctx context.Context, address string, after int64, w io.Writer) (attempt int, n int64, more bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, 0, false, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	if after > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", after))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, 0, false, fmt.Errorf("%w: %w", errConnection, err)
	}
	defer response.Body.Close()
	attempt, _ = strconv.Atoi(response.Header.Get(AttemptHeader))
	switch {
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable && after > 0:
		return attempt, 0, false, nil // the output has no further bytes
	case response.StatusCode >= http.StatusMultipleChoices:
		data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return 0, 0, false, fmt.Errorf("%w: %w", errConnection, err)
		}
		return 0, 0, false, problemOf(response.StatusCode, response.Header.Get("Content-Type"), data)
	case after > 0 && response.StatusCode != http.StatusPartialContent:
		return 0, 0, false, errors.New("the server ignores Range")
	}
	body := &failing{Reader: response.Body}
	if n, err = io.Copy(w, body); err != nil {
		if body.failed {
			err = fmt.Errorf("%w: %w", errConnection, err)
		}
		return attempt, n, false, err
	}
	return attempt, n, response.StatusCode == http.StatusPartialContent && n > 0, nil
}

// failing is a reader that notes that it failed, and not who was to write what it read.
type failing struct {
	io.Reader
	failed bool
}

func (f *failing) Read(data []byte) (int, error) {
	n, err := f.Reader.Read(data)
	f.failed = err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	return n, err
}
