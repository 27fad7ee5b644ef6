/** The latest changes of conditions, as the routers of a site have them. */
import { fieldsIn, recordsIn, textIn, type UntrustedFields } from '../text/untrusted-fields.ts';
import type { ChangeView } from './contract.ts';
import { versionOf } from './facts.ts';

/** Number of changes that the console shows. */
const MOST_SHOWN = 20;
const [MOST_NAME, MOST_MESSAGE] = [253, 1_024];

export class LatestChanges {
  /** Versions of the routers' lists, so that each change is read once. */
  readonly #versions = new Map<string, string>();
  #items: readonly ChangeView[] = [];

  /** The latest first. */
  get items(): readonly ChangeView[] {
    return this.#items;
  }

  /** Path of the router's changes since the last answer. */
  pathFor(router: string): string {
    const version = this.#versions.get(router);
    return version === undefined ? '/v1/changes' : `/v1/changes?since=${encodeURIComponent(version)}`;
  }

  /** @param answer of the router at `pathFor`, the latest first; undefined if it has no such path */
  add(router: string, answer: unknown): void {
    const version = versionOf(answer);
    if (version === undefined) return;
    this.#versions.set(router, version);
    const fresh = withoutAggregates(recordsIn(fieldsIn(answer)['items'], MOST_READ).map(changeOf));
    if (fresh.length === 0) return;
    this.#items = [...fresh, ...this.#items].toSorted((one, other) => other.at.localeCompare(one.at)).slice(0, MOST_SHOWN);
  }
}

const MOST_READ = 512;

function changeOf(item: UntrustedFields): ChangeView {
  const text = (name: keyof ChangeView, most = MOST_NAME): string => textIn(item, name, most) ?? '';
  return {
    at: text('at'),
    kind: text('kind'),
    name: text('name'),
    type: text('type'),
    status: text('status'),
    reason: text('reason'),
    message: text('message', MOST_MESSAGE),
  };
}

/** `Ready` says nothing more than another condition of the same object that changed at the same time. */
function withoutAggregates(items: readonly ChangeView[]): readonly ChangeView[] {
  const placeOf = ({ at, kind, name }: ChangeView): string => `${at} ${kind}/${name}`;
  const explained = new Set(items.filter(({ type }) => type !== 'Ready').map(placeOf));
  return items.filter((item) => item.type !== 'Ready' || !explained.has(placeOf(item)));
}
