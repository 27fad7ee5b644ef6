import { setImmediate } from 'node:timers/promises';
import { LEDGER } from '../../api/skupper/cluster-names.ts';
import type { StringMap } from '../../kube/objects.ts';
import type { Clock } from '../../trust/contract.ts';
import { detached } from '../../telemetry/boundary.ts';
import { currentRevocations, ledgerFindings, noAnchor, withIssued, withRecordSeen, type Anchor } from '../../trust/anchor.ts';
import { damagedEntry, formatEntry, formatRevoked, parseEntry, parseRevoked, type RevocationList } from '../../trust/disk/ledger-files.ts';
import { TrustError } from '../../trust/errors.ts';
import { isResource, planRevocation, refuseEntry, withoutRevoked, withRevoked, type NetworkSite } from '../../trust/revocation.ts';
import type { AnchoredLedger, Basis, IssuedEntry, LedgerFinding, RevokedSite } from '../../trust/stores.ts';
import { KeyedMutex } from '../../work/keyed-mutex.ts';
import { ANCHOR_LOCATION } from './router-anchor.ts';
import type { SiteSecrets } from './site-secrets.ts';

export interface SecretLedgerOptions {
  /** Returns the current anchor; see `mend`. */
  readonly anchor?: () => Anchor;
  readonly clock?: Clock;
  /** Other sites of the network: `revoke` accepts their names too. */
  readonly network?: readonly NetworkSite[];
  /** Called once for each damaged line; damage stops nothing. */
  readonly onDamage?: (damage: TrustError) => void;
}

const KEYS = { issued: 'issued.jsonl', revoked: 'revoked.yaml' } as const;
/** Leaves capacity for revocations, which must work even when nothing more can be issued. */
const MOST_ISSUED_CHARACTERS = 700_000;
/** Lines that are parsed in one event-loop iteration; they take some milliseconds. */
const LINES_AT_ONCE = 1_024;
/** Maximum number of characters of a revocation list that Earshot did not write. */
const LONGEST_BY_HAND = 16_384;
/** Number of waiting entries from which a write starts at once. */
const MOST_GATHERED = 64;

interface Recording {
  readonly entry: IssuedEntry;
  readonly basis: Basis | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Record of issued certificates and revoked sites in one Secret of the site, so that each change sees both. The next write drops what has
 * expired.
 */
export class SecretLedger implements AnchoredLedger {
  readonly #secrets: SiteSecrets;
  readonly #clock: Clock;
  readonly #onDamage: (damage: TrustError) => void;
  readonly #notifiedOf = new Set<string>();
  readonly #turns = new KeyedMutex();
  readonly #anchor: () => Anchor;
  readonly #network: readonly NetworkSite[];
  /** Result of parsing the last text, including the error if it is damaged. */
  #parsed: { readonly text: string; readonly read: () => RevocationList | undefined } = { text: '', read: () => undefined };
  /** Result of parsing each line. */
  #read = new Map<string, IssuedEntry | undefined>();
  /** Entries that wait to be written; one write contains all of them. */
  #recording: Recording[] = [];
  /** Newest entry that this process has recorded. */
  #newest: IssuedEntry | undefined;
  #mended: Anchor = noAnchor;

  constructor(
    secrets: SiteSecrets,
    { clock = Date.now, onDamage = () => {}, anchor = () => noAnchor, network = [] }: SecretLedgerOptions = {},
  ) {
    this.#network = network;
    this.#secrets = secrets;
    this.#anchor = anchor;
    this.#clock = clock;
    this.#onDamage = onDamage;
  }

  record(entry: IssuedEntry, basis?: Basis): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#recording.push({ entry, basis, resolve, reject });
    if (this.#recording.length === 1) detached('pass/record', () => this.#recordAll());
    return promise;
  }

