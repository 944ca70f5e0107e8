package protocol

import (
	"time"

	"pawl/internal/kernel"
)

// Deliver emits what a message of the kernel means, and notes what it says about the running cell. It returns what it emitted; of the zero
// Kind if nothing. One goroutine delivers.
func (c *Client) Deliver(w Message) kernel.Message {
	var m kernel.Message
	var err error
	switch w.Channel {
	case "iopub":
		m, err = c.publish(w)
	case "shell":
		m, err = c.receive(w)
	case "stdin":
		m = c.refuseInput(w)
	}
	if err != nil {
		c.Refuse(err.Error())
		return kernel.Message{}
	}
	return m
}

// Tell emits a message about the kernel itself.
func (c *Client) Tell(text string) {
	c.emit(kernel.Message{Time: time.Now(), Kind: kernel.KindStatus, Text: text})
}

// maxRefused is how many refused messages pawl reports: a stranger could send any number.
const maxRefused = 20

// Refuse tells that a message was refused. The goroutine that delivers calls it.
func (c *Client) Refuse(why string) {
	if c.refused++; c.refused <= maxRefused {
		c.Tell("a message was refused: " + why)
	}
}

// publish delivers what the kernel published.
func (c *Client) publish(w Message) (kernel.Message, error) {
	m, err := Published(w)
	if err != nil {
		return m, err
	}
	purpose, id := CellOf(w.Parent)
	if purpose == PurposeInfo {
		c.mu.Lock()
		c.published = true
		c.becomeReady()
		c.mu.Unlock()
	}
	m.Cell = id
	if m.Kind == kernel.KindBusy || m.Kind == kernel.KindIdle {
		if m.Text = ""; purpose != PurposeCell {
			m.Kind = ""
		}
	}
	if m.Kind == "" {
		return m, nil
	}
	c.emit(m)
	c.update(w.Parent, func(x *execution) { x.progress.Published(m, time.Now()) })
	return m, nil
}

// receive delivers a reply.
func (c *Client) receive(w Message) (m kernel.Message, err error) {
	purpose, id := CellOf(w.Parent)
	switch {
	case w.Type == "kernel_info_reply" && purpose == PurposeInfo:
		return m, c.inform(w)
	case purpose == PurposeProbe:
		c.mu.Lock()
		if c.cell != nil && c.probe == w.Parent {
			c.cell.progress.Probed(time.Now())
			c.wake()
		}
		c.mu.Unlock()
	case w.Type == "execute_reply" && purpose == PurposeCell && c.expects(w.Parent):
		var r Reply
		if m, r, err = Replied(w); err != nil {
			return m, err
		}
		m.Cell = id
		c.emit(m)
		c.update(w.Parent, func(x *execution) { x.progress.Replied(r, time.Now()) })
	}
	return m, nil
}

// expects reports whether the reply to a request is still to come. A second one counts for nothing.
func (c *Client) expects(request string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cell != nil && c.cell.progress.Request() == request && !c.cell.progress.HasReply()
}

// inform notes what a starting kernel answers about itself.
func (c *Client) inform(w Message) error {
	said, err := Described(w)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !isClosed(c.ready) {
		c.info.Language, c.info.Version, c.info.Implementation, c.info.LanguageInfo = said.Language, said.Version, said.Implementation, said.LanguageInfo
		c.answered = true
		c.becomeReady()
	}
	return nil
}

// refuseInput tells that a cell asks for input although it was told that there is none. The driver then interrupts the cell: an answer could
// be taken for consent.
func (c *Client) refuseInput(w Message) kernel.Message {
	_, id := CellOf(w.Parent)
	c.update(w.Parent, func(x *execution) { x.progress.Interrupted() })
	m := kernel.Message{Time: time.Now(), Cell: id, Kind: kernel.KindStream, Stream: kernel.Stderr,
		Text: "pawl: the cell asks for input, and nobody can answer; it is interrupted\n"}
	c.emit(m)
	return m
}

// MarkBack notes that the mark of a request came back.
func (c *Client) MarkBack(request string) {
	c.update(request, func(x *execution) { x.progress.MarkBack() })
}

// Remark adds something to say about the end of the cell that a request belongs to.
func (c *Client) Remark(request, text string) {
	c.update(request, func(x *execution) { x.remark = text })
}
