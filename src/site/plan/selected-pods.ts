/** Pods that are the servers of a connector. */
import type { SelectablePod } from '../material.ts';
import { parseSelector, selects } from './label-selector.ts';

export interface SelectedPod {
  readonly name: string;
  readonly ip: string;
}

/**
 * Pods that accept connections, sorted by name.
 * @returns what is wrong if the text is not a selector
 */
export function selectPods(
  selectorText: string,
  pods: readonly SelectablePod[],
  includeNotReady: boolean,
): readonly SelectedPod[] | { readonly wrong: string } {
  const parsed = parseSelector(selectorText);
  if ('wrong' in parsed) return parsed;
  return pods
    .filter(({ running, ready, labels }) => running && (ready || includeNotReady) && selects(parsed.selector, labels))
    .flatMap(({ name, ip }) => (ip === undefined ? [] : [{ name, ip }]))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
