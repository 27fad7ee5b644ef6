/** Rights of a user of the console, and the requests that they permit (pure). */
import { isKind } from '../site/resources.ts';
import { overviewKinds, quietKinds } from '../site/overview.ts';
import { isRecord } from '../text/is-record.ts';
import { exposedKinds, type Changes, type Topic } from './contract.ts';

export interface Permissions {
  /** Kinds of skupper.io that the user may get in the namespace. */
  readonly kinds: ReadonlySet<string> | 'all';
  /** Whether connections with addresses of clients are shown. */
  readonly connections: boolean;
  /** Whether revoked sites are shown. */
  readonly revocations: boolean;
  /** Whether exposed objects are shown: the user may list all their kinds in the namespace. */
  readonly exposure: boolean;
  /** Whether ListenerClasses are shown. They are outside of namespaces. */
  readonly classes: boolean;
  /** Whether the user may send traffic along a path. */
  readonly probe: boolean;
}

/** A user whose request is admitted. */
export interface Admission {
  /** Name of the user in the cluster; on a machine, the hash of its page's bearer token. */
  readonly user: string;
  readonly permissions: Permissions;
}

/** Permissions of the user whose processes or rights the console itself has. */
export const allPermissions: Permissions = {
  kinds: 'all',
  connections: true,
  revocations: true,
  exposure: true,
  classes: true,
  probe: true,
};

export function mayGet({ kinds }: Permissions, kind: string): boolean {
  return kinds === 'all' || kinds.has(kind);
}

/**
 * Whether the user may send a request. Unknown paths are refused.
 * @param path segments below `/api/v1/`
 */
export function isPermitted(permissions: Permissions, path: readonly string[]): boolean {
  if (permissions.kinds === 'all') return true;
  // Its status has the network, the routing keys and the links of all sites.
  if (!mayGet(permissions, 'Site')) return false;
  const [name = '', kind = ''] = path;
  switch (name) {
    case 'overview':
    case 'network':
    case 'keys':
    case 'series':
    case 'stream':
      return true;
    case 'resources':
      return kind === 'all' || mayGet(permissions, kind);
    case 'sites':
      return mayGet(permissions, 'Link');
    case 'connections':
    case 'requests':
      return permissions.connections;
    case 'revocations':
      return permissions.revocations;
    case 'exposure':
      return permissions.exposure;
    case 'explain':
      return isExplained(permissions, kind);
    default:
      return false;
  }
}

/** The steps name other objects, which the status of the explained one may name too. */
export function isExplained(permissions: Permissions, kind: string): boolean {
  if (kind === 'connection') return permissions.connections;
  if (kind === exposedKinds.classes) return permissions.exposure && permissions.classes;
  if (kind === exposedKinds.listeners || kind === exposedKinds.pods) return permissions.exposure;
  return kind === 'key' ? ['Listener', 'Connector'].every((each) => mayGet(permissions, each)) : mayGet(permissions, kind);
}

/** Beginnings of problems of the site that are not about a resource. All others are about exposed objects, and what those need. */
const PLACES: ReadonlySet<string> = new Set(['process', 'router', 'console', 'file', 'site']);

/** Whether something with an ID of the stream is visible: `Listener/web`, `Listener/web Pending`, `Site missing`, `out/LINK`. */
export function isVisible(permissions: Permissions, topic: Topic, id: string): boolean {
  if (permissions.kinds === 'all') return true;
  const [beginning = ''] = id.split(/[/ ]/);
  if (topic === 'links') return beginning !== 'out' || mayGet(permissions, 'Link');
  if (topic !== 'problems' && topic !== 'resources') return true;
  return isKind(beginning) ? mayGet(permissions, beginning) : PLACES.has(beginning) || permissions.exposure;
}

/** Kinds whose problems the headline and the routing keys count. A console for several users does not read those with codes. */
const COUNTED: readonly string[] = [...overviewKinds, ...quietKinds].filter((kind) => kind !== 'AccessGrant' && kind !== 'AccessToken');

/** Without the right to one of the kinds, counts would say that hidden objects have problems. */
export function mayCountProblems(permissions: Permissions): boolean {
  return COUNTED.every((kind) => mayGet(permissions, kind));
}

/** @returns undefined if no change is visible */
export function visibleChanges(permissions: Permissions, topic: Topic, changes: Changes): Changes | undefined {
  if (permissions.kinds === 'all') return changes;
  const visible =
    topic === 'overview'
      ? Object.entries(changes)
          .map(([id, fields]) => [id, visibleOverview(permissions, fields)] as const)
          // Without a visible field, the event alone would say that something hidden has changed.
          .filter(([, fields]) => fields === null || Object.keys(fields).length > 0)
      : Object.entries(changes)
          .filter(([id]) => isVisible(permissions, topic, id))
          .map(([id, fields]) => [id, topic === 'keys' ? visibleKey(permissions, fields) : fields] as const);
  return visible.length === 0 ? undefined : Object.fromEntries(visible);
}

type ChangedFields = Changes[string];

function visibleKey(permissions: Permissions, fields: ChangedFields): ChangedFields {
  return fields === null || !('problems' in fields) || mayCountProblems(permissions) ? fields : { ...fields, problems: 0 };
}

/** The overview lists the latest changes of conditions, with their kind, and counts exposed objects. */
function visibleOverview(permissions: Permissions, fields: ChangedFields): ChangedFields {
  if (fields === null) return null;
  const { exposure: _, ...others } = fields;
  const exposed = permissions.exposure ? fields : others;
  const { changes: latest, site } = exposed;
  const visible = isRecord(site) && !mayCountProblems(permissions) ? { ...exposed, site: { ...site, headline: site['status'] } } : exposed;
  if (!Array.isArray(latest)) return visible;
  return { ...visible, changes: latest.filter((each) => isRecord(each) && mayGet(permissions, String(each['kind']))) };
}
