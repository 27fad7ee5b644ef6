/** Parses a whole number of bytes in Kubernetes' format, such as `256Mi`; undefined if it is invalid. */
export function byteSize(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,15})(Ki|Mi|Gi|Ti|k|M|G|T)?$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit] ?? 1);
}

const UNITS: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
