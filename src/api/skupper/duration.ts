const milliseconds: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration in the format of Go and Kubernetes: `15m`, `1h30m`, `1.5h`.
 * @returns milliseconds, or undefined if it is invalid, zero, or more than a hundred years
 */
export function parseDuration(text: string): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h)){1,4}$/.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit = ''] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) sum += Number(amount) * (milliseconds[unit] ?? Number.NaN);
  return sum > 0 && sum <= 876_600 * 3_600_000 ? sum : undefined;
}
