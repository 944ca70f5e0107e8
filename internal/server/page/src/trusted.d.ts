// Trusted Types, as far as the page uses them.
interface TrustedTypePolicy {
	createScriptURL(text: string): object
}

interface Window {
	trustedTypes?: {
		createPolicy(name: string, rules: { createScriptURL?: (text: string) => string }): TrustedTypePolicy
	}
}
