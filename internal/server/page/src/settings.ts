// What the user has chosen, in this browser.
import { effect, signal } from "@preact/signals"

function stored<T extends string | number | boolean>(name: string, otherwise: T) {
	const key = "pawl." + name
	const value = signal<T>(otherwise)
	try {
		const text = localStorage.getItem(key)
		if (text !== null) value.value = JSON.parse(text)
	} catch {
		// without storage, choices last as long as the page
	}
	let first = true
	effect(() => {
		const text = JSON.stringify(value.value)
		if (!first)
			try {
				localStorage.setItem(key, text)
			} catch {
				// as above
			}
		first = false
	})
	return value
}

/** zone is how times are shown. */
export const zone = stored<"local" | "utc">("zone", "local")

/** theme is the color scheme; auto follows the system. */
export const theme = stored<"auto" | "light" | "dark">("theme", "auto")

/** refresh is how the page follows the server: -1 live, 0 not at all, else every so many seconds. */
export const refresh = stored<number>("refresh", -1)

/** shortcuts is whether single keys are commands. */
export const shortcuts = stored<boolean>("shortcuts", true)

effect(() => {
	if (theme.value === "auto") delete document.documentElement.dataset.theme
	else document.documentElement.dataset.theme = theme.value
})
