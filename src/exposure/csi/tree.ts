/**
 * What a volume shows to its pod, and by which steps one state becomes the next, so that a reader sees the one or the
 * other and never half of either. Pure; tree-writer.ts takes the steps. docs/adr/0004-csi-and-the-tree.md tells why.
 *
 *     default-address -> addresses/{primary address}
 *     addresses -> ..{generation}                       (a folder to whoever reads it)
 *     ..{generation}/{address}/address
 *     ..{generation}/{address}/ports/{name}
 *
 * A generation is written whole before anything points at it, and never changed afterwards. Names that begin with `..`
 * are ours alone (Kubernetes' own volumes hide theirs in the same way); whatever else a pod writes into its volume is
 * left alone.
 */
import type { PodListener } from '../../api/listeners/index.ts';
import { CsiError } from './errors.ts';
import { isOneLine, quoted } from '../../text/printable.ts';

export const ADDRESSES = 'addresses';
export const DEFAULT_ADDRESS = 'default-address';

/** The public port number for each port name. */
export type Ports = ReadonlyMap<string, number>;

export interface Tree {
  readonly primary: string;
  readonly addresses: ReadonlyMap<string, Ports>;
}

/** What a volume's folder holds now, as far as it is understood. */
export interface Observed {
  /** `folder`: as an earlier system wrote it, in place. */
  readonly addresses: 'absent' | 'generation' | 'folder' | 'other';
  /** The address that `default-address` points at in its final form. */
  readonly primary?: string | undefined;
  /** What `addresses` shows, by address; an address whose folder is not whole is left out. */
  readonly content: ReadonlyMap<string, Ports>;
  /** Whether `content` is all that `addresses` shows. */
  readonly isWhole: boolean;
  /** Names of our generations that a link points at. */
  readonly current: readonly string[];
}

export type Step =
  | { readonly kind: 'write'; readonly generation: string; readonly content: ReadonlyMap<string, Ports> }
  /** Put a link with this text in the place of whatever bears that name. */
  | { readonly kind: 'link'; readonly name: typeof ADDRESSES | typeof DEFAULT_ADDRESS; readonly text: string }
  /** Rename a folder of an earlier system to a hidden name. */
  | { readonly kind: 'aside'; readonly name: typeof ADDRESSES; readonly hidden: string }
  /** Let readers who resolved the former links finish. */
  | { readonly kind: 'settle' }
  /** Remove everything hidden but these. */
  | { readonly kind: 'tidy'; readonly keep: readonly string[] };

/**
 * The steps from what is there to what should be; none where it is there already. `fresh` gives a hidden name that
 * was never used. After each step `default-address` leads to a whole folder, so a crash between any two harms no
 * reader, and planning again from what was left behind repairs it.
 */
export function planChange(observed: Observed, wanted: Tree, fresh: () => string): readonly Step[] {
  if (showsExactly(observed, wanted)) return [];
  const final = fresh();
  const write: Step = { kind: 'write', generation: final, content: wanted.addresses };
  const pointAtFinal: Step = { kind: 'link', name: ADDRESSES, text: final };
  const showDefault: Step = { kind: 'link', name: DEFAULT_ADDRESS, text: defaultText(wanted.primary) };
  if (observed.addresses === 'folder') {
    // rename(2) puts no link in the place of a folder, so there is an instant without `addresses`. default-address
    // leads around it meanwhile, for the one time in a volume's life.
    const hidden = fresh();
    const around: Step = { kind: 'link', name: DEFAULT_ADDRESS, text: `${final}/${wanted.primary}` };
    const keep = [...observed.current, final, hidden];
    return [write, around, { kind: 'aside', name: ADDRESSES, hidden }, pointAtFinal, showDefault, { kind: 'tidy', keep }];
  }
  const bridged = bridge(observed, wanted);
  if (bridged === undefined) {
    const isPrimaryShown = observed.primary === wanted.primary;
    return [write, pointAtFinal, ...(isPrimaryShown ? [] : [showDefault]), { kind: 'tidy', keep: [...observed.current, final] }];
  }
  // Two links cannot change in one instant: for a moment both the former and the new primary address are there.
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

/** The wanted addresses and the former primary one, where that would vanish under the link that still leads to it. */
function bridge(observed: Observed, wanted: Tree): ReadonlyMap<string, Ports> | undefined {
  const { primary, content } = observed;
  if (primary === undefined || wanted.addresses.has(primary)) return undefined;
  const former = content.get(primary);
  return former === undefined ? undefined : new Map([...wanted.addresses, [primary, former]]);
}

function showsExactly(observed: Observed, wanted: Tree): boolean {
  const { content } = observed;
  if (!observed.isWhole || observed.primary !== wanted.primary || content.size !== wanted.addresses.size) return false;
  return [...wanted.addresses].every(([address, ports]) => {
    const shown = content.get(address);
    return shown?.size === ports.size && [...ports].every(([name, number]) => shown.get(name) === number);
  });
}

export function defaultText(primary: string): string {
  return `${ADDRESSES}/${primary}`;
}

/** What the pod is to see; undefined as long as there is no address. Throws csi-address for what cannot be a file name. */
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

/** Whether a text from outside may become one segment of a path: it stays in its folder and is not one of our names. */
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
    `${where} holds ${shown}, which cannot be a file name: it must have 1 to ${maxBytes} bytes, no slash, no line break and no control ` +
      'character, and must not be "." nor begin with "..". The files in the pod stay as they are.',
  );
}