  async #recordAll(): Promise<void> {
    let all: readonly Recording[] = [];
    let accepted: readonly Recording[] = [];
    try {
      await this.#gathered();
      await this.#change(async (state) => {
        // A retry also writes the entries that arrived in the meantime.
        all = [...all, ...this.#recording.splice(0)];
        const { revoked } = this.#listIn(state);
        accepted = all.filter((each) => {
          try {
            refuseEntry(each.entry, revoked, each.basis);
            return true;
          } catch (error) {
            each.reject(error);
            return false;
          }
        });
        if (accepted.length === 0) return undefined;
        const lines = [...(await this.#standing(state)), ...accepted.map(({ entry }) => formatEntry(entry))].join('\n');
        if (lines.length > MOST_ISSUED_CHARACTERS) throw this.#full(lines.length);
        return { ...state, [KEYS.issued]: `${lines}\n` };
      });
      this.#newest = accepted.at(-1)?.entry ?? this.#newest;
      for (const { resolve } of accepted) resolve();
    } catch (error) {
      for (const { reject } of [...all, ...this.#recording.splice(0)]) reject(error);
    }
  }

  /** Each write contains the whole record, so it waits while more entries arrive. */
  async #gathered(): Promise<void> {
    for (let before = 0; before < this.#recording.length && before < MOST_GATHERED;) {
      before = this.#recording.length;
      await setImmediate();
      await setImmediate();
    }
  }

  /** Content of the anchor after `mend`. */
  get anchor(): Anchor {
    return this.#mended;
  }

  async mend(): Promise<readonly LedgerFinding[]> {
    const now = this.#clock();
    const anchor = this.#anchor();
    const { list, isRestored } = currentRevocations(this.#storedIn(this.#secrets.state(LEDGER)), anchor);
    if (isRestored) await this.#change((state) => ({ ...state, [KEYS.revoked]: formatRevoked(this.#listIn(state)) }));
    const { [KEYS.issued]: text = '' } = this.#secrets.state(LEDGER);
    const isOnRecord = (serial: string): boolean => text.includes(`"serial":"${serial}"`);
    const seen = withRecordSeen(anchor, isOnRecord, now);
    const newest = this.#newest !== undefined && isOnRecord(this.#newest.serial) ? this.#newest : newestIn(text);
    this.#mended = {
      ...(newest === undefined || newest.serial === seen.issued?.serial ? seen : withIssued(seen, newest)),
      revocations: list,
      ...(isRestored ? { restored: now } : {}),
    };
    return [...ledgerFindings(this.#mended, { location: this.#location, anchor: ANCHOR_LOCATION, now }), ...this.#fill(text)];
  }

  async *issued(): AsyncGenerator<IssuedEntry> {
    yield* await this.#entriesIn(this.#secrets.state(LEDGER));
  }

  async revoked(): Promise<readonly RevokedSite[]> {
    return this.#listIn(this.#secrets.state(LEDGER)).revoked;
  }

  async revoke(site: string): Promise<RevokedSite> {
    let revoked: RevokedSite | undefined;
    await this.#change(async (state) => {
      const { sequence, revoked: before } = this.#listIn(state);
      const entries = await this.#entriesIn(state);
      revoked = await planRevocation(site, entries, before, this.#clock(), this.#network);
      const serials = new Set(entries.filter(({ notAfter }) => notAfter > this.#clock()).map(({ serial }) => serial));
      const kept = before.filter((one) => !hasEnded(one, serials));
      return { ...state, [KEYS.revoked]: formatRevoked({ sequence: this.#next(sequence), revoked: withRevoked(kept, revoked) }) };
    });
    if (revoked === undefined) throw new TrustError('state-unavailable', `${this.#location} was not written`);
    return revoked;
  }

  async unrevoke(site: string): Promise<boolean> {
    let changed = false;
    await this.#change(async (state) => {
      const { sequence, revoked: before } = this.#listIn(state);
      const after = await withoutRevoked(before, site, await this.#entriesIn(state));
      changed = after !== before;
      return changed ? { ...state, [KEYS.revoked]: formatRevoked({ sequence: this.#next(sequence), revoked: after }) } : undefined;
    });
    return changed;
  }

  /** Never lower than a number that a router may have read before this record was lost. */
  #next(sequence: number): number {
    return Math.max(sequence + 1, this.#clock());
  }

  /** One change at a time: concurrent changes would conflict and run twice. */
  #change(plan: (state: StringMap) => StringMap | undefined | Promise<StringMap | undefined>): Promise<void> {
    return this.#turns.run('', async () => void (await this.#secrets.changeState(LEDGER, (state = {}) => plan(state))));
  }

  get #location(): string {
    return this.#secrets.locationOf(LEDGER);
  }

  async #entriesIn(state: StringMap): Promise<readonly IssuedEntry[]> {
    const lines = await this.#readLines(state);
    return lines.flatMap(([line, entry], index) => {
      if (entry === undefined) this.#notify(line, index + 1);
      return entry ?? [];
    });
  }

  /** Damaged lines stay, so that a user can repair them. */
  async #standing(state: StringMap): Promise<readonly string[]> {
    const now = this.#clock();
    const lines = await this.#readLines(state);
    return lines.filter(([, entry]) => (entry?.notAfter ?? Infinity) > now).map(([line]) => line);
  }

  /** Yields to the event loop regularly: editors of the namespace decide how many lines there are. */
  async #readLines(state: StringMap): Promise<readonly (readonly [line: string, entry: IssuedEntry | undefined])[]> {
    const known = this.#read;
    const read = new Map<string, IssuedEntry | undefined>();
    const lines: (readonly [string, IssuedEntry | undefined])[] = [];
    for (const line of linesOf(state)) {
      const entry = known.has(line) ? known.get(line) : parseEntry(line);
      read.set(line, entry);
      lines.push([line, entry]);
      if (lines.length % LINES_AT_ONCE === 0) await setImmediate();
    }
    this.#read = read;
    return lines;
  }

  /** The effective list: that of the Secret, or the anchor's copy if it is newer. */
  #listIn(state: StringMap): Required<RevocationList> {
    return currentRevocations(this.#storedIn(state), this.#anchor()).list;
  }

  #storedIn({ [KEYS.revoked]: text = '' }: StringMap): RevocationList | undefined {
    if (text !== this.#parsed.text) this.#parsed = { text, read: this.#readRevoked(text) };
    return this.#parsed.read();
  }

  #readRevoked(text: string): () => RevocationList | undefined {
    try {
      const list = text === '' ? undefined : parseRevoked(text, `${this.#location}, key ${KEYS.revoked},`, LONGEST_BY_HAND);
      return () => list;
    } catch (error) {
      return () => {
        throw error;
      };
    }
  }

  #fill({ length }: string): readonly LedgerFinding[] {
    if (length < NEARLY_FULL * MOST_ISSUED_CHARACTERS) return [];
    const percent = Math.floor((100 * length) / MOST_ISSUED_CHARACTERS);
    const message = `the record of certificates in ${this.#location} is ${percent} % full. At 100 % no certificate is issued or renewed: issue fewer certificates, or with shorter lifetimes`;
    return [{ severity: 'warning', code: 'state-full', message }];
  }

  #notify(line: string, number: number): void {
    if (this.#notifiedOf.has(line)) return;
    this.#notifiedOf.add(line);
    this.#onDamage(damagedEntry(`${this.#location}, key ${KEYS.issued},`, number));
  }

  #full(characters: number): TrustError {
    return new TrustError(
      'state-unavailable',
      `the record of certificates is full (${this.#location}: ${characters} of ${MOST_ISSUED_CHARACTERS} characters), so ` +
        'no certificate is issued until recorded ones have expired; issue fewer, or with shorter lifetimes',
    );
  }
}

const NEARLY_FULL = 0.9;

/** The last line, if it can be parsed. */
function newestIn(text: string): IssuedEntry | undefined {
  const end = text.trimEnd();
  return end === '' ? undefined : parseEntry(end.slice(end.lastIndexOf('\n') + 1));
}

const linesOf = ({ [KEYS.issued]: text = '' }: StringMap): readonly string[] => text.split('\n').filter((line) => line !== '');

/** Whether a resource's revocation is obsolete: all certificates of the resource have expired. */
function hasEnded({ name, siteIds, serials }: RevokedSite, standing: ReadonlySet<string>): boolean {
  return isResource(name) && siteIds.length === 0 && !serials.some((serial) => standing.has(serial));
}
