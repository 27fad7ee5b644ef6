import type { Listener, MultiKeyListener } from '../../api/skupper/index.ts';
import { shellWord } from '../../text/shell-word.ts';
import { nameOf } from '../../site/resources.ts';
import { commandIn } from '../../text/command-in.ts';
import { hostPort } from '../../text/host-port.ts';
import { shownValue } from '../../text/printable.ts';
import { bundleStep } from './bundle-steps.ts';
import { BUNDLE_CODES, NETWORK_CODES, PORT_CODES } from './code-groups.ts';
import { historyStep } from './history-step.ts';
import { headRungs, stepPrefix, type Subject } from './head.ts';
import type { ObjectProblem } from './object-problem.ts';
import { probedServer } from './probe-steps.ts';
import { reachSteps, type Reach } from './reach-steps.ts';
import type { Rung } from './rungs.ts';
import type { SiteFacts } from './site-facts.ts';
import type { Step } from '../step.ts';

/** Steps of a Listener or a MultiKeyListener, from the client's port to the servers. */
export function listenerRungs(facts: SiteFacts, subject: Subject, listener: Listener | MultiKeyListener): readonly Rung[] {
  const prefix = stepPrefix(listener.kind);
  const { host, port, tlsCredentials } = listener.spec;
  const keys = keysOf(listener);
  return [
    ...headRungs(facts, subject),
    { id: `${prefix}.tls`, codes: BUNDLE_CODES, passes: 'usable', refine: (step) => bundleStep(step, facts, tlsCredentials) },
    { id: `${prefix}.host`, codes: ['host-not-local', 'name-unknown', ...NETWORK_CODES], passes: `${shownValue(host)} is an address here` },
    {
      id: `${prefix}.port`,
      codes: PORT_CODES,
      passes: `${port} is open`,
      refine: (step, problem) => portStep(step, facts, problem, listener),
    },
    {
      id: `${prefix}.key`,
      codes: ['no-connector'],
      condition: listener.kind === 'Listener' ? 'Matched' : 'Operational',
      passes: 'offered',
      refine: (_, problem) => keySteps(facts, { prefix, keys, listener, problem }),
    },
    {
      id: `${prefix}.server`,
      codes: ['servers-failing'],
      condition: 'Ready',
      passes: 'accepted the last connection',
      refine: (step) => probedServer(step.code === 'servers-failing' ? { ...step, do: SERVER_ADVICE } : step, facts, keys[0] ?? ''),
    },
    { id: `${prefix}.history`, codes: [], independent: true, refine: (step) => historyStep(step, facts, keys) },
  ];
}

const SERVER_ADVICE = 'at that site: `earshot connector status`';

/** Routing keys in the order of choice. */
export function keysOf(listener: Listener | MultiKeyListener): readonly string[] {
  if (listener.kind === 'Listener') return [listener.spec.routingKey];
  const { priority, weighted } = listener.spec.strategy;
  return priority?.routingKeys ?? Object.keys(weighted?.routingKeys ?? {});
}

/** A Listener without a reachable connector has no socket, so that clients do not wait in vain. */
function portStep(
  step: Step,
  { place }: SiteFacts,
  problem: ObjectProblem | undefined,
  { spec, status }: Listener | MultiKeyListener,
): Step {
  if (step.state !== 'pass' || problem !== undefined) return step;
  const isClosed = (status?.conditions ?? []).some(
    ({ type, status: holds }) => (type === 'Matched' || type === 'Operational') && holds === 'False',
  );
  const what = place.isMachine ? `${spec.port}` : `the port ${spec.port}`;
  return isClosed ? { ...step, state: 'wait', code: 'opening', says: `${what} is closed until a connector is reachable` } : step;
}

interface Keys {
  readonly prefix: string;
  readonly keys: readonly string[];
  readonly listener: Listener | MultiKeyListener;
  readonly problem: ObjectProblem | undefined;
}

/** One reachable key is enough. A key without a connector is a failure only if all are. */
function keySteps(facts: SiteFacts, { prefix, keys, listener, problem }: Keys): readonly Step[] {
  const object = `${listener.kind}/${nameOf(listener)}`;
  const change = (key: string): string =>
    commandIn(facts.place, `listener update ${shellWord(nameOf(listener))} --routing-key ${shellWord(key)}`);
  const update = listener.kind === 'Listener' ? { update: change } : {};
  const byKey = keys.map((key) => {
    const reach: Reach = { prefix, object, key, side: 'connectors', problem: keys.length === 1 ? problem : undefined, ...update };
    return reachSteps(facts, reach);
  });
  const isReached = (steps: readonly Step[]): boolean => steps.every(({ state }) => state === 'pass');
  if (!byKey.some(isReached)) return byKey.flat();
  return byKey.flatMap((steps) =>
    isReached(steps) ? steps : steps.map((step) => (step.state === 'pass' ? step : { ...step, state: 'warn' as const })),
  );
}

/** Head line for people: `key "web", 127.0.0.1:8080`. */
export function listenerTitle(listener: Listener | MultiKeyListener): string {
  const keys = keysOf(listener).map((key) => JSON.stringify(key));
  return `${keys.length === 1 ? 'key' : 'keys'} ${keys.join(', ')}, ${hostPort(listener.spec)}`;
}
