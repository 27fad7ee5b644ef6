/** The value below which this share of the samples lies, by nearest rank: always one that was measured. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new TypeError('no samples, no percentile');
  return value;
}

/** The middle sample; of an even number, the mean of the two in the middle. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const below = sorted[Math.ceil(sorted.length / 2) - 1];
  const above = sorted[Math.floor(sorted.length / 2)];
  if (below === undefined || above === undefined) throw new TypeError('no samples, no median');
  return (below + above) / 2;
}
