// What happens on the server reaches the page here. A browser has few connections to a server, so of all its tabs one reads the stream of
// events and tells the others. A hidden tab reads nothing. Without the stream, the page polls.
import { effect, signal, untracked, type Signal } from "@preact/signals"
import { address, session } from "./api"
import { refresh } from "./settings"
import type { Project } from "./types"

/** connection is how the page follows the server. */
export const connection = signal<"live" | "connecting" | "polling" | "every" | "off">("connecting")

/** now is the current time, to the second, while the page is visible. */
export const now = signal(Date.now())

const pollWithoutStream = 10_000
const patience = 3_000 // until a stream that does not open counts as missing

const versions = new Map<string, Signal<number>>()

/** versionOf returns a number that changes when something has changed: "projects", "gates", "project:ID", "run:ID". */
export function versionOf(what: string): number {
	let version = versions.get(what)
	if (!version) versions.set(what, (version = signal(0)))
	return version.value
}

/** changed says that something has changed. */
export function changed(what: string) {
	const version = versions.get(what)
	if (version) version.value = version.peek() + 1
}

/** everythingChanged has all that is shown read again. */
export function everythingChanged() {
	for (const what of versions.keys()) changed(what)
}

const watchers = new Set<(p: Project) => void>()

/** watchProjects calls a function for each project that changes, until the returned function is called. */
export function watchProjects(tell: (p: Project) => void): () => void {
	watchers.add(tell)
	return () => watchers.delete(tell)
}

// Changes that come close together are one.
const pending = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

function soon(what: string) {
	pending.add(what)
	timer ??= setTimeout(() => {
		timer = undefined
		const all = [...pending]
		pending.clear()
		all.forEach(changed)
	}, 400)
}

type Message = { kind: "event"; name: string; data: string } | { kind: "state"; live: boolean } | { kind: "hello" }

const names = ["project", "gate", "run", "reset"]
const channel = "BroadcastChannel" in window ? new BroadcastChannel("pawl-events") : undefined

let source: EventSource | undefined
let release: (() => void) | undefined // ends the waiting for the stream, or the stream

function receive(name: string, data: string) {
	if (name === "reset") return everythingChanged()
	const said = JSON.parse(data)
	if (name === "project") {
		for (const tell of watchers) tell(said as Project)
		soon("project:" + said.id)
	} else if (name === "run") soon("run:" + said.run)
	else soon("gates")
}

function setLive(live: boolean) {
	if (refresh.value !== -1) return
	if (live && connection.value !== "live") {
		const missed = connection.value === "polling"
		connection.value = "live"
		if (missed) everythingChanged()
	} else if (!live && connection.value === "live") connection.value = "connecting"
}

/** open reads the stream, until the returned function is called. */
function open(): () => void {
	let closed = false
	let retry: ReturnType<typeof setTimeout> | undefined
	let wait = 2_000
	const connect = () => {
		const stream = (source = new EventSource(address("events")))
		const say = (live: boolean) => {
			setLive(live)
			channel?.postMessage({ kind: "state", live } satisfies Message)
		}
		stream.onopen = () => {
			wait = 2_000
			say(true)
		}
		stream.onerror = () => {
			say(false)
			if (closed || stream.readyState !== EventSource.CLOSED) return
			retry = setTimeout(connect, wait)
			wait = Math.min(2 * wait, 30_000)
		}
		for (const name of names)
			stream.addEventListener(name, (e) => {
				receive(name, (e as MessageEvent<string>).data)
				channel?.postMessage({ kind: "event", name, data: (e as MessageEvent<string>).data } satisfies Message)
			})
	}
	connect()
	return () => {
		closed = true
		clearTimeout(retry)
		source?.close()
		source = undefined
	}
}

/** lead waits until no other tab reads the stream, then reads it. */
function lead(): () => void {
	if (!navigator.locks || !channel) return open()
	const abort = new AbortController()
	let done = () => {}
	navigator.locks
		.request("pawl-events", { signal: abort.signal }, () => {
			const close = open()
			return new Promise<void>((resolve) => {
				done = () => {
					close()
					resolve()
				}
			})
		})
		.catch(() => {}) // this tab does not wait any more
	return () => {
		abort.abort()
		done()
	}
}

function update() {
	const wanted = refresh.value === -1 && !document.hidden && !!session.value
	if (wanted && !release) {
		connection.value = "connecting"
		release = lead()
		channel?.postMessage({ kind: "hello" } satisfies Message)
	} else if (!wanted && release) {
		release()
		release = undefined
	}
	if (refresh.value !== -1) connection.value = refresh.value === 0 ? "off" : "every"
}

/** follow starts to follow the server. */
export function follow() {
	channel?.addEventListener("message", (e: MessageEvent<Message>) => {
		if (!release || source) {
			if (source && e.data.kind === "hello") channel.postMessage({ kind: "state", live: source.readyState === EventSource.OPEN } satisfies Message)
			return
		}
		if (e.data.kind === "event") {
			setLive(true)
			receive(e.data.name, e.data.data)
		} else if (e.data.kind === "state") setLive(e.data.live)
	})
	let hiddenAt = 0
	document.addEventListener("visibilitychange", () => {
		if (document.hidden) hiddenAt = Date.now()
		else {
			now.value = Date.now()
			if (hiddenAt && refresh.value !== 0) everythingChanged()
		}
		update()
	})
	effect(() => {
		void [refresh.value, session.value] // what it depends on
		untracked(update)
	})
	setInterval(() => {
		if (!document.hidden) now.value = Date.now()
	}, 1_000)
	poll()
}

/** poll reads everything again from time to time, where no stream tells what has changed. */
function poll() {
	let due = Infinity
	let since = Date.now()
	effect(() => {
		const state = connection.value
		since = Date.now()
		due = state === "every" ? since + 1000 * refresh.value : state === "polling" ? since + pollWithoutStream : Infinity
	})
	effect(() => {
		const at = now.value
		if (!session.peek()) return
		if (connection.peek() === "connecting" && at - since > patience) connection.value = "polling"
		if (at < due) return
		due = at + (connection.peek() === "every" ? 1000 * refresh.peek() : pollWithoutStream)
		everythingChanged()
	})
}
