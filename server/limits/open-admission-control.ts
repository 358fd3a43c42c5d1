import { AdmissionControl } from '../../records/limits/admission/admission-control.ts'
import { type Metrics, observeGauge } from '../telemetry/metrics.ts'

/** Opens the admission control, and shows its numbers in the metrics. */
export function openAdmissionControl(metrics: Metrics): AdmissionControl {
  const admissionControl = new AdmissionControl()
  const running = { name: 'requests_running', help: 'Number of requests that are being carried out' }
  observeGauge(metrics, running, async () => admissionControl.running)
  const waiting = { name: 'requests_waiting', help: 'Number of requests that wait until others are answered' }
  observeGauge(metrics, waiting, async () => admissionControl.waiting)
  return admissionControl
}
