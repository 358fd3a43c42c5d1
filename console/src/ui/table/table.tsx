import type { Key, ReactElement, ReactNode } from 'react'
import { isolate } from '../../texts/translate.ts'

/** A row, with a cell for each heading. */
export interface TableRow {
  key: Key
  cells: readonly ReactNode[]
}

interface TableProps {
  /** The heading of each column. */
  heads: readonly string[]
  caption?: ReactElement
  rows: readonly TableRow[]
  /** Position of the column that names the rows. */
  nameColumn?: number
  /** Whether the last column has links only, so that paper has no use for it. */
  endsWithLinks?: boolean
}

const cellContent = (cell: ReactNode) => (typeof cell === 'string' ? isolate(cell) : cell)

/** A table. In a narrow place each row is a card, and each cell says its heading. */
export const Table = ({ heads, caption, rows, nameColumn = 0, endsWithLinks }: TableProps) => (
  <div className="scroll">
    <table className={endsWithLinks ? 'ends-with-links' : undefined}>
      {caption}
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {heads.map((head, at) =>
              at === nameColumn ? (
                <th key={head} scope="row">
                  {cellContent(cells[at])}
                </th>
              ) : (
                <td key={head} data-head={head}>
                  {cellContent(cells[at])}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
