/**
 * The tree of files that a volume shows to its pod, and the steps from one state to the next, which are atomic for readers. Pure;
 * tree-writer.ts applies the steps. Reasons: docs/adr/0004-csi-and-the-tree.md.
 *
 *     default-address -> addresses/{primary address}
 *     addresses -> ..{generation}                       (readers see a folder)
 *     ..{generation}/{address}/address
 *     ..{generation}/{address}/ports/{name}
 *
 * A generation is fully written before a link points at it, and never changed afterwards. Names that begin with `..` are reserved
 * for the driver, as in Kubernetes' own volumes. Other entries that a pod writes into its volume are not touched.
 */
import type { PodListener } from '../../api/listeners/index.ts';
import { CsiError } from './errors.ts';
import { isOneLine, quoted } from '../../text/printable.ts';

export const ADDRESSES = 'addresses';
export const DEFAULT_ADDRESS = 'default-address';

/** Public port number by port name. */
export type Ports = ReadonlyMap<string, number>;

export interface Tree {
  readonly primary: string;
  readonly addresses: ReadonlyMap<string, Ports>;
}

/** The current content of a volume's folder, as far as it is recognized. */
export interface Observed {
  /** `folder`: written in place by an earlier system. */
  readonly addresses: 'absent' | 'generation' | 'folder' | 'other';
  /** Address that `default-address` points at in its final form. */
  readonly primary?: string | undefined;
  /** Content shown by `addresses`, by address. Addresses with an incomplete folder are left out. */
  readonly content: ReadonlyMap<string, Ports>;
  /** Whether `content` is everything that `addresses` shows. */
  readonly isWhole: boolean;
  /** Names of generations that a link points at. */
  readonly current: readonly string[];
}

export type Step =
  | { readonly kind: 'write'; readonly generation: string; readonly content: ReadonlyMap<string, Ports> }
  /** Replace the entry of that name by a link with this text. */
  | { readonly kind: 'link'; readonly name: typeof ADDRESSES | typeof DEFAULT_ADDRESS; readonly text: string }
  /** Rename a folder of an earlier system to a hidden name. */
  | { readonly kind: 'aside'; readonly name: typeof ADDRESSES; readonly hidden: string }
  /** Let readers that resolved the former links finish. */
  | { readonly kind: 'settle' }
  /** Remove all hidden entries except these. */
  | { readonly kind: 'tidy'; readonly keep: readonly string[] };

/**
 * Plans the steps from the observed to the desired tree; none if they are equal. `fresh` returns an unused hidden name. After
 * each step `default-address` leads to a complete folder. So a crash between two steps harms no reader, and planning again from
 * the resulting state repairs it.
 */
export function planChange(observed: Observed, desired: Tree, fresh: () => string): readonly Step[] {
  if (showsExactly(observed, desired)) return [];
  const final = fresh();
  const write: Step = { kind: 'write', generation: final, content: desired.addresses };
  const pointAtFinal: Step = { kind: 'link', name: ADDRESSES, text: final };
  const showDefault: Step = { kind: 'link', name: DEFAULT_ADDRESS, text: defaultText(desired.primary) };
  if (observed.addresses === 'folder') {
    // rename(2) cannot replace a folder by a link, so `addresses` is missing for a moment. Meanwhile default-address bypasses it.
    // This happens once in a volume's life.
    const hidden = fresh();
    const around: Step = { kind: 'link', name: DEFAULT_ADDRESS, text: `${final}/${desired.primary}` };
    const keep = [...observed.current, final, hidden];
    return [write, around, { kind: 'aside', name: ADDRESSES, hidden }, pointAtFinal, showDefault, { kind: 'tidy', keep }];
  }
  const bridged = bridge(observed, desired);
  if (bridged === undefined) {
    const isPrimaryShown = observed.primary === desired.primary;
    return [write, pointAtFinal, ...(isPrimaryShown ? [] : [showDefault]), { kind: 'tidy', keep: [...observed.current, final] }];
  }
  // Two links cannot change atomically, so for a moment both the former and the new primary address exist.
  const between = fresh();
  return [
    { kind: 'write', generation: between, content: bridged },
    write,
    { kind: 'link', name: ADDRESSES, text: between },
    showDefault,
    { kind: 'settle' },
    pointAtFinal,
    { kind: 'tidy', keep: [...observed.current, between, final] },
  ];
}

