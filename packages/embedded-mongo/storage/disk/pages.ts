/** Reads lmdb's pages without lmdb, which crashes on unexpected pages. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** A fault in a data file. */
export class DamagedFile extends Error {}

/** The parts of a data file that its head tells. */
export interface FileHead {
  /** The file's size at least, in bytes. */
  bytes: number
  /** The number of the last transaction. */
  transaction: number
}

/** Byte offsets in a meta page; the two trees use the same layout. */
const META = { magic: 24, version: 28, address: 32, mapSize: 40, free: 48, main: 96, lastPage: 144, txn: 152 }
const META_BYTES = 160
const TREE = { pageSize: 0, flags: 4, depth: 6, root: 40 }
const PAGE = { number: 0, flags: 18, lower: 20, upper: 22, pages: 20 }
const HEADER = 24
const NODE_HEADER = 8
/** The size of a leaf's reference to overflow pages: first page, transaction, number of pages. */
const LONG_VALUE = 24

const BRANCH = 1
const LEAF = 2
const OVERFLOW = 4
const IS_META = 8
const KINDS = BRANCH | LEAF | OVERFLOW | IS_META | 0x60

const MAX_FILE_BYTES = 2 ** 42
const MAX_DEPTH = 32
/** These top levels of the main tree are always read. */
const TOP_LEVELS = 2

const numberAt = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32

interface Tree {
  root: number
  depth: number
  /** Converts a key to bytes that sort like the tree. */
  sortable(key: Buffer): Buffer
  /** Called with each value. */
  see?(value: Buffer): void
  /** Reads deeper pages only if they may have keys below this one. */
  below?: Buffer | undefined
}

/** A page as its parent page describes it. */
interface Link {
  page: number
  level: number
  low?: Buffer | undefined
  high?: Buffer | undefined
}

/**
 * Checks the meta pages, the tree of free pages and the main tree.
 * @param below limits the main tree to its top levels and pages that may have keys below this. Without it,
 * the whole tree is read, and no page may be used twice.
 * @throws DamagedFile
 */
export const checkPages = (file: string, below?: Buffer): FileHead =>
  withPages(file, (pages) => pages.check(below))

/** @throws DamagedFile */
export const readHead = (file: string): FileHead => withPages(file, (pages) => pages.head())

function withPages<T>(file: string, read: (pages: Pages) => T): T {
  const handle = openSync(file, 'r')
  try {
    return read(new Pages(handle))
  } finally {
    closeSync(handle)
  }
}

class Pages {
  readonly #handle: number
  readonly #size: number
  #pageSize = 0
  #lastPage = 0
  /** One bit for each page that is in use or free. */
  #seenPages: Uint8Array | undefined

  constructor(handle: number) {
    this.#handle = handle
    this.#size = fstatSync(handle).size
  }

  head(): FileHead {
    return this.#headOf(this.#readMeta())
  }

