/** Explains a ListenerClass: its type, its load balancer, its overrides and its Listeners (pure). */
import { planService } from '../../exposure/listeners/service-plan.ts';
import { shownValue } from '../../text/printable.ts';
import { explainChain, type CheckResult } from '../chain.ts';
import type { Explanation } from '../step.ts';
import type { ClassFacts } from './exposure-facts.ts';
import { conditionOf } from '../connection/pod-conditions.ts';
import { Steps } from './steps.ts';

export function explainClass(facts: ClassFacts): Explanation {
  const { listenerClass } = facts;
  const { name = '' } = listenerClass.metadata;
  const object = `ListenerClass/${name}`;
  const steps = new Steps(object);
  const { serviceType } = listenerClass.spec;
  // Whatever a Listener of this class is called, the class itself is accepted or not.
  const plan = planService(
    { metadata: { name: 'any', namespace: 'any', uid: 'any' }, spec: { className: name, ports: [{ name: 'any', port: 80 }] } },
    listenerClass,
  );
  return explainChain(
    object,
    [
      steps.check('class.type', () =>
        plan.refused === undefined ? steps.pass('class.type', serviceType) : steps.problem('class.type', plan.refused),
      ),
      steps.check('class.load-balancer', () => loadBalancerSteps(facts, steps)),
      steps.check('class.overrides', () => {
        const notices = plan.refused === undefined ? plan.notices : [];
        return notices.length === 0 ? steps.pass('class.overrides', 'merge') : steps.warn('class.overrides', notices.join(' '));
      }),
      steps.check('class.listeners', () => listenersStep(facts, steps)),
    ],
    new Date(facts.now),
  );
}

/** A controller for the class exists if a Service of the class has got an address. */
function loadBalancerSteps({ listenerClass, services }: ClassFacts, steps: Steps): CheckResult {
  const id = 'class.load-balancer';
  const { serviceType, loadBalancerClass } = listenerClass.spec;
  if (serviceType !== 'LoadBalancer') return [];
  const which = typeof loadBalancerClass === 'string' ? `the load balancer class ${shownValue(loadBalancerClass)}` : 'load balancers';
  return steps.of(id, services, (all) => {
    const balanced = all.filter(({ spec }) => spec?.type === 'LoadBalancer');
    const served = balanced.filter(({ status }) => (status?.loadBalancer?.ingress ?? []).length > 0);
    if (served.length > 0) return steps.pass(id, `${served.length} of ${balanced.length} Services have an address`);
    if (balanced.length === 0) return steps.unknown(id, 'no Service of this class exists yet');
    return steps.fail(id, `None of ${balanced.length} Services of this class has an address.`, {
      code: 'load-balancer-pending',
      do: `\`earshot explain lsn NAME\` shows what the load balancer of a Listener reports. Without a controller for ${which}, install one.`,
    });
  });
}

function listenersStep({ listeners }: ClassFacts, steps: Steps): CheckResult {
  const id = 'class.listeners';
  return steps.of(id, listeners, (all) => {
    const reasons = all.flatMap((listener) => {
      const ready = conditionOf(listener, 'Ready');
      return ready?.status === 'True' ? [] : [ready?.reason ?? 'ListenerPending'];
    });
    if (reasons.length === 0) return steps.pass(id, all.length === 1 ? '1 Listener, which is ready' : `${all.length} Listeners, all ready`);
    const counts = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, each]) => `${reason} (${each.length})`);
    return steps.warn(
      id,
      `${reasons.length} of ${all.length} Listeners are not ready: ${counts.join(', ')}.`,
      'earshot explain listeners.listeners.stackable.tech NAME',
    );
  });
}
