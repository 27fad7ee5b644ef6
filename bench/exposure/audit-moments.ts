/** When what happened to a pod, by the API server's audit log: pure, one line at a time. */
import type { Moment } from './pod-start.ts';

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly stageTimestamp: string;
}

/** A successful write of an object in the namespace; undefined for everything else. */
export function momentOf(line: string, namespace: string): Moment | undefined {
  // Most lines are of other things, and parsing them takes longer than everything else here.
  if (!line.includes(`"namespace":"${namespace}"`)) return undefined;
  const { stage, verb, userAgent = '', objectRef = {}, responseStatus, stageTimestamp } = JSON.parse(line) as AuditEvent;
  const { resource, subresource, name = '' } = objectRef;
  const isDone = stage === 'ResponseComplete' && (responseStatus?.code ?? 500) < 300;
  if (!isDone || objectRef.namespace !== namespace) return undefined;
  const at = Date.parse(stageTimestamp);
  const isChange = verb === 'update' || verb === 'patch';
  switch (`${resource}/${subresource ?? ''}`) {
    case 'pods/':
      return verb === 'create' ? { of: 'pod', name, stage: 'created', at } : undefined;
    case 'pods/binding':
      return { of: 'pod', name, stage: 'scheduled', at };
    case 'persistentvolumeclaims/status':
      return isChange ? { of: 'claim', name, stage: 'claim bound', at } : undefined;
    case 'podlisteners/':
    case 'podlisteners/status':
      return mountMoment(name, userAgent, subresource !== undefined, at);
    default:
      return undefined;
  }
}

/** A node driver asks for a mount by writing a PodListeners, called after the pod's uid; the controller answers in its status. */
function mountMoment(name: string, userAgent: string, isStatus: boolean, at: number): Moment | undefined {
  const of = { of: 'uid', name: name.replace(/^pod-/, ''), at } as const;
  if (!isStatus && userAgent.startsWith('earshot-csi-node')) return { ...of, stage: 'mount asked for' };
  return isStatus && userAgent.startsWith('earshot-controller') ? { ...of, stage: 'mount answered' } : undefined;
}