  #headOf(meta: Buffer): FileHead {
    return { bytes: (this.#lastPage + 1) * this.#pageSize, transaction: numberAt(meta, META.txn) }
  }

  check(below?: Buffer): FileHead {
    const meta = this.#readMeta()
    if (!below) this.#seenPages = new Uint8Array(this.#lastPage / 8 + 1)
    this.#walk({
      ...treeAt(meta, META.free),
      sortable: (key) => Buffer.from(key).reverse(),
      see: (list) => this.#checkFree(list),
    })
    this.#walk({ ...treeAt(meta, META.main), sortable: (key) => key, below })
    return this.#headOf(meta)
  }

  /** Reads the valid meta page: the one of the later transaction. */
  #readMeta(): Buffer {
    const first = this.#read(0, META_BYTES)
    this.#pageSize = first.readUInt32LE(META.free + TREE.pageSize)
    if (![9, 10, 11, 12, 13, 14, 15, 16].some((bits) => this.#pageSize === 2 ** bits)) throw noDatabase()
    const metaPages = [first, this.#read(this.#pageSize, META_BYTES)] as const
    for (const [number, meta] of metaPages.entries()) this.#checkMeta(meta, number)
    if (
      metaPages[0].readUInt16LE(META.free + TREE.flags) !== metaPages[1].readUInt16LE(META.free + TREE.flags)
    )
      throw new DamagedFile('has two heads that contradict each other')
    const [latest] = metaPages.toSorted((a, b) => numberAt(b, META.txn) - numberAt(a, META.txn)) as [Buffer]
    this.#lastPage = numberAt(latest, META.lastPage)
    return latest
  }

  #checkMeta(meta: Buffer, number: number): void {
    const version = meta.readUInt32LE(META.version) & 0xffff
    if (meta.readUInt32LE(META.magic) !== 0xbeefc0de || version !== 2) throw noDatabase()
    const bytes = (numberAt(meta, META.lastPage) + 1) * this.#pageSize
    const sound =
      numberAt(meta, PAGE.number) === number &&
      (meta.readUInt16LE(PAGE.flags) & KINDS) === IS_META &&
      meta.readUInt32LE(META.free + TREE.pageSize) === this.#pageSize &&
      numberAt(meta, META.address) === 0 &&
      numberAt(meta, META.lastPage) > 0 &&
      bytes <= Math.min(MAX_FILE_BYTES, numberAt(meta, META.mapSize)) &&
      meta.readUInt16LE(META.main + TREE.flags) === 0 &&
      numberAt(meta, META.txn) < Number.MAX_SAFE_INTEGER
    if (!sound) throw new DamagedFile(`has a damaged head (page ${number})`)
  }

  #walk(tree: Tree): void {
    const { root, depth } = tree
    if (depth === 0 && root === 2 ** 64) return
    if (depth < 1 || depth > MAX_DEPTH) throw new DamagedFile('has a damaged head (the depth of a tree)')
    this.#visit(tree, { page: root, level: 1 })
  }

  #visit(tree: Tree, link: Link): void {
    const isLeaf = link.level === tree.depth
    const bytes = this.#readPage(link.page, isLeaf ? LEAF : BRANCH)
    const nodes = nodesOf(bytes, link.page, isLeaf)
    this.#checkOrder(tree, link, nodes)
    if (isLeaf) for (const node of nodes) this.#checkValue(tree, link.page, node)
    else
      for (const [at, { child, key }] of nodes.entries()) {
        const low = at === 0 ? link.low : tree.sortable(key)
        const next = nodes[at + 1]
        const high = next ? tree.sortable(next.key) : link.high
        if (isNeeded(tree, link.level + 1, low))
          this.#visit(tree, { page: child, level: link.level + 1, low, high })
      }
  }

  /**
   * The keys of a page ascend, within the bounds that its parent gives. The first key of a branch is empty.
   */
  #checkOrder(tree: Tree, { page, level, low, high }: Link, nodes: readonly Node[]): void {
    const keys = nodes.slice(level === tree.depth ? 0 : 1).map(({ key }) => tree.sortable(key))
    const rising = keys.every((key, at) => at === 0 || Buffer.compare(keys[at - 1] as Buffer, key) < 0)
    const first = keys[0]
    const last = keys.at(-1)
    const within =
      !(first && low && Buffer.compare(first, low) < 0) && !(last && high && Buffer.compare(last, high) >= 0)
    if (!rising || !within) throw new DamagedFile(`has foreign keys on page ${page}`)
  }

  #readPage(page: number, kind: number): Buffer {
    this.#markPages(page, 1)
    const bytes = this.#read(page * this.#pageSize, kind === OVERFLOW ? HEADER : this.#pageSize)
    const fits = numberAt(bytes, PAGE.number) === page && (bytes.readUInt16LE(PAGE.flags) & KINDS) === kind
    if (!fits) throw new DamagedFile(`has wrong content on page ${page}`)
    return bytes
  }

  #checkValue(tree: Tree, page: number, { value, length }: Node): void {
    if (length === undefined) {
      tree.see?.(value)
      return
    }
    const first = numberAt(value, 0)
    const pages = numberAt(value, 16)
    const head = this.#readPage(first, OVERFLOW)
    const bytes = head.readUInt32LE(PAGE.pages) * this.#pageSize
    if (head.readUInt32LE(PAGE.pages) !== pages || HEADER + length > bytes)
      throw new DamagedFile(`has a value of the wrong length on page ${page}`)
    this.#markPages(first + 1, pages - 1)
    if ((first + pages) * this.#pageSize > this.#size) throw tooShort()
    tree.see?.(this.#read(first * this.#pageSize + HEADER, length))
  }

  /**
   * Checks a list of free pages: first its length, then numbers. Each is 0, a page, or the negative length of
   * a run and then its first page.
   */
  #checkFree(list: Buffer): void {
    const count = list.length < 8 ? -1 : numberAt(list, 0)
    const createError = () => new DamagedFile('has a damaged list of free pages')
    if (count < 0 || 8 * (count + 1) > list.length) throw createError()
    for (let at = 8; at <= 8 * count; at += 8) {
      const entry = Number(list.readBigInt64LE(at))
      if (entry < 0) at += 8
      if (at > 8 * count) throw createError()
      if (entry !== 0) this.#markPages(numberAt(list, at), entry < 0 ? -entry : 1)
    }
  }

  /** Marks pages as in use or free. */
  #markPages(from: number, count: number): void {
    if (count === 0) return
    if (!(from > 1 && from + count - 1 <= this.#lastPage))
      throw new DamagedFile(`uses page ${from}, which does not exist`)
    const seenPages = this.#seenPages
    for (let page = from; seenPages && page < from + count; page++) {
      const bit = 1 << (page & 7)
      if ((seenPages[page >> 3] as number) & bit) throw new DamagedFile(`uses page ${page} twice`)
      seenPages[page >> 3] = (seenPages[page >> 3] as number) | bit
    }
  }

  #read(at: number, length: number): Buffer {
    if (at + length > this.#size) throw this.#pageSize === 0 ? noDatabase() : tooShort()
    const bytes = Buffer.allocUnsafe(length)
    for (let bytesRead = 0; bytesRead < length; ) {
      const read = readSync(this.#handle, bytes, bytesRead, length - bytesRead, at + bytesRead)
      if (read === 0) throw tooShort()
      bytesRead += read
    }
    return bytes
  }
}

const noDatabase = () => new DamagedFile('is not a database')
const tooShort = () => new DamagedFile('is shorter than its content')

const treeAt = (meta: Buffer, at: number) => ({
  root: numberAt(meta, at + TREE.root),
  depth: meta.readUInt16LE(at + TREE.depth),
})

/** With `below`, only the top levels and pages with keys below it are needed. */
const isNeeded = ({ below }: Tree, level: number, low: Buffer | undefined): boolean =>
  !below || level <= TOP_LEVELS || !low || Buffer.compare(low, below) < 0

interface Node {
  key: Buffer
  /** In a branch: the child page. */
  child: number
  value: Buffer
  /** The length of a value on overflow pages. */
  length?: number
}

const nodesOf = (page: Buffer, number: number, isLeaf: boolean): Node[] => {
  const lower = page.readUInt16LE(PAGE.lower)
  const upper = page.readUInt16LE(PAGE.upper)
  const createError = () => new DamagedFile(`has a damaged page (${number})`)
  const bytes = page.subarray(HEADER)
  const count = lower / 2
  if (!Number.isInteger(count) || count < (isLeaf ? 1 : 2) || lower > upper || upper > bytes.length)
    throw createError()
  return Array.from({ length: count }, (_, i) => {
    const at = bytes.readUInt16LE(2 * i)
    if (at < upper || at % 2 === 1 || at + NODE_HEADER > bytes.length) throw createError()
    const node = isLeaf ? leafNode(bytes, at) : branchNode(bytes, at)
    if (!node) throw createError()
    return node
  })
}

const leafNode = (bytes: Buffer, at: number): Node | undefined => {
  const length = bytes.readUInt32LE(at)
  const flags = bytes.readUInt16LE(at + 4)
  const start = at + NODE_HEADER + bytes.readUInt16LE(at + 6)
  const end = start + (flags === 1 ? LONG_VALUE : length)
  if (flags > 1 || start === at + NODE_HEADER || end > bytes.length) return undefined
  const node = { key: bytes.subarray(at + NODE_HEADER, start), child: 0, value: bytes.subarray(start, end) }
  return flags === 1 ? { ...node, length } : node
}

const branchNode = (bytes: Buffer, at: number): Node | undefined => {
  const child = bytes.readUInt32LE(at) + bytes.readUInt16LE(at + 4) * 2 ** 32
  const end = at + NODE_HEADER + bytes.readUInt16LE(at + 6)
  return end > bytes.length
    ? undefined
    : { key: bytes.subarray(at + NODE_HEADER, end), child, value: bytes.subarray(end, end) }
}
