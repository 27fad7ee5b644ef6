/** Explains an object of the connection half from the facts about its site (pure). */
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { explainChain } from '../chain.ts';
import { nameOf } from '../../site/resources.ts';
import { hostPort } from '../../text/host-port.ts';
import type { Explanation } from '../step.ts';
import { attachedRungs, connectorRungs } from './connector.ts';
import { headRungs, type Subject } from './head.ts';
import { linkRungs, problemOfLink } from './link.ts';
import { keysOf, listenerRungs, listenerTitle } from './listener.ts';
import { problemOfObject } from './object-problem.ts';
import { reachSteps } from './reach-steps.ts';
import { rungChecks, type Rung } from './rungs.ts';
import { accessRungs, siteRungs } from './site.ts';
import { valueOf, type SiteFacts } from './site-facts.ts';
import { certificateRungs, grantRungs, tokenRungs } from './trust.ts';

/** @returns undefined if the object does not exist */
export function explainConnection(facts: SiteFacts, kind: SkupperKind, name: string): Explanation | undefined {
  const found = valueOf(facts.objects)?.find((object) => object.kind === kind && nameOf(object) === name);
  const isWritten = valueOf(facts.written)?.some((object) => object.kind === kind && object.name === name) === true;
  const hasProblem = valueOf(facts.problems)?.some(({ resource }) => resource === `${kind}/${name}`) === true;
  const isListed = 'value' in facts.objects && facts.refused?.has(kind) !== true;
  if (found === undefined && !isWritten && !hasProblem && isListed) return undefined;
  const subject: Subject = { kind, name, found };
  const reported = found === undefined ? undefined : problemOfObject(found);
  const problem = found?.kind === 'Link' ? problemOfLink(found, facts, reported) : reported;
  return explainChain(`${kind}/${name}`, rungChecks(`${kind}/${name}`, rungsOf(facts, subject), problem), new Date(facts.now));
}

/** Steps of the chain of any kind. Each code of a status belongs to one of them. */
export function rungsOf(facts: SiteFacts, subject: Subject): readonly Rung[] {
  const { found } = subject;
  if (found === undefined || !isRead(found)) return headRungs(facts, subject);
  switch (found.kind) {
    case 'Listener':
    case 'MultiKeyListener':
      return listenerRungs(facts, subject, found);
    case 'Connector':
      return connectorRungs(facts, subject, found);
    case 'AttachedConnector':
      return attachedRungs(facts, subject, found);
    case 'AttachedConnectorBinding':
      return attachedRungs(facts, subject, undefined);
    case 'Link':
      return linkRungs(facts, subject, found);
    case 'Site':
      return siteRungs(facts, subject, found);
    case 'RouterAccess':
    case 'SecuredAccess':
      return accessRungs(facts, subject, found);
    case 'AccessGrant':
      return grantRungs(facts, subject, found);
    case 'AccessToken':
      return tokenRungs(facts, subject, found);
    case 'Certificate':
      return certificateRungs(facts, subject, found);
  }
}

/** Explains a routing key: which sites have it, and the path to its connectors. @returns undefined if no reachable site has it */
export function explainKey(facts: SiteFacts, key: string): Explanation | undefined {
  const object = `key/${key}`;
  const sites = valueOf(facts.network)?.sites;
  const isUsed = sites?.some((site) => site.keys.some((each) => each.key === key));
  const sides = (['listeners', 'connectors'] as const).map((side) =>
    reachSteps(facts, { prefix: side === 'listeners' ? 'clients' : 'key', object, key, side }),
  );
  const steps = sides.flat();
  const isSimilar = steps.some((step) => step.facts?.['meant'] !== undefined);
  if (isUsed === false && !isSimilar) return undefined;
  const checks = steps.map((step) => ({ id: step.id, object, independent: true, run: () => step }));
  return explainChain(object, checks, new Date(facts.now));
}

/** Routing keys of a Listener or a MultiKeyListener, from the client to the servers. */
export function listenedKeys(facts: SiteFacts, kind: SkupperKind, name: string): readonly string[] {
  const found = valueOf(facts.objects)?.find((object) => object.kind === kind && nameOf(object) === name);
  return found === undefined || found.kind === 'Connector' ? [] : routingKeysOf(found);
}

/** Routing keys that a Listener, a MultiKeyListener or a Connector names; empty for other kinds. */
export function routingKeysOf(object: SkupperResource): readonly string[] {
  if (!isRead(object)) return [];
  if (object.kind === 'Connector') return [object.spec.routingKey];
  return object.kind === 'Listener' || object.kind === 'MultiKeyListener' ? keysOf(object) : [];
}

/** Whether the spec could be read: an unreadable resource has a status only. */
function isRead({ kind, spec }: SkupperResource): boolean {
  return OPTIONAL.has(kind) || Object.keys(spec).length > 0;
}

/** Kinds without a required field. */
const OPTIONAL: ReadonlySet<SkupperKind> = new Set(['Site', 'AccessGrant']);

/** What a head line says about the object besides its name; empty if nothing. */
export function titleOf(object: SkupperResource | undefined): string {
  if (object === undefined || !isRead(object)) return '';
  if (object.kind === 'Listener' || object.kind === 'MultiKeyListener') return listenerTitle(object);
  if (object.kind !== 'Connector') return '';
  const { routingKey, host, selector, port } = object.spec;
  return `key ${JSON.stringify(routingKey)}, ${hostPort({ host: host ?? selector ?? '', port })}`;
}
