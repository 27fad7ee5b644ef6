/** `earshot wait`. */
import { isDeepStrictEqual } from 'node:util';
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { validateResource } from '../../api/skupper/validate.ts';
import type { Resources } from '../../platform/resources.ts';
import { isPast, isReady, overviewKinds } from '../../site/overview.ts';
import type { KeyedKind } from '../../site/resources.ts';
import { quoted } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import { keyedKindNamed, kindNamed, namedIn, notHere, type Named } from './kind-names.ts';
import { namesOf } from './resource-actions.ts';
import { plain, stateOf, waitUntil, type Context, type Look } from './waiting.ts';

export interface WaitWords {
  /** Goal, such as `Ready`, `condition=Configured=False` or `delete`. */
  readonly for: string;
  readonly all?: boolean;
  /** Timeout in milliseconds for all resources together. */
  readonly timeout: number;
}

/** @throws CliError not-ready with the reason if the goal is not reached in time */
export async function waitFor(context: Context, words: readonly string[], { for: what, all, timeout }: WaitWords): Promise<void> {
  const goal = goalIn(what);
  const end = performance.now() + timeout;
  const named = all === true ? await allOf(context.resources, words, goal) : namedIn(words, keyedKindNamed, ', or --all');
  for (const [index, { kind, name }] of named.entries()) {
    const left = index === 0 ? timeout : Math.max(0, end - performance.now());
    await waitUntil(context, `${kind} "${name}" to be ${goal.text}`, left, () => look(context.resources, { kind, name }, goal));
    context.terminal.out(`${kind} "${name}" is ${goal.text}.\n`);
  }
}

async function allOf(resources: Resources, words: readonly string[], goal: Goal): Promise<readonly Named[]> {
  if (words.some((word) => word.includes('/')))
    throw new CliError('usage', '--all waits for all resources, or for all of some kinds: omit the names.');
  const kinds = words.length === 0 ? (['Site', ...overviewKinds] as const) : words.map(kindNamed);
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const objects: readonly SkupperResource[] = await resources.list(kind);
      // Past objects are skipped: a token that became a link stays ready, and an expired one never becomes ready.
      const meant = goal.isGone ? objects : objects.filter((object) => !isPast(object, Date.now()));
      return meant.map(({ metadata }) => ({ kind, name: metadata.name ?? '' }));
    }),
  );
  if (words.length === 0 && (await namesOf(resources, 'Site')).length === 0)
    throw new CliError('not-found', `The namespace ${resources.namespace} has no site.`);
  return found.flat();
}

interface Goal {
  /** Text for users. */
  readonly text: string;
  readonly isGone: boolean;
  isReached(resource: Pick<SkupperResource, 'status'>): boolean;
}

/**
 * Parses a goal as in `kubectl wait`; `condition=` is optional.
 * @throws CliError usage
 */
export function goalIn(text: string): Goal {
  const [, type, expected = 'True'] = /^(?:condition=)?([A-Za-z]+)(?:=([A-Za-z]+))?$/.exec(text) ?? [];
  if (type === undefined) throw new CliError('usage', `--for ${quoted(text)} is invalid: use a condition such as Ready, or delete.`);
  const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
  if (same(type, 'delete')) return { text: 'deleted', isGone: true, isReached: () => false };
  return {
    text: expected === 'True' ? type : `${type}=${expected}`,
    isGone: false,
    isReached: (resource) =>
      (same(type, 'Ready') && same(expected, 'True') && isReady(resource)) ||
      (resource.status?.conditions ?? []).some((condition) => same(condition.type, type) && same(condition.status, expected)),
  };
}

async function look(resources: Resources, { kind, name }: Named<KeyedKind>, goal: Goal): Promise<Look<undefined>> {
  const [{ isWritten, found, isProcessed }, stopped] = await Promise.all([
    kind === 'NetworkObserver' ? seeObserver(resources, name) : seeResource(resources, kind, name),
    resources.notRunning(),
  ]);
  if (goal.isGone) return !isWritten && (found === undefined || stopped !== undefined) ? REACHED : { waitingFor: 'it exists' };
  if (stopped !== undefined) return { waitingFor: `no process runs the namespace ${resources.namespace}` };
  if (found === undefined) return { waitingFor: isWritten ? 'the site has not adopted it' : 'it does not exist' };
  if (!isProcessed) return { waitingFor: 'the site has not adopted its last change' };
  if (goal.isReached(found)) return REACHED;
  return { waitingFor: stateOf(found) };
}

const REACHED = { done: undefined };

interface Seen {
  readonly isWritten: boolean;
  /** As the site has adopted it. */
  readonly found: Pick<SkupperResource, 'status'> | undefined;
  /** Whether the status is about the spec that is written now. */
  readonly isProcessed: boolean;
}

async function seeResource(resources: Resources, kind: SkupperKind, name: string): Promise<Seen> {
  const [written, found] = await Promise.all([resources.find(kind, name), resources.get(kind, name)]);
  return { isWritten: written !== undefined, found, isProcessed: found !== undefined && isCurrent(found, written?.manifest) };
}

/** A NetworkObserver has the conditions of Skupper's operator: it is Ready if it is Deployed. @throws CliError usage on a machine */
async function seeObserver(resources: Resources, name: string): Promise<Seen> {
  if (resources.findObserver === undefined) throw notHere('NetworkObserver');
  const found = await resources.findObserver(name);
  const generation = found?.metadata.generation;
  const conditions = found?.status?.conditions ?? [];
  const deployed = conditions.find(({ type }) => type === 'Deployed');
  const status = { status: deployed?.status === 'True' ? 'Ready' : 'Pending', message: deployed?.message ?? '', conditions } as const;
  return {
    isWritten: found !== undefined,
    found: found && { status },
    isProcessed: deployed !== undefined && (deployed.observedGeneration ?? generation) === generation,
  };
}

function isCurrent({ spec }: SkupperResource, manifest: object | undefined): boolean {
  const resource = manifest === undefined ? undefined : validateResource(manifest).resource;
  return resource === undefined || isDeepStrictEqual(plain(spec), plain(resource.spec));
}
