/** Message about a selector that matches no pod, with the label that a mistyped one most likely means (pure). */
import { nearest } from '../../text/nearest.ts';
import { quoted } from '../../text/printable.ts';
import type { SelectablePod } from '../material.ts';
import { NO_MATCHES } from '../observe/message-format.ts';
import { parseSelector, selects, type LabelSelector } from './label-selector.ts';

type Labels = SelectablePod['labels'];

/** A router plans too, so fewer texts are compared than for an explanation. */
const MOST_COMPARED = 200;

/** @param where clause after `no pod`: ` of this namespace`; may be empty */
export function noPodsMessage(selectorText: string, pods: readonly Pick<SelectablePod, 'labels'>[], where = ''): string {
  const parsed = parseSelector(selectorText);
  const all = pods.map(({ labels }) => labels);
  const meant = 'selector' in parsed ? similarLabel(parsed.selector, all) : undefined;
  const end = meant === undefined ? '.' : `; did you mean ${quoted(meant)}?`;
  return `${NO_MATCHES}: no pod${where} that is running and ready has ${quoted(selectorText)}${end}`;
}

/** A label of pods that fulfil all other requirements. Undefined if pods fulfil this one too, since they are only not ready. */
function similarLabel(selector: LabelSelector, pods: readonly Labels[]): string | undefined {
  if (pods.some((labels) => selects(selector, labels))) return undefined;
  for (const wrong of selector) {
    const others = selector.filter((each) => each !== wrong);
    const meant = correct(
      wrong,
      pods.filter((labels) => selects(others, labels)),
    );
    if (meant !== undefined) return meant;
  }
  return undefined;
}

/** Corrects a typing error in the value or in the key of `key=value`. */
function correct({ key, equals }: LabelSelector[number], pods: readonly Labels[]): string | undefined {
  if (equals === undefined) return undefined;
  const values = pods.flatMap((labels) => (Object.hasOwn(labels, key) ? (labels[key] ?? []) : []));
  const value = nearestOf(equals, values);
  if (value !== undefined) return `${key}=${value}`;
  const keys = pods.flatMap((labels) => Object.keys(labels).filter((each) => labels[each] === equals));
  const meant = nearestOf(key, keys);
  return meant === undefined ? undefined : `${meant}=${equals}`;
}

/** Sorted, so that the status of each router has the same of several equally similar ones. */
function nearestOf(text: string, candidates: readonly string[]): string | undefined {
  return nearest(text, [...new Set(candidates)].toSorted().slice(0, MOST_COMPARED));
}
