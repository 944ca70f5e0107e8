package grid

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/planfile"
	"pawl/internal/textedit/yamledit"
)

// plans gives every block that is to be done a plan, where it has none, with a copy in the folder of its phase, and all of them
// a master plan. One that pawl wrote and nobody changed follows the
// run's plan; any other is somebody's own, and so are the blocks of a run that was imported.
func (w *clusterWriter) plans() {
	if w.State.Import.System == "grid" {
		return
	}
	there := w.layout()
	for _, k := range w.works {
		if k.phase == 0 || k.finished() {
			continue
		}
		plan := w.newPlan(k)
		f := there.plans[k.block]
		switch {
		case f == nil:
			w.put("plans/"+slug(w.cluster)+"-block-"+k.block+".md", plan)
		case sealed(f.Data):
			w.files.Put(f.Path, plan)
		default:
			plan = f.Data
		}
		w.keepPlan(w.planCopy(there, k), plan)
	}
	if w.waveAll > 0 {
		w.keepPlan("plans/"+slug(w.cluster)+planSummary, w.masterPlan())
	}
}

// keepPlan writes a plan where there is none, or one that nobody changed.
func (w *clusterWriter) keepPlan(name string, plan []byte) {
	if f := w.file(name); name != "" && (f == nil || sealed(f.Data)) {
		w.put(name, plan)
	}
}

// planCopy returns where the copy of a block's plan lies: in the folder of its phase. Where summaries lie flat there is none.
func (w *clusterWriter) planCopy(l layout, k *blockStep) string {
	folder, record := path.Split(w.recordPath(l, k))
	if folder == "" {
		return ""
	}
	return folder + strings.TrimSuffix(record, "SUMMARY.md") + "PLAN.md"
}

// masterPlan returns the plan of all blocks: in which waves they are.
func (w *clusterWriter) masterPlan() []byte {
	waves := yamledit.MapOf()
	for n := 1; n <= w.waveAll; n++ {
		blocks := yamledit.ListOf()
		blocks.Inline = true
		for _, k := range w.works {
			if k.wave == n && k.phase > 0 {
				blocks.Items = append(blocks.Items, yamledit.Text(k.block))
			}
		}
		waves.Pairs = append(waves.Pairs, pair(strconv.Itoa(n), blocks))
	}
	want := yamledit.MapOf(pair("cluster", yamledit.Word(w.cluster)), pair("wave_structure", waves))
	if w.Plan.Goal != "" {
		want.Pairs = append(want.Pairs, pair("goal", yamledit.Text(oneLine(w.Plan.Goal))))
	}
	return seal(fresh(want, "\n# Plan: "+oneLine(w.cluster)+"\n"))
}

func (w *clusterWriter) newPlan(k *blockStep) []byte {
	needs := yamledit.ListOf()
	needs.Inline = true
	for _, id := range k.Needs {
		if before := w.byStep[id]; before != nil {
			needs.Items = append(needs.Items, yamledit.Text(before.block))
		}
	}
	want := yamledit.MapOf(
		pair("cluster", yamledit.Word(w.cluster)), pair("block", yamledit.Text(k.block)), pair("name", yamledit.Text(k.name())), pair("phase", yamledit.Number(k.phase)),
		pair("wave", yamledit.Number(k.wave)), pair("depends_on", needs), pair("autonomous", yamledit.Truth(k.Gate == nil)),
		pair("files_modified", inlineList(k.Outputs)), pair("objective", yamledit.Text(oneLine(cmp.Or(k.Goal, k.Name, string(k.ID))))),
	)
	return seal(fresh(want, w.planText(k)))
}

// planText shows the step as it stands in the run's plan.
func (w *clusterWriter) planText(k *blockStep) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# Block %s: %s\n", k.block, k.name())
	if k.Goal != "" {
		b.WriteString("\n" + k.Goal + "\n")
	}
	if len(k.Accept) > 0 {
		b.WriteString("\n## Success Criteria\n\n")
		for _, name := range slices.Sorted(maps.Keys(k.Accept)) {
			fmt.Fprintf(&b, "- %s: %s\n", name, oneLine(k.Accept[name]))
		}
	}
	if step, err := planfile.WriteStep(k.Step); err == nil {
		fence := fenceFor(step)
		fmt.Fprintf(&b, "\n## The step as pawl runs it\n\n%syaml\n%s%s\n", fence, step, fence)
	}
	return b.String()
}

// fenceFor returns a fence that no line of a text ends.
func fenceFor(text []byte) string {
	fence := "```"
	for bytes.Contains(text, []byte(fence)) {
		fence += "`"
	}
	return fence
}

// sealMark begins the last line of what pawl wrote whole and may write anew.
const sealMark = "\n<!-- written by pawl, which leaves it alone once it is changed: "

// seal ends a text with a line that tells whether it was changed since.
func seal(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(data, sealMark+hex.EncodeToString(sum[:8])+" -->\n"...)
}

// sealed reports whether a text is as it was sealed.
func sealed(data []byte) bool {
	at := bytes.LastIndex(data, []byte(sealMark))
	return at >= 0 && bytes.Equal(seal(slices.Clone(data[:at])), data)
}