/** The desired addresses plus the former primary one, if it would otherwise vanish while a link still leads to it. */
function bridge(observed: Observed, desired: Tree): ReadonlyMap<string, Ports> | undefined {
  const { primary, content } = observed;
  if (primary === undefined || desired.addresses.has(primary)) return undefined;
  const former = content.get(primary);
  return former === undefined ? undefined : new Map([...desired.addresses, [primary, former]]);
}

function showsExactly(observed: Observed, desired: Tree): boolean {
  const { content } = observed;
  if (!observed.isWhole || observed.primary !== desired.primary || content.size !== desired.addresses.size) return false;
  return [...desired.addresses].every(([address, ports]) => {
    const shown = content.get(address);
    return shown?.size === ports.size && [...ports].every(([name, number]) => shown.get(name) === number);
  });
}

export function defaultText(primary: string): string {
  return `${ADDRESSES}/${primary}`;
}

/** Paths of the files below `addresses`. */
export function pathsOf({ addresses }: Tree): readonly string[] {
  return [...addresses].flatMap(([address, ports]) => [
    `${address}/address`,
    ...[...ports.keys()].map((name) => `${address}/ports/${name}`),
  ]);
}

/**
 * The tree that the pod should see, or undefined while there is no address. Throws csi-address for names that cannot be file
 * names.
 */
export function treeOf(entry: Pick<PodListener, 'ingressAddresses'>): Tree | undefined {
  const addresses = new Map<string, Map<string, number>>();
  for (const [index, ingress] of (entry.ingressAddresses ?? []).entries()) {
    const where = `ingressAddresses[${index}]`;
    checkSegment(ingress.address, `${where}.address`, MAX_ADDRESS_BYTES);
    const ports = addresses.get(ingress.address) ?? new Map<string, number>();
    for (const [name, number] of Object.entries(ingress.ports)) {
      checkSegment(name, `${where}.ports`, MAX_SEGMENT_BYTES);
      if (!Number.isInteger(number) || number < 1 || number > 65_535) {
        throw new CsiError('csi-address', `${where}.ports[${JSON.stringify(name)}] is ${number}, not a port number from 1 to 65535.`);
      }
      if (!ports.has(name)) ports.set(name, number);
    }
    addresses.set(ingress.address, ports);
  }
  const [primary] = addresses.keys();
  return primary === undefined ? undefined : { primary, addresses };
}

/** RFC 1035, section 2.3.4: a host name has at most 253 characters; an IP address is shorter. */
const MAX_ADDRESS_BYTES = 253;
/** NAME_MAX of Linux (limits.h). */
const MAX_SEGMENT_BYTES = 255;

/** Whether an untrusted text may become one segment of a path: it stays in its folder and is not a reserved name. */
export function isSegment(value: string, maxBytes: number = MAX_SEGMENT_BYTES): boolean {
  return (
    value !== '' &&
    value !== '.' &&
    !value.startsWith('..') &&
    !value.includes('/') &&
    isOneLine(value) &&
    Buffer.byteLength(value) <= maxBytes
  );
}

function checkSegment(value: string, where: string, maxBytes: number): void {
  if (isSegment(value, maxBytes)) return;
  const shown = quoted(value);
  throw new CsiError(
    'csi-address',
    `${where} is ${shown}, which cannot be a file name: it must have 1 to ${maxBytes} bytes, no slash, no line break and no control ` +
      'character, and must not be "." nor begin with "..". The files in the pod stay unchanged.',
  );
}
