/** Path of the console, such as `/console` or `/records/console`: the entry script lies in a folder below it. */
export const base = new URL(/* @vite-ignore */ '..', import.meta.url).pathname.replace(/\/$/, '')

/** A name in what all pages of an origin share. Consoles of several services may be among them. */
export const nameHere = (name: string): string => `${base}:${name}`

/** Texts by name that a browser keeps. */
interface TextStorage {
  get(key: string): string | null
  set(key: string, text: string): void
  remove(key: string): void
  keys(): string[]
}

function attempt<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}

/** Some browsers refuse their storage, or have no room left. Texts then last as long as the page. */
function createStorage(open: () => Storage): TextStorage {
  const memory = new Map<string, string>()
  return {
    get: (key) => memory.get(key) ?? attempt(() => open().getItem(nameHere(key))) ?? null,
    set(key, text) {
      const isStored = attempt(() => open().setItem(nameHere(key), text) ?? true)
      if (isStored) memory.delete(key)
      else memory.set(key, text)
    },
    remove(key) {
      memory.delete(key)
      attempt(() => open().removeItem(nameHere(key)))
    },
    keys() {
      const names = (attempt(() => Object.keys(open())) ?? []).filter((name) => name.startsWith(nameHere('')))
      return [...memory.keys(), ...names.map((name) => name.slice(nameHere('').length))]
    },
  }
}

/** Of all tabs, until somebody clears it. */
export const browserStorage = createStorage(() => localStorage)
/** Of this tab. */
export const tabStorage = createStorage(() => sessionStorage)
