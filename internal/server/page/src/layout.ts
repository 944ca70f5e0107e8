// A worker that places the steps of a plan, so that the page stays responsive meanwhile.
import { Graph, layout } from "@dagrejs/dagre"
import type { Placed, Shape } from "./shape"

onmessage = (e: MessageEvent<Shape & { number: number }>) => {
	const { boxes, edges, down, number } = e.data
	const g = new Graph()
	g.setGraph({ rankdir: down ? "TB" : "LR", ranker: "tight-tree", nodesep: 14, ranksep: 36, marginx: 8, marginy: 8 })
	g.setDefaultEdgeLabel(() => ({}))
	for (const b of boxes) g.setNode(b.id, { width: b.width, height: b.height })
	for (const [from, to] of edges) g.setEdge(from, to)
	layout(g)
	const size = g.graph() as { width?: number; height?: number }
	const placed: Placed = { width: size.width ?? 0, height: size.height ?? 0, boxes: {}, edges: [] }
	for (const b of boxes) {
		const { x, y } = g.node(b.id) as { x: number; y: number }
		placed.boxes[b.id] = { x, y }
	}
	for (const edge of g.edges()) {
		const { points } = g.edge(edge) as { points?: { x: number; y: number }[] }
		placed.edges.push({ from: edge.v, to: edge.w, points: points ?? [] })
	}
	postMessage({ number, placed })
}
