import { printable } from './printable.ts';
import { listFirst } from './list-some.ts';

/** Maximum number of names in an error message. */
const MOST_LISTED = 10;

/** Maximum length of compared texts: names are short, and the cost is quadratic. */
const MOST_CHARACTERS = 64;

/**
 * The candidate that a mistyped text most likely means: different case, or at most one typo per three characters. Of equally similar
 * ones, the case decides.
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const lower = text.toLowerCase();
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    const typos = editDistance(lower, candidate.toLowerCase());
    if (typos > Math.floor(candidate.length / 3)) continue;
    // Similar texts have fewer than 1,000 characters, so the case never outweighs a typo.
    const distance = typos + editDistance(text, candidate) / 1_000;
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  return best?.candidate;
}

/** Sorts by distance to the text, then by name; only by name if the text is empty or too long to be compared. */
export function sortByDistance(text: string, candidates: Iterable<string>): readonly string[] {
  const sorted = [...candidates].toSorted();
  if (text === '' || text.length > MOST_CHARACTERS) return sorted;
  const lower = text.toLowerCase();
  const distances = new Map(sorted.map((candidate) => [candidate, editDistance(lower, candidate.toLowerCase())]));
  return sorted.toSorted((one, other) => (distances.get(one) ?? 0) - (distances.get(other) ?? 0));
}

/** Returns `; did you mean port?`, or an empty text. */
export function didYouMean(text: string, candidates: readonly string[]): string {
  const meant = nearest(text, candidates);
  return meant === undefined ? '' : `; did you mean ${meant}?`;
}

/** Returns `; it has api, web`, or an empty text without names. */
export function itHas(names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.map((name) => printable(name));
  return `; it has ${listFirst(shown, MOST_LISTED)}`;
}

/** Number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(one: string, other: string): number {
  let [before, row] = [[] as number[], Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = at(row, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1);
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1] ? at(before, j - 2) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, at(row, j) + 1, at(next, j - 1) + 1));
    }
    [before, row] = [row, next];
  }
  return at(row, other.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Infinity;
