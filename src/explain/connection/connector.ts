import type { AttachedConnector, Connector } from '../../api/skupper/index.ts';
import { shellWord } from '../../text/shell-word.ts';
import { bundleStep } from './bundle-steps.ts';
import { BUNDLE_CODES, NETWORK_CODES } from './code-groups.ts';
import { headRungs, stepPrefix, type Subject } from './head.ts';
import { problemOfObject } from './object-problem.ts';
import { reachSteps } from './reach-steps.ts';
import { probedHere } from './probe-steps.ts';
import type { Rung } from './rungs.ts';
import type { SiteFacts } from './site-facts.ts';
import { commandIn } from '../../text/command-in.ts';
import { hostPort } from '../../text/host-port.ts';
import { shownValue } from '../../text/printable.ts';
import { nameOf } from '../../site/resources.ts';

/** Steps of a Connector, from its servers to the listeners of its key. */
export function connectorRungs(facts: SiteFacts, subject: Subject, connector: Connector): readonly Rung[] {
  const { host, port, routingKey, selector, tlsCredentials } = connector.spec;
  const name = nameOf(connector);
  const server = hostPort({ host: shownValue(host ?? 'pods'), port });
  const pods = connector.status?.selectedPods?.length ?? 0;
  // The name of an untried server may still be looked up.
  const isNamed = host !== undefined && !/^[\d.:a-f]+$/i.test(host) && problemOfObject(connector)?.code !== 'server-untried';
  return [
    ...headRungs(facts, subject),
    {
      id: 'connector.pods',
      codes: ['selector', 'no-pods', 'not-attached'],
      ...(selector === undefined || selector === '' ? {} : { passes: `${pods} pod${pods === 1 ? '' : 's'} selected` }),
    },
    { id: 'connector.tls', codes: BUNDLE_CODES, passes: 'usable', refine: (step) => bundleStep(step, facts, tlsCredentials) },
    {
      id: 'connector.name',
      codes: ['target-name-unknown', ...NETWORK_CODES],
      ...(isNamed ? { passes: `${shownValue(host)} has an address` } : {}),
    },
    {
      id: 'connector.server',
      codes: [
        'server-untried',
        'target-refused',
        'target-unreachable',
        'target-timeout',
        'target-tls-failed',
        'target-tls-certificate',
        'target-connect-failed',
      ],
      condition: 'Ready',
      passes:
        connector.spec.settings?.['probe'] === 'none' ? 'not probed, as settings.probe has it' : `${server} accepted the last connection`,
      refine: (step) => probedHere(step, facts, { connector: name }),
    },
    {
      id: 'connector.key',
      codes: ['no-listener'],
      condition: 'Matched',
      passes: 'used',
      refine: (_, problem) =>
        reachSteps(facts, {
          prefix: 'connector',
          object: `Connector/${name}`,
          key: routingKey,
          side: 'listeners',
          update: (key) => commandIn(facts.place, `connector update ${shellWord(name)} --routing-key ${shellWord(key)}`),
          problem,
        }),
    },
  ];
}

/** Steps of a Connector in another namespace, or of its binding. */
export function attachedRungs(facts: SiteFacts, subject: Subject, attached: Pick<AttachedConnector, 'spec'> | undefined): readonly Rung[] {
  const prefix = stepPrefix(subject.kind);
  return [
    ...headRungs(facts, subject),
    { id: `${prefix}.other`, codes: ['not-attached'], passes: 'names this one' },
    { id: `${prefix}.pods`, codes: ['selector', 'no-pods'], passes: 'selected' },
    {
      id: `${prefix}.tls`,
      codes: BUNDLE_CODES,
      passes: 'usable',
      refine: (step) => bundleStep(step, facts, attached?.spec.tlsCredentials),
    },
    { id: `${prefix}.server`, codes: ['server-untried'], condition: 'Ready', passes: 'see its Connector' },
    { id: `${prefix}.key`, codes: ['no-listener'], condition: 'Matched', passes: 'used' },
  ];
}
