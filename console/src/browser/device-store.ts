import { nameHere } from './storage.ts'

/** A record that is kept on this device for an account. */
export interface DeviceRecord {
  account: string
  key: string
}

/** Records on this device, which outlast the tab and the browser. Accounts do not see each other's. */
export interface DeviceStore<T extends DeviceRecord> {
  readAll(account: string): Promise<T[]>
  put(record: T): Promise<void>
  /** Unless it was removed meanwhile. */
  replace(record: T): Promise<void>
  remove(record: DeviceRecord): Promise<void>
  removeAll(account: string): Promise<void>
}

const RECORDS = 'records'
const KEY_PATH = ['account', 'key'] satisfies (keyof DeviceRecord)[]

const keyOf = ({ account, key }: DeviceRecord) => [account, key]
/** IndexedDB sorts a list after all texts. */
const allOf = (account: string) => IDBKeyRange.bound([account], [account, []])

function open(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(nameHere(name), 1)
    opening.onupgradeneeded = () => opening.result.createObjectStore(RECORDS, { keyPath: KEY_PATH })
    opening.onsuccess = () => resolve(opening.result)
    opening.onerror = () => reject(opening.error)
  })
}

/** Keeps records in IndexedDB under a name. Its methods reject where the browser keeps nothing. */
export function createDeviceStore<T extends DeviceRecord>(name: string): DeviceStore<T> {
  async function run<R>(
    mode: IDBTransactionMode,
    work: (records: IDBObjectStore) => IDBRequest<R>,
  ): Promise<R> {
    const database = await open(name)
    try {
      // Strict: on the disk before it counts as kept.
      const transaction = database.transaction(RECORDS, mode, { durability: 'strict' })
      const request = work(transaction.objectStore(RECORDS))
      await new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve()
        transaction.onabort = () => reject(transaction.error)
      })
      return request.result
    } finally {
      database.close()
    }
  }
  return {
    readAll: (account) => run<T[]>('readonly', (records) => records.getAll(allOf(account))),
    async put(record) {
      await run('readwrite', (records) => records.put(record))
    },
    async replace(record) {
      await run('readwrite', (records) => {
        const finding = records.getKey(keyOf(record))
        finding.onsuccess = () => finding.result !== undefined && records.put(record)
        return finding
      })
    },
    remove: (record) => run('readwrite', (records) => records.delete(keyOf(record))),
    removeAll: (account) => run('readwrite', (records) => records.delete(allOf(account))),
  }
}
