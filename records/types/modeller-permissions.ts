import type { Permissions } from '../store/documents/caller.ts'

/** Every logged-in user may read these definitions; the operation has checked the right to change them. */
export const MODELLER_PERMISSIONS: Permissions = { read: ['*'], write: ['role:modeller'] }
