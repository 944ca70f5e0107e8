// The page: its frame, and the view that the address asks for.
import { render } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { get, hasKey, logIn, logOut, problemOf, session, type Problem } from "./api"
import { connection, everythingChanged, follow } from "./events"
import { dateTime } from "./format"
import { Gates, useGates } from "./gates"
import { Projects } from "./projects"
import { go, link, route } from "./route"
import { RunPage } from "./run"
import { refresh, shortcuts, theme, zone } from "./settings"
import type { Session } from "./types"
import { Command, Dialog, Field, Loading, Wrong, useKey } from "./ui"

function Page() {
	const [window_, setWindow] = useState<"" | "settings" | "help">("")
	const first = route.value.parts[0] ?? ""
	const place = route.value.parts.join("/")
	const before = useRef(place)
	useEffect(() => {
		if (before.current.split("/").slice(0, 2).join("/") !== place.split("/").slice(0, 2).join("/")) {
			scrollTo(0, 0)
			document.getElementById("main")?.focus()
		}
		before.current = place
	}, [place])
	useKey((key) => {
		if (!shortcuts.value) return
		if (key === "?") setWindow("help")
		if (key === "p") location.hash = link([])
		if (key === "g") location.hash = link(["gates"])
	})
	return (
		<>
			<a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>
				Skip to the content
			</a>
			<Bar first={first} open={setWindow} />
			{first === "gates" ? <Gates /> : first === "projects" ? <RunPage key={route.value.parts[1]} /> : <Projects />}
			{window_ === "settings" && <Settings close={() => setWindow("")} />}
			{window_ === "help" && <Help close={() => setWindow("")} />}
		</>
	)
}

function Bar({ first, open }: { first: string; open: (what: "settings" | "help") => void }) {
	const { data } = useGates()
	const gates = data?.gates?.length ?? 0
	return (
		<header class="top">
			<a class="logo" href={link([])} aria-label="pawl: all projects">
				<img src="icon.svg" alt="" width="24" height="24" /> <span>pawl</span>
			</a>
			<nav aria-label="Main">
				<a href={link([])} aria-current={first !== "gates" ? "page" : undefined}>
					Projects
				</a>
				<a href={link(["gates"])} aria-current={first === "gates" ? "page" : undefined}>
					Gates{" "}
					{gates > 0 && (
						<span class="badge">
							{gates}
							{data?.more && "+"}
						</span>
					)}
				</a>
			</nav>
			<Connection />
			<button type="button" class="icon" aria-label="Settings" onClick={() => open("settings")}>
				⚙
			</button>
			<button type="button" class="icon" aria-label="Help" onClick={() => open("help")}>
				?
			</button>
		</header>
	)
}

const states = {
	live: "live",
	connecting: "connecting",
	polling: "no stream: reads every 10 s",
	every: "",
	off: "not refreshed",
}

function Connection() {
	const state = connection.value
	return (
		<span class={`connection ${state}`} role="status">
			{state === "every" ? `reads every ${refresh.value} s` : states[state]}
			{(state === "off" || state === "every") && (
				<button type="button" class="link" onClick={everythingChanged}>
					Refresh
				</button>
			)}
		</span>
	)
}

const rates = [
	[-1, "live"],
	[5, "every 5 seconds"],
	[15, "every 15 seconds"],
	[60, "every minute"],
	[0, "off"],
] as const

function Settings({ close }: { close: () => void }) {
	const s = session.value
	return (
		<Dialog title="Settings" close={close}>
			<Field label="Time zone">
				{(id) => (
					<select id={id} value={zone.value} onChange={(e) => (zone.value = e.currentTarget.value as "local" | "utc")}>
						<option value="local">local ({Intl.DateTimeFormat().resolvedOptions().timeZone})</option>
						<option value="utc">UTC</option>
					</select>
				)}
			</Field>
			<Field label="Colors">
				{(id) => (
					<select id={id} value={theme.value} onChange={(e) => (theme.value = e.currentTarget.value as "auto" | "light" | "dark")}>
						<option value="auto">as the system</option>
						<option value="light">light</option>
						<option value="dark">dark</option>
					</select>
				)}
			</Field>
			<Field label="Refresh">
				{(id) => (
					<select id={id} value={String(refresh.value)} onChange={(e) => (refresh.value = Number(e.currentTarget.value))}>
						{rates.map(([value, text]) => (
							<option key={value} value={String(value)}>
								{text}
							</option>
						))}
					</select>
				)}
			</Field>
			<label class="check">
				<input type="checkbox" checked={shortcuts.value} onChange={(e) => (shortcuts.value = e.currentTarget.checked)} /> Single keys are commands
			</label>
			{s && (
				<>
					<h3>Login</h3>
					<p>
						{s.name}: {s.rights?.join(", ")}
						{s.expires && `, until ${dateTime(s.expires)}`}
					</p>
					<p>
						<button type="button" onClick={logOut}>
							Log out
						</button>
					</p>
				</>
			)}
		</Dialog>
	)
}

const keys = [
	["p", "projects"],
	["g", "gates"],
	["/", "search in the list"],
	["j, k", "next and previous project"],
	["x", "select the project"],
	["Enter", "open"],
	["Esc", "close a window"],
	["?", "this help"],
]

const Help = ({ close }: { close: () => void }) => (
	<Dialog title="Help" close={close}>
		<h3>Keys</h3>
		<dl class="facts">
			{keys.map(([key, what]) => (
				<>
					<dt>
						<kbd>{key}</kbd>
					</dt>
					<dd>{what}</dd>
				</>
			))}
		</dl>
		<p>
			The documents and <Command text="pawl help" /> describe the words: run, step, attempt, gate, checkpoint. <Command text="pawl explain" /> says why pawl reached a verdict.
		</p>
	</Dialog>
)

/** Login is shown without a session. */
function Login({ problem }: { problem?: Problem }) {
	return (
		<main id="main" class="login">
			<h1>
				<img src="icon.svg" alt="" width="40" height="40" /> pawl
			</h1>
			<Wrong problem={problem} />
			<p>To log in, type this command on the machine of the server:</p>
			<p>
				<Command text="pawl serve open" />
			</p>
			<p class="quiet">It prints a link that works once, within two minutes.</p>
		</main>
	)
}

function App() {
	const [problem, setProblem] = useState<Problem>()
	useEffect(() => {
		enter().catch((error) => {
			setProblem(problemOf(error))
			session.value ??= null
		})
	}, [])
	if (session.value === null || problem) return <Login problem={problem} />
	if (session.value === undefined && !hasKey()) return <Loading what="the page" />
	return <Page /> // before the server has said who the user is: most likely the login still holds
}

/** enter exchanges the code of a one-time link for a session, and reads who that is. */
async function enter() {
	const code = location.hash.slice(1)
	if (location.pathname.endsWith("/login") && code) {
		history.replaceState(null, "", new URL(".", location.href.split("#")[0]!).href)
		go(link([]), true)
		await logIn(code)
	}
	session.value = hasKey() ? await get<Session>("session") : null
}

follow()
render(<App />, document.getElementById("page")!)
