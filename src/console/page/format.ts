/** Texts of numbers, times and durations. */

/** For example `3 min`. */
export function duration(time: number): string {
  const seconds = Math.max(0, Math.round(time / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

export function count(value: number | undefined): string {
  return value === undefined ? '–' : value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

export function bytes(value: number | undefined): string {
  if (value === undefined) return '–';
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** power;
  return `${scaled.toLocaleString('en', { maximumFractionDigits: scaled < 10 && power > 0 ? 1 : 0 })} ${UNITS[power]}`;
}

export function rate(value: number | undefined): string {
  return value === undefined ? '–' : `${count(value)}/s`;
}

export function byteRate(value: number | undefined): string {
  return value === undefined ? '–' : `${bytes(value)}/s`;
}

export function milliseconds(value: number | undefined): string {
  if (value === undefined) return '–';
  return value >= 1000 ? `${count(value / 1000)} s` : `${count(value)} ms`;
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
