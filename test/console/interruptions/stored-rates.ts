import type { Patient } from '../../harness/care/patients.ts'
import { assertStatus } from '../../harness/clients/path-client.ts'

interface StoredRate {
  heartRate: number
  timestamp: string
}

/** The heart rates of a patient. */
export const readRates = async (patient: Patient): Promise<StoredRate[]> =>
  assertStatus(await patient.call('GET', 'procedure/heartrate')).items
