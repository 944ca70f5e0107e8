// The place in the page is in the address behind #, so that it needs no help of the server: #/projects?status=failed.
import { computed, signal } from "@preact/signals"

const hash = signal(location.hash)
addEventListener("hashchange", () => (hash.value = location.hash))

export interface Route {
	parts: string[]
	query: URLSearchParams
}

/** route is the place that the user is at. */
export const route = computed<Route>(() => {
	const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?", 2)
	return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) }
})

function decode(part: string): string {
	try {
		return decodeURIComponent(part)
	} catch {
		return part
	}
}

/** link returns the address of a place. Parts and values that are empty are left out. */
export function link(parts: string[], query: Record<string, string | undefined> = {}): string {
	const values = new URLSearchParams()
	for (const [name, value] of Object.entries(query)) if (value) values.set(name, value)
	const text = values.toString()
	return "#/" + parts.filter(Boolean).map(encodeURIComponent).join("/") + (text && "?" + text)
}

/** go goes to a place; replace does so without a new entry in the browser's history. */
export function go(to: string, replace = false) {
	if (replace) {
		history.replaceState(history.state, "", to)
		hash.value = to
	} else location.hash = to
}

/** setQuery changes values of the current place, without a new entry in the history. */
export function setQuery(changes: Record<string, string | undefined>) {
	const { parts, query } = route.value
	go(link(parts, { ...Object.fromEntries(query), ...changes }), true)
}
