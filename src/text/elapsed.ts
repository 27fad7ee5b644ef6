/** Formats an elapsed time for a table with its two largest units, such as `3h12m`. */
export function elapsed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const index = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[index] ?? ['s', 1];
  const [smaller, smallerSize] = UNITS[index + 1] ?? ['', 1];
  const rest = Math.floor((seconds % size) / smallerSize);
  return `${Math.floor(seconds / size)}${unit}${smaller === '' || rest === 0 ? '' : `${rest}${smaller}`}`;
}

const UNITS: readonly (readonly [unit: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];
