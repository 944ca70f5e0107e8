// Calls of the server's API. All addresses are relative, so that the page also works below a path of a proxy.
import { signal } from "@preact/signals"
import { useEffect, useReducer, useRef } from "preact/hooks"
import type { LoggedIn, Right, Session } from "./types"

/** Problem is an answer that is an error (RFC 9457). */
export class Problem extends Error {
	constructor(
		readonly status: number,
		message: string,
		readonly hint = "",
	) {
		super(message)
	}
}

/** session is the user of the page: undefined until the server has answered, null without a login. */
export const session = signal<Session | null | undefined>(undefined)

// The second secret of a session, in addition to its cookie. The server requires it in each request that changes something.
const keyName = "pawl.key"
let sessionKey = ""
try {
	sessionKey = localStorage.getItem(keyName) ?? ""
} catch {
	// without storage, the login lasts as long as the page
}

/** logIn exchanges the code of a one-time link for a session. */
export async function logIn(code: string) {
	const { key } = await post<LoggedIn>("login", { code })
	sessionKey = key
	try {
		localStorage.setItem(keyName, key)
	} catch {
		// as above
	}
}

/** hasKey reports whether this browser has logged in. */
export const hasKey = () => sessionKey !== ""

/** logOut ends the session. */
export async function logOut() {
	await post("logout").catch(() => {}) // the session may have ended already
	session.value = null
}

/** base is the address of the page without its last part. */
const base = new URL(".", location.href.split("#")[0]!)

/** address returns the address of a path of the API. */
export const address = (path: string) => new URL("api/" + path, base).href

async function call(path: string, init: RequestInit): Promise<Response> {
	let answer: Response
	try {
		answer = await fetch(address(path), { credentials: "same-origin", cache: "no-store", ...init })
	} catch (error) {
		if (init.signal?.aborted) throw error
		throw new Problem(0, "the server does not answer", "pawl serve")
	}
	if (answer.ok || answer.status === 416) return answer
	if (answer.status === 401 && path !== "login") session.value = null
	const text = await answer.text()
	let said: { detail?: string; message?: string; title?: string; hint?: string } = {}
	try {
		said = JSON.parse(text)
	} catch {
		said.detail = text.trim()
	}
	throw new Problem(answer.status, said.detail || said.message || said.title || `status ${answer.status}`, said.hint)
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
	return (await call(path, { signal, headers: { Accept: "application/json" } })).json()
}

/** getText returns a part of a text from a byte on, and where it ends. A negative start counts from the end. */
export async function getText(path: string, start: number, signal?: AbortSignal) {
	const range = start < 0 ? `bytes=${start}` : `bytes=${start}-`
	const answer = await call(path, { signal, headers: { Range: range } })
	const [, first, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "") ?? []
	if (answer.status === 416) return { text: "", from: start, end: total ? Number(total) : start }
	const bytes = whole(new Uint8Array(await answer.arrayBuffer()))
	const from = first ? Number(first) : 0
	return { text: new TextDecoder().decode(bytes), from, end: from + bytes.length }
}

/** whole leaves out a character at the end that is not whole yet. */
function whole(bytes: Uint8Array): Uint8Array {
	for (let i = 1; i <= Math.min(3, bytes.length); i++) {
		const b = bytes[bytes.length - i]!
		if (b < 0x80) return bytes
		if (b >= 0xc0) return (b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2) > i ? bytes.subarray(0, bytes.length - i) : bytes
	}
	return bytes
}

/** ofRun returns the path of something of a run. Two projects may have runs with one id. */
export function ofRun(project: string, run: string, what = "", query: Record<string, string> = {}): string {
	return `runs/${encodeURIComponent(run)}${what && "/" + what}?${new URLSearchParams({ project, ...query })}`
}

/** newKey returns a key that makes an action happen once, even if it is sent twice. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("")

/** post sends an action. If the connection breaks, it is sent once more with the same key. */
export async function post<T>(path: string, body: object = {}): Promise<T> {
	const init = {
		method: "POST",
		headers: { "Content-Type": "application/json", "Idempotency-Key": newKey(), "Pawl-Key": sessionKey },
		body: JSON.stringify(body),
	}
	let answer: Response
	try {
		answer = await call(path, init)
	} catch (error) {
		if (!(error instanceof Problem) || error.status !== 0) throw error
		answer = await call(path, init)
	}
	const text = await answer.text()
	return (text ? JSON.parse(text) : {}) as T
}

/** lacks says why the user may not do something; empty if they may. */
export function lacks(right: Right): string {
	if (!session.value || session.value.rights?.includes(right)) return ""
	return `Your login lacks the right “${right}”.`
}

export interface Fetched<T> {
	data?: T
	error?: Problem
	reload: () => void
}

/**
 * useFetch reads a path of the API, and reads it again when version changes. Meanwhile the old data stays. A path of undefined reads
 * nothing.
 */
export function useFetch<T>(path: string | undefined, version: unknown = 0): Fetched<T> {
	const kept = useRef<{ path?: string; data?: T; error?: Problem }>({})
	const [again, reload] = useReducer((n: number, _: void) => n + 1, 0)
	const [, show] = useReducer((n: number, _: void) => n + 1, 0)
	if (kept.current.path !== path) kept.current = { path }
	useEffect(() => {
		if (path === undefined) return
		const abort = new AbortController()
		get<T>(path, abort.signal).then(
			(data) => {
				kept.current = { path, data }
				show()
			},
			(error) => {
				if (abort.signal.aborted) return
				kept.current = { path, data: kept.current.data, error: problemOf(error) }
				show()
			},
		)
		return () => abort.abort()
	}, [path, version, again])
	return { data: kept.current.data, error: kept.current.error, reload: () => reload() }
}

/** problemOf returns an error as a Problem. */
export const problemOf = (error: unknown) => (error instanceof Problem ? error : new Problem(0, String(error)))
