import { metrics } from '../../src/telemetry/metrics.ts';

/** How many errors this process has met that nobody expected: what strangers send must cause none. */
export async function internalErrors(): Promise<number> {
  const text = await metrics.metrics();
  return [...text.matchAll(/^earshot_internal_errors_total\{[^}]*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}
