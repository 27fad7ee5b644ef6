/** Problems of a listener by itself, wherever it listens. Such a listener gets neither a port nor a Service. */
import type { Listener, MultiKeyListener } from '../../api/skupper/index.ts';
import type { Destination } from '../../router/contract.ts';
import { errorIn, type ResourceProblem } from '../problem.ts';
import { keyOf } from '../resources.ts';
import { badKey, badPort, badType } from './fields.ts';
import { quoted } from '../../text/printable.ts';

export interface ListenerFields {
  /** May be undefined if it is invalid. */
  readonly destination?: Destination;
  readonly problems: readonly ResourceProblem[];
}

export function listenerFields(listener: Listener | MultiKeyListener): ListenerFields {
  const resource = keyOf(listener);
  const ofPort = badPort(resource, 'spec.port', listener.spec.port);
  if (listener.kind === 'MultiKeyListener') {
    const { problems, ...chosen } = strategyOf(listener);
    return { ...chosen, problems: [...problems, ...ofPort] };
  }
  const { routingKey, type } = listener.spec;
  return {
    destination: { kind: 'key', routingKey },
    problems: [...badKey(resource, 'spec.routingKey', routingKey), ...ofPort, ...badType(resource, type)],
  };
}

function strategyOf(listener: MultiKeyListener): ListenerFields {
  const resource = keyOf(listener);
  const { priority, weighted } = listener.spec.strategy;
  const wrong = (field: string, message: string): ListenerFields => ({ problems: [errorIn(resource, field, 'strategy', message)] });
  if ((priority === undefined) === (weighted === undefined)) {
    return wrong('spec.strategy', 'exactly one of priority and weighted must be set.');
  }
  const field = `spec.strategy.${priority === undefined ? 'weighted' : 'priority'}.routingKeys`;
  const weights = Object.entries(weighted?.routingKeys ?? {});
  const routingKeys = [...new Set(priority?.routingKeys ?? weights.map(([key]) => key))];
  if (routingKeys.length === 0) return wrong(field, 'it is empty; name at least one routing key.');
  const negative = weights.find(([, weight]) => !(Number.isInteger(weight) && weight >= 0));
  if (negative !== undefined)
    return wrong(field, `the weight of ${quoted(negative[0])} is ${negative[1]}; use a whole number, at least 0.`);
  return {
    destination:
      priority === undefined ? { kind: 'weighted', routingKeys: Object.fromEntries(weights) } : { kind: 'priority', routingKeys },
    problems: routingKeys.flatMap((key) => badKey(resource, field, key)),
  };
}
