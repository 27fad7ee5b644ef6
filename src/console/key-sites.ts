/** Connections of a routing key by the site at their other end, from all routers of this site. */
import { fieldsIn, numberIn, recordsIn, textIn } from '../text/untrusted-fields.ts';
import type { KeySiteView } from './contract.ts';
import { roles } from './samples.ts';
import type { ConsoleSources } from './sources.ts';

/** Most sites of one key and role that one router lists: those with counts of their own, and `(other)`. */
const MOST_SITES = 101;

/** Routers that do not answer are left out. @param names of sites by ID */
export async function listKeySites(
  sources: ConsoleSources,
  key: string,
  names: ReadonlyMap<string, string>,
): Promise<readonly KeySiteView[]> {
  const path = `/v1/keys/${encodeURIComponent(key)}`;
  const answers = await Promise.all((await sources.routers()).map((router) => sources.ask(router, path).catch(() => undefined)));
  return readKeySites(answers, names);
}

export function readKeySites(answers: readonly unknown[], names: ReadonlyMap<string, string>): readonly KeySiteView[] {
  const found = new Map<string, KeySiteView>();
  for (const answer of answers) {
    for (const role of roles) {
      const ofRole = fieldsIn(fieldsIn(fieldsIn(answer)['figures'])[role]);
      for (const item of recordsIn(ofRole['sites'], MOST_SITES)) {
        const site = textIn(item, 'site', 253) ?? '';
        const bytes = fieldsIn(item['bytes']);
        const before = found.get(`${role} ${site}`);
        const sum = (name: 'opened' | 'failed' | 'up' | 'down', from = item): number => (before?.[name] ?? 0) + (numberIn(from, name) ?? 0);
        found.set(`${role} ${site}`, {
          role,
          site,
          name: names.get(site) ?? site,
          opened: sum('opened'),
          failed: sum('failed'),
          up: sum('up', bytes),
          down: sum('down', bytes),
        });
      }
    }
  }
  return [...found.values()].toSorted((one, other) => other.opened - one.opened);
}
