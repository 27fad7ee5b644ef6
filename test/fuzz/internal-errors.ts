import { metrics } from '../../src/telemetry/metrics.ts';

/** Number of unexpected errors of this process: untrusted input must cause none. */
export async function internalErrors(): Promise<number> {
  const text = await metrics.metrics();
  return [...text.matchAll(/^earshot_internal_errors_total\{[^}]*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}
