/** Defaults and refusals of the API server for a written object. */
import type { KubeObject, Service, ServicePort } from '../../src/kube/objects.ts';
import type { Random } from '../simulate/random.ts';
import { Refused } from './refused.ts';

/** Kinds whose status only `/status` changes. */
const WITH_STATUS: ReadonlySet<string> = new Set([
  'listeners',
  'podlisteners',
  'services',
  'pods',
  'persistentvolumes',
  'persistentvolumeclaims',
]);
const MOST_PORT = 65_535;
/** Kinds with `metadata.generation`. */
const WITH_GENERATION: ReadonlySet<string> = new Set(['listeners', 'listenerclasses', 'podlisteners']);

type Fields = KubeObject & { readonly spec?: unknown; readonly status?: unknown };

export class Admission {
  readonly #random: Random;
  readonly #ports = new Set<number>();
  #addresses = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** An object as it is stored when it is made. */
  created(plural: string, object: Fields, uid: string, now: string): KubeObject {
    const { status: _status, ...rest } = object;
    const base = WITH_STATUS.has(plural) ? rest : object;
    const generation = WITH_GENERATION.has(plural) ? { generation: 1 } : {};
    const metadata = { ...object.metadata, uid, creationTimestamp: now, ...generation };
    const filled = {
      ...base,
      metadata,
      ...(plural === 'pods' || plural === 'persistentvolumeclaims' ? { status: { phase: 'Pending' } } : {}),
    };
    return plural === 'services' ? this.#service(filled as Service, undefined) : filled;
  }

  /** An object as it is stored when it is changed. @param isStatus whether `/status` was written */
  changed(plural: string, before: Fields, after: Fields, isStatus: boolean): KubeObject {
    if (after.metadata.uid !== before.metadata.uid) {
      throw new Refused(422, 'Invalid', `metadata.uid: Invalid value: "${after.metadata.uid}": field is immutable`);
    }
    // A status write of a claim changes annotations as well.
    const isClaim = plural === 'persistentvolumeclaims';
    if (isStatus) return withField(isClaim ? { ...before, metadata: after.metadata } : before, 'status', after.status);
    const kept = WITH_STATUS.has(plural) ? withField(after, 'status', before.status) : after;
    const { generation, creationTimestamp, deletionTimestamp } = before.metadata;
    const isNewSpec = generation !== undefined && JSON.stringify(after.spec) !== JSON.stringify(before.spec);
    const result: Fields = {
      ...kept,
      metadata: {
        ...after.metadata,
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
        ...(generation === undefined ? {} : { generation: isNewSpec ? generation + 1 : generation }),
      },
    };
    if (plural === 'podlisteners') checkNodeName(before, result);
    return plural === 'services' ? this.#service(result as Service, before as Service) : result;
  }

  #service(service: Service, before: Service | undefined): Service {
    const spec = service.spec ?? {};
    const type = spec.type ?? 'ClusterIP';
    const ports = (spec.ports ?? []).map((port): ServicePort => ({ targetPort: port.port, ...port, protocol: port.protocol ?? 'TCP' }));
    this.#check(service, ports, type);
    const { loadBalancerClass } = before?.spec ?? {};
    if (type === 'LoadBalancer' && before?.spec?.type === type && loadBalancerClass !== spec.loadBalancerClass) {
      throw this.#refusal(service, 'spec.loadBalancerClass: Invalid value: may not change once set');
    }
    const hasNodePorts = type === 'NodePort' || (type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
    for (const { nodePort } of before?.spec?.ports ?? []) if (nodePort !== undefined) this.#ports.delete(nodePort);
    const clusterIP = before?.spec?.clusterIP ?? this.#address();
    return {
      ...service,
      spec: {
        ...spec,
        type,
        ports: ports.map((port) => this.#numbered(port, hasNodePorts)),
        clusterIP,
        clusterIPs: [clusterIP],
        ipFamilies: ['IPv4'],
      },
    };
  }

  #numbered({ nodePort, ...port }: ServicePort, hasNodePorts: boolean): ServicePort {
    if (!hasNodePorts) return port;
    const number = nodePort ?? this.#freePort();
    this.#ports.add(number);
    return { ...port, nodePort: number };
  }

  /** A Service refused for a second port of one number has had a port drawn for it, as in Kubernetes. */
  #check(service: Service, ports: readonly ServicePort[], type: string): void {
    const seen = new Set<string>();
    for (const [index, { name = '', port, protocol }] of ports.entries()) {
      if (port > MOST_PORT) throw this.#refusal(service, `spec.ports[${index}].port: Invalid value: ${port}: must be between 1 and 65535`);
      const number = `${port}/${protocol}`;
      if (seen.has(number)) {
        const drawn = type === 'ClusterIP' ? '' : `, spec.ports[${index}].nodePort: Duplicate value: ${this.#freePort()}`;
        throw this.#refusal(service, `[spec.ports[${index}]: Duplicate value: ${number}${drawn}]`);
      }
      if (seen.has(name)) throw this.#refusal(service, `spec.ports[${index}].name: Duplicate value: "${name}"`);
      seen.add(number).add(name);
    }
  }

  /** No two are worded alike. */
  #refusal({ metadata }: KubeObject, why: string): Refused {
    return new Refused(422, 'Invalid', `Service "${metadata.name}" is invalid: ${why} (try ${this.#random.next()})`);
  }

  #freePort(): number {
    for (;;) {
      const port = this.#random.int(20_000, 65_000);
      if (!this.#ports.has(port)) return port;
    }
  }

  #address(): string {
    this.#addresses += 1;
    return `10.96.${this.#addresses >> 8}.${this.#addresses & 255}`;
  }
}

function withField(object: Fields, field: 'status', value: unknown): Fields {
  const { [field]: _before, ...rest } = object;
  return value === undefined ? rest : { ...rest, [field]: value };
}

/** The rule of the definition (src/api/listeners/pod-listeners.ts). */
function checkNodeName(before: Fields, after: Fields): void {
  const nodeName = (object: Fields): unknown => (object.spec as { nodeName?: string } | undefined)?.nodeName; // Of this kind.
  const old = nodeName(before);
  if (old !== undefined && old !== nodeName(after)) throw new Refused(422, 'Invalid', 'spec: nodeName cannot change');
}
