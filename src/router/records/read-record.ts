/** Reads a connection of the router API, of any version (pure). */
import { printable } from '../../text/printable.ts';
import { fieldsIn, numberIn, textIn, type UntrustedFields } from '../../text/untrusted-fields.ts';
import type { ConnectionRecord, RecordState } from './contract.ts';
import { HALVES } from './merge-records.ts';

/** A record with bounded text. */
export function readRecord(item: UntrustedFields, state: RecordState): ConnectionRecord {
  const { from, to, bytes, ms } = item;
  const site = (end: unknown) => ({ site: shown(fieldsIn(end), 'site'), siteName: shown(fieldsIn(end), 'siteName') });
  return {
    id: shown(item, 'id') ?? '',
    key: shown(item, 'key') ?? '',
    state,
    begun: shown(item, 'begun') ?? '',
    ended: shown(item, 'ended'),
    idle: numberIn(item, 'idle') ?? null,
    from: { ...site(from), client: shown(fieldsIn(from), 'client'), listener: shown(fieldsIn(from), 'listener') },
    via: textsIn(item['via']),
    to: { ...site(to), router: shown(fieldsIn(to), 'router'), server: shown(fieldsIn(to), 'server') },
    bytes: { up: numberIn(fieldsIn(bytes), 'up') ?? 0, down: numberIn(fieldsIn(bytes), 'down') ?? 0 },
    ms: { connect: numberIn(fieldsIn(ms), 'connect') ?? null, firstByte: numberIn(fieldsIn(ms), 'firstByte') ?? null },
    // A newer router may have further codes, which are shown as they are.
    end: shown(item, 'end') as ConnectionRecord['end'],
    message: shown(item, 'message'),
    halves: HALVES.filter((half) => textsIn(item['halves']).includes(half)),
    of: numberIn(item, 'of') ?? 1,
  };
}

/** Null for an empty text too. */
const shown = (fields: UntrustedFields, name: string): string | null => textIn(fields, name, MOST_CHARACTERS) || null;

const MOST_CHARACTERS = 512;

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.flatMap((each) => (typeof each === 'string' ? printable(each, MOST_CHARACTERS) : [])) : [];
