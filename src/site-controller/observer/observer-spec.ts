/** Reads the spec of a NetworkObserver: values of Skupper's chart `network-observer` (pure). Its content is untrusted and of any shape. */
import { CONTROLLERS_SECRETS, LOCAL_SERVER, RECORDS, SITE_SERVER } from '../../api/skupper/cluster-names.ts';
import { OBSERVABILITY_GROUP, type NetworkObserver } from '../../api/skupper/network-observer.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { isRecord } from '../../text/is-record.ts';
import { isResourceName } from '../../text/names.ts';
import { quantity } from '../site/quantity.ts';
import type { ContainerResources } from '../site/size.ts';

export interface ObserverSpec {
  /** Name of the Deployment, Service, ServiceAccount, Role and RoleBinding. */
  readonly name: string;
  readonly users: { readonly secret: string; readonly isCreated: boolean };
  readonly tls: { readonly secret: string; readonly issuer: 'site' | 'openshift' | 'user' };
  readonly service: { readonly type: string; readonly port: number };
  /** Undefined for the usual ones. */
  readonly resources: ContainerResources | undefined;
  /** Fields that are set and have no effect, each with the reason if it is not obvious. */
  readonly ignored: readonly string[];
  /** Fields whose Secret a console must not read. */
  readonly refused: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Secrets that the controller creates for itself and for routers. A console must not use them. */
const RESERVED: ReadonlySet<string> = new Set([...CONTROLLERS_SECRETS, ...RECORDS, LOCAL_SERVER, SITE_SERVER]);

const SUFFIX = 'network-observer';
const MOST_CHARACTERS = 63;

/** The name that a release of Skupper's chart gives its objects. Ingresses of users refer to the Service of that name. */
export function observerName(name: string): string {
  if (name.includes(SUFFIX) && name.length <= MOST_CHARACTERS) return name;
  return `${name.slice(0, MOST_CHARACTERS - SUFFIX.length - 1)}-${SUFFIX}`;
}

/** Whether the object is a part of a NetworkObserver's console. The garbage collector soon deletes it if the owner does not exist. */
export function isOfObserver({ metadata: { name, ownerReferences = [] } }: KubeObject): boolean {
  return ownerReferences.some((owner) => owner.apiVersion.startsWith(`${OBSERVABILITY_GROUP}/`) && name === observerName(owner.name));
}

/** Finalizers by which a Helm operator marks the objects that it manages. Two controllers would overwrite each other. */
const OF_HELM_OPERATOR = /^(?:helm\.sdk\.operatorframework\.io\/|uninstall-helm-release$)/;

export function isOfHelmOperator({ metadata: { finalizers = [] } }: Pick<NetworkObserver, 'metadata'>): boolean {
  return finalizers.some((finalizer) => OF_HELM_OPERATOR.test(finalizer));
}

export function readObserverSpec({ metadata, spec = {} }: Pick<NetworkObserver, 'metadata' | 'spec'>): ObserverSpec {
  const name = observerName(metadata.name ?? '');
  const [auth, tls, service] = [recordAt(spec, 'auth'), recordAt(spec, 'tls'), recordAt(spec, 'service')];
  const basic = recordAt(auth, 'basic');
  const users = nameIn(basic, 'secretName') ?? `${name}-auth`;
  const given = nameIn(tls, 'secretName');
  const issuer =
    given !== undefined ? 'user' : tls['openshiftIssued'] === true ? 'openshift' : tls['skupperIssued'] === false ? 'user' : 'site';
  const { resources, invalid } = readResources([
    recordAt(recordAt(spec, 'containerResources'), 'networkObserver'),
    recordAt(spec, 'resources'),
  ]);
  const secrets = { 'auth.basic.secretName': users, 'tls.secretName': given ?? '' };
  const type = TYPES.find((each) => each === service['type']) ?? 'ClusterIP';
  const port = portOf(service['port']);
  const fields: readonly (readonly [field: string, written: unknown, used: unknown])[] = [
    ['auth.basic.secretName', basic['secretName'], users],
    ['tls.secretName', tls['secretName'], given],
    ['service.type', service['type'], type],
    ['service.port', service['port'], port],
  ];
  const mistaken = fields.flatMap(([field, written, used]) =>
    isSet(written) && written !== used ? [`${field} (its value is invalid)`] : [],
  );
  return {
    name,
    users: { secret: users, isCreated: basic['create'] !== false },
    tls: { secret: given ?? `${name}-tls`, issuer },
    service: { type, port },
    resources,
    ignored: [...listIgnored(spec), ...mistaken, ...invalid],
    refused: Object.entries(secrets).flatMap(([field, secret]) => (RESERVED.has(secret) ? [field] : [])),
  };
}

const TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer'] as const;
const HTTPS = 443;

function portOf(port: unknown): number {
  return typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536 ? port : HTTPS;
}

/** The first of several that has anything. Quantities are canonical, since others would differ from the stored ones forever. */
function readResources(several: readonly Fields[]): {
  readonly resources: ContainerResources | undefined;
  readonly invalid: readonly string[];
} {
  const given = several.find(isFilled);
  if (given === undefined) return { resources: undefined, invalid: [] };
  const invalid: string[] = [];
  const parts = (['requests', 'limits'] as const).map((part) => {
    const entries = Object.entries(recordAt(given, part)).flatMap(([name, value]): readonly (readonly [string, string])[] => {
      const text = typeof value === 'string' || typeof value === 'number' ? quantity(String(value))?.text : undefined;
      if (text !== undefined && RESOURCES.has(name)) return [[name, text]];
      if (invalid.length < MOST_UNKNOWN) invalid.push(`resources.${part}.${name}`);
      return [];
    });
    return [part, Object.fromEntries(entries)] as const;
  });
  return { resources: Object.fromEntries(parts.filter(([, entries]) => isFilled(entries))), invalid };
}

const RESOURCES: ReadonlySet<string> = new Set(['cpu', 'memory']);

function nameIn(fields: Fields, field: string): string | undefined {
  const value = fields[field];
  return typeof value === 'string' && isResourceName(value) ? value : undefined;
}

function recordAt(fields: Fields, field: string): Fields {
  const value = fields[field];
  return isRecord(value) ? value : {};
}

const isFilled = (fields: Fields): boolean => Object.keys(fields).length > 0;

/** Parts of the chart that have no counterpart here. */
const WITHOUT_EFFECT = [
  'nameOverride',
  'fullnameOverride',
  'image',
  'prometheus',
  'nginx',
  'openshiftOauthProxy',
  'extraArgs',
  'router',
  'commonAnnotations',
  'commonLabels',
  'podAnnotations',
  'podLabels',
  'podSecurityContext',
  'securityContext',
  'skipManagementLabels',
  'readinessProbe',
  'livenessProbe',
] as const;
const WITH_EFFECT: ReadonlySet<string> = new Set(['auth', 'tls', 'service', 'ingress', 'route', 'resources', 'containerResources']);
/** Number of unknown fields that are named. */
const MOST_UNKNOWN = 10;

function listIgnored(spec: Fields): readonly string[] {
  const strategy = recordAt(spec, 'auth')['strategy'];
  const known: ReadonlySet<string> = new Set([...WITHOUT_EFFECT, ...WITH_EFFECT]);
  return [
    ...(strategy === undefined || strategy === 'basic' ? [] : ['auth.strategy (the console always asks for a user and password)']),
    ...['ingress', 'route'].flatMap((field) =>
      recordAt(spec, field)['enabled'] === true ? [`${field} (create an object of your own for the Service)`] : [],
    ),
    ...WITHOUT_EFFECT.filter((field) => isSet(spec[field])),
    ...Object.keys(spec)
      .filter((field) => !known.has(field) && isSet(spec[field]))
      .slice(0, MOST_UNKNOWN),
  ];
}

function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isRecord(value) ? isFilled(value) : value !== undefined && value !== null && value !== '' && value !== false;
}
