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
    get: (key) => memory.get(key) ?? attempt(() => open().getItem(key)) ?? null,
    set(key, text) {
      const isStored = attempt(() => open().setItem(key, text) ?? true)
      if (isStored) memory.delete(key)
      else memory.set(key, text)
    },
    remove(key) {
      memory.delete(key)
      attempt(() => open().removeItem(key))
    },
    keys: () => [...memory.keys(), ...(attempt(() => Object.keys(open())) ?? [])],
  }
}

/** Of all tabs, until somebody clears it. */
export const browserStorage = createStorage(() => localStorage)
/** Of this tab. */
export const tabStorage = createStorage(() => sessionStorage)
