/** An amount of a resource, with the text by which the API server shows it. */
export interface Quantity {
  /** Thousandths. */
  readonly amount: bigint;
  readonly text: string;
}

/**
 * `500m`, `1.5`, `256Mi` (resource.Quantity). In the form that the API server gives it, since another would differ from what it keeps for
 * ever. Undefined where it is none, or negative.
 */
export function quantity(text: string): Quantity | undefined {
  const [, whole, fraction = '', unit = ''] = QUANTITY.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const scale = UNITS[unit] ?? 0n;
  const amount = (BigInt(whole + fraction) * scale) / 10n ** BigInt(fraction.length);
  return { amount, text: canonical(amount, unit.endsWith('i') ? BINARY : DECIMAL) };
}

/** Digits enough for anything that a machine can have. */
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

/** By the largest unit of which it is a whole number. */
function canonical(amount: bigint, units: typeof DECIMAL): string {
  if (amount === 0n) return '0';
  const [unit, scale] = units.find(([, each]) => amount % each === 0n) ?? ['m', 1n];
  return `${amount / scale}${unit}`;
}
