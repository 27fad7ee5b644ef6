import { LEDGER } from '../../api/skupper/cluster-names.ts';
import type { StringMap } from '../../kube/objects.ts';
import type { Clock } from '../../trust/contract.ts';
import { damagedEntry, formatEntry, formatRevoked, parseEntry, parseRevoked } from '../../trust/disk/ledger-files.ts';
import { TrustError } from '../../trust/errors.ts';
import { isResource, planRevocation, refuseEntry, withoutRevoked, withRevoked } from '../../trust/revocation.ts';
import type { Basis, IssuedEntry, Ledger, RevokedSite } from '../../trust/stores.ts';
import { InTurn } from '../../work/in-turn.ts';
import type { SiteSecrets } from './site-secrets.ts';

export interface SecretLedgerOptions {
  readonly clock?: Clock;
  /** Told of each damaged line once; nothing stops for it. */
  readonly onDamage?: (damage: TrustError) => void;
}

const KEYS = { issued: 'issued.jsonl', revoked: 'revoked.yaml' } as const;
/** Room is left for those who are to be revoked: that must go on when nothing more can be issued. */
const MOST_ISSUED_CHARACTERS = 700_000;

/**
 * What was issued and who is revoked, in one Secret of the site, so that each change is made of both as they are. What has ended goes with the
 * next write.
 */
export class SecretLedger implements Ledger {
  readonly #secrets: SiteSecrets;
  readonly #clock: Clock;
  readonly #onDamage: (damage: TrustError) => void;
  readonly #toldOf = new Set<string>();
  readonly #turns = new InTurn();
  #parsed: { readonly text: string; readonly revoked: readonly RevokedSite[] } = { text: '', revoked: [] };

  constructor(secrets: SiteSecrets, { clock = Date.now, onDamage = () => {} }: SecretLedgerOptions = {}) {
    this.#secrets = secrets;
    this.#clock = clock;
    this.#onDamage = onDamage;
  }

  record(entry: IssuedEntry, basis?: Basis): Promise<void> {
    return this.#change((state) => {
      refuseEntry(entry, this.#revokedIn(state), basis);
      const lines = [...this.#standing(state), formatEntry(entry)].join('\n');
      if (lines.length > MOST_ISSUED_CHARACTERS) throw this.#full(lines.length);
      return { ...state, [KEYS.issued]: `${lines}\n` };
    });
  }

  async *issued(): AsyncGenerator<IssuedEntry> {
    yield* this.#entriesIn(this.#secrets.state(LEDGER));
  }

  async revoked(): Promise<readonly RevokedSite[]> {
    return this.#revokedIn(this.#secrets.state(LEDGER));
  }

  async revoke(site: string): Promise<RevokedSite> {
    let revoked: RevokedSite | undefined;
    await this.#change(async (state) => {
      const before = this.#revokedIn(state);
      revoked = await planRevocation(site, this.#entriesIn(state), before, this.#clock());
      const serials = new Set([...this.#entriesIn(state)].filter(({ notAfter }) => notAfter > this.#clock()).map(({ serial }) => serial));
      const kept = before.filter((one) => !hasEnded(one, serials));
      return { ...state, [KEYS.revoked]: formatRevoked(withRevoked(kept, revoked)) };
    });
    if (revoked === undefined) throw new TrustError('state-unavailable', `${this.#location} was not written`);
    return revoked;
  }

  async unrevoke(site: string): Promise<boolean> {
    let changed = false;
    await this.#change(async (state) => {
      const before = this.#revokedIn(state);
      const after = await withoutRevoked(before, site, this.#entriesIn(state));
      changed = after !== before;
      return changed ? { ...state, [KEYS.revoked]: formatRevoked(after) } : undefined;
    });
    return changed;
  }

  /** One after the other: each would otherwise be made twice. */
  #change(plan: (state: StringMap) => StringMap | undefined | Promise<StringMap | undefined>): Promise<void> {
    return this.#turns.run('', async () => void (await this.#secrets.changeState(LEDGER, (state = {}) => plan(state))));
  }

  get #location(): string {
    return this.#secrets.locationOf(LEDGER);
  }

  *#entriesIn(state: StringMap): Generator<IssuedEntry> {
    for (const [index, line] of linesOf(state).entries()) {
      const entry = parseEntry(line);
      if (entry === undefined) this.#tell(line, index + 1);
      else yield entry;
    }
  }

  /** Damaged lines stay: somebody may mend them. */
  #standing(state: StringMap): readonly string[] {
    const now = this.#clock();
    return linesOf(state).filter((line) => (parseEntry(line)?.notAfter ?? Infinity) > now);
  }

  #revokedIn({ [KEYS.revoked]: text = '' }: StringMap): readonly RevokedSite[] {
    if (text !== this.#parsed.text) {
      this.#parsed = { text, revoked: text === '' ? [] : parseRevoked(text, `${this.#location}, key ${KEYS.revoked},`) };
    }
    return this.#parsed.revoked;
  }

  #tell(line: string, number: number): void {
    if (this.#toldOf.has(line)) return;
    this.#toldOf.add(line);
    this.#onDamage(damagedEntry(`${this.#location}, key ${KEYS.issued},`, number));
  }

  #full(characters: number): TrustError {
    return new TrustError(
      'state-unavailable',
      `the record of what this site has issued is full (${this.#location}: ${characters} of ${MOST_ISSUED_CHARACTERS} characters), so ` +
        'nothing more is issued until certificates on it have ended; issue fewer, or for a shorter time',
    );
  }
}

const linesOf = ({ [KEYS.issued]: text = '' }: StringMap): readonly string[] => text.split('\n').filter((line) => line !== '');

/** What a resource was given, and what has all ended, needs no refusing any more. */
function hasEnded({ name, siteIds, serials }: RevokedSite, standing: ReadonlySet<string>): boolean {
  return isResource(name) && siteIds.length === 0 && !serials.some((serial) => standing.has(serial));
}
