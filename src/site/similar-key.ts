/** Finds the routing key that a mistyped one most likely means (pure). */
import { nearest } from '../text/nearest.ts';
import { quoted, shownValue } from '../text/printable.ts';

/** A routing key that a site has at the looked-for end. */
export interface OfferedKey {
  readonly key: string;
  /** Name of the site. */
  readonly site: string;
}

export interface SimilarKey {
  readonly meant: string;
  /** Names of sites that have it, safe to display. */
  readonly sites: readonly string[];
}

/** Comparing a key with another takes about a microsecond for each character. */
const MOST_COMPARED = 2_000;
const MOST_NAMED = 8;

/** A key that differs in case or by a typing error; undefined if none is similar. */
export function similarKey(key: string, offered: readonly OfferedKey[]): SimilarKey | undefined {
  const meant = nearest(key, [...new Set(offered.map((each) => each.key))].slice(0, MOST_COMPARED));
  if (meant === undefined) return undefined;
  const sites = new Set(offered.filter((each) => each.key === meant).map(({ site }) => shownValue(site)));
  return { meant, sites: [...sites].slice(0, MOST_NAMED) };
}

/** `did you mean "web" (east)?` */
export const similarKeyText = ({ meant, sites }: SimilarKey): string => `did you mean ${quoted(meant)} (${sites.join(', ')})?`;
