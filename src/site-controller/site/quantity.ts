/** A resource quantity, with its text in the canonical form of the API server. */
export interface Quantity {
  /** Amount in thousandths. */
  readonly amount: bigint;
  readonly text: string;
}

/**
 * Parses `500m`, `1.5` or `256Mi` (resource.Quantity). The text is in the API server's canonical form, since any other form would differ
 * from the stored one forever.
 * @returns undefined if the text is not a quantity or is negative
 */
export function quantity(text: string): Quantity | undefined {
  const [, whole, fraction = '', unit = ''] = QUANTITY.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const scale = UNITS[unit] ?? 0n;
  const amount = (BigInt(whole + fraction) * scale) / 10n ** BigInt(fraction.length);
  return { amount, text: canonical(amount, unit.endsWith('i') ? BINARY : DECIMAL) };
}

/** Enough digits for the resources of any machine. */
const QUANTITY = /^\+?(\d{1,15})(?:\.(\d{1,6}))?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;

const DECIMAL: readonly (readonly [string, bigint])[] = [
  ['P', 10n ** 18n],
  ['T', 10n ** 15n],
  ['G', 10n ** 12n],
  ['M', 10n ** 9n],
  ['k', 10n ** 6n],
  ['', 1000n],
  ['m', 1n],
];
const BINARY: readonly (readonly [string, bigint])[] = [
  ['Pi', 1000n * 2n ** 50n],
  ['Ti', 1000n * 2n ** 40n],
  ['Gi', 1000n * 2n ** 30n],
  ['Mi', 1000n * 2n ** 20n],
  ['Ki', 1000n * 2n ** 10n],
  ['', 1000n],
  ['m', 1n],
];
const UNITS: Readonly<Record<string, bigint>> = Object.fromEntries([...DECIMAL, ...BINARY]);

/** Uses the largest unit that gives a whole number. */
function canonical(amount: bigint, units: typeof DECIMAL): string {
  if (amount === 0n) return '0';
  const [unit, scale] = units.find(([, each]) => amount % each === 0n) ?? ['m', 1n];
  return `${amount / scale}${unit}`;
}
