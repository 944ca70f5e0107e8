// How times, durations and sizes are written: as the pawl command writes them.
import { zone } from "./settings"

const two = (n: number) => String(n).padStart(2, "0")

/** zoneName is the short name of the zone at a time, such as UTC or GMT+1. */
function zoneName(at: Date): string {
	const minutes = -at.getTimezoneOffset()
	if (minutes === 0) return "UTC"
	const size = Math.abs(minutes)
	return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${size % 60 ? ":" + two(size % 60) : ""}`
}

/** dateTime writes a time in the chosen zone, with the zone. */
export function dateTime(time: string | undefined | null): string {
	if (!time) return ""
	const at = new Date(time)
	if (zone.value === "utc") return at.toISOString().slice(0, 19).replace("T", " ") + " UTC"
	return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(at.getTime())} ${zoneName(at)}`
}

/** clock writes the time of day in the chosen zone, with parts of a second if wanted. */
export function clock(time: number, digits = 0): string {
	const at = new Date(time)
	const part = digits ? "." + String(at.getMilliseconds()).padStart(3, "0").slice(0, digits) : ""
	if (zone.value === "utc") return at.toISOString().slice(11, 19) + part
	return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${part}`
}

/** duration writes seconds as the pawl command does: 4.2s, 1m21s, 3h2m. */
export function duration(seconds: number): string {
	if (seconds < 0) seconds = 0
	if (seconds < 10 && seconds % 1) return seconds.toFixed(1) + "s"
	const s = Math.round(seconds)
	if (s < 60) return s + "s"
	if (s < 3600) return `${Math.floor(s / 60)}m${s % 60 ? (s % 60) + "s" : ""}`
	const m = Math.round(s / 60)
	if (m < 48 * 60) return `${Math.floor(m / 60)}h${m % 60 ? (m % 60) + "m" : ""}`
	const h = Math.floor((m % 1440) / 60)
	return `${Math.floor(m / 1440)}d${h ? h + "h" : ""}`
}

/** ago says how long ago a time was, roughly. */
export function ago(time: string | undefined, now: number): string {
	if (!time) return ""
	const seconds = (now - Date.parse(time)) / 1000
	if (seconds < 5) return "just now"
	const [unit, size] = ([["day", 86400], ["h", 3600], ["min", 60], ["s", 1]] as const).find(([, size]) => seconds >= size)!
	const n = Math.floor(seconds / size)
	return unit === "day" ? `${count(n, "day")} ago` : `${n} ${unit} ago`
}

/** bytes writes a size: 12 B, 3.4 KiB. */
export function bytes(n: number): string {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"]
	let i = 0
	while (n >= 1024 && i < units.length - 1) {
		n /= 1024
		i++
	}
	return `${i && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`
}

/** count writes a number with its noun: 1 file, 2 files. */
export function count(n: number, noun: string, plural = noun + "s"): string {
	return `${n.toLocaleString("en")} ${n === 1 ? noun : plural}`
}

/** folderName returns the last part of a path. */
export const folderName = (path: string) => path.split("/").filter(Boolean).pop() ?? path
