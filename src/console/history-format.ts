/** Encoding of one step of the history in its file (pure): for each series its number, a mask of its fields, and a float for each. */
import { historyFields, historySteps, type HistoryField, type Point } from './history.ts';

// The table is keyed by field.
const FIELDS = Object.keys(historyFields) as readonly HistoryField[];

/** A file with another format is from another version. */
export const HISTORY_FORMAT = JSON.stringify({ fields: FIELDS, steps: historySteps, entry: 1 });

/** Bytes of the series' number and of the mask, and of one value. */
const [HEAD, VALUE] = [6, 4];

export function encodeStep(entries: readonly (readonly [series: number, point: Point])[]): Buffer {
  const values = entries.reduce((sum, [, point]) => sum + Object.keys(point).length, 0);
  const data = Buffer.alloc(entries.length * HEAD + values * VALUE);
  let at = 0;
  for (const [series, point] of entries) {
    const head = at;
    let mask = 0;
    at += HEAD;
    for (const [bit, field] of FIELDS.entries()) {
      const value = point[field];
      if (value === undefined) continue;
      mask |= 1 << bit;
      at = data.writeFloatLE(value, at);
    }
    data.writeUInt16LE(mask, data.writeUInt32LE(series, head));
  }
  return data;
}

/** @throws RangeError if the data is cut off */
export function* decodeStep(data: Uint8Array): Iterable<readonly [series: number, point: Point]> {
  const buffer = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  for (let at = 0; at < buffer.length;) {
    const [series, mask] = [buffer.readUInt32LE(at), buffer.readUInt16LE(at + 4)];
    const point: Partial<Record<HistoryField, number>> = {};
    at += HEAD;
    for (const [bit, field] of FIELDS.entries()) {
      if ((mask & (1 << bit)) === 0) continue;
      point[field] = buffer.readFloatLE(at);
      at += VALUE;
    }
    yield [series, point];
  }
}
