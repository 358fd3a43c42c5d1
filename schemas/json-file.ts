/** A JSON file that an operator supplies. */
export interface JsonFile {
  /** Of the file, for who has to mend it. */
  name: string
  content?: unknown
  /** Why its content is not known. */
  fault?: string
}
