// What the drawing of a plan and the worker that lays it out say to each other.

export interface Box {
	id: string
	width: number
	height: number
}

export interface Shape {
	boxes: Box[]
	edges: [from: string, to: string][]
	down: boolean // from top to bottom, not from left to right
}

export interface Placed {
	width: number
	height: number
	boxes: Record<string, { x: number; y: number }> // centers
	edges: { from: string; to: string; points: { x: number; y: number }[] }[]
}
