/** What the page shows: objects by ID, kept up to date by the stream. */
import { signal, type Signal } from '@preact/signals';
import type {
  Changes,
  ErrorView,
  KeyView,
  LinkView,
  ListView,
  NetworkView,
  OverviewView,
  ProblemView,
  ResourceRow,
  SiteView,
} from '../contract.ts';
import { RequestError, get, readStream, requestWithPassword, signIn, useToken, type SignsInBy, type StreamEvent } from './client.ts';

export type Phase =
  | { readonly is: 'starting' }
  | { readonly is: 'signed-out'; readonly message: string; readonly do: string; readonly signsInBy: SignsInBy }
  | { readonly is: 'live' }
  /** Not connected; the data is from `heardAt`. */
  | { readonly is: 'lost'; readonly message: string };

type Objects<T> = ReadonlyMap<string, T>;

export const phase = signal<Phase>({ is: 'starting' });
export const overview = signal<OverviewView | undefined>(undefined);
export const problems = signal<Objects<ProblemView>>(new Map());
export const sites = signal<Objects<SiteView>>(new Map());
export const links = signal<Objects<LinkView>>(new Map());
export const keys = signal<Objects<KeyView>>(new Map());
export const resources = signal<Objects<ResourceRow>>(new Map());
export const isPaused = signal(false);
/** Milliseconds since 1970 at which the server was last heard. */
export const heardAt = signal(Date.now());
/** Current time, once a second. */
export const clock = signal(Date.now());
/** Grows with each change that a detail view may depend on. */
export const revision = signal(0);
/** Text for screen readers. */
export const announcement = signal('');

setInterval(() => {
  clock.value = Date.now();
}, 1_000);

let lastId: string | undefined;
/** Events that arrived while everything was read, or while the page was paused. */
let waiting: StreamEvent[] = [];
let isLoading = false;
/** Whether a change may be missing from what is being read. */
let isStale = false;

/** Connects, and connects again after a break. */
export async function run(): Promise<void> {
  try {
    if (!(await signIn())) {
      const refusal: unknown = await requestWithPassword().catch((error: unknown) => error);
      if (refusal !== undefined) return signOut(refusal instanceof RequestError && refusal.signsInBy !== 'link' ? refusal : LINK);
    }
  } catch (error) {
    return error instanceof RequestError ? signOut(error) : lose(error);
  }
  for (let wait = 500; ; wait = Math.min(wait * 2, 5_000)) {
    const before = Date.now();
    try {
      await readStream(lastId, onEvent, onHeard);
      lose(undefined);
    } catch (error) {
      if (isRefusal(error)) return signOut(error);
      lose(error);
    }
    if (Date.now() - before > 10_000) wait = 500;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

const LINK = {
  view: { message: 'This page opens with a link that works once.', do: 'Start `earshot console` and open the link that it prints.' },
  signsInBy: 'link' as const,
};

/** The server sends a sign of life at least each 15 s. */
function onHeard(): void {
  heardAt.value = Date.now();
  if (phase.value.is === 'lost' && !isLoading && lastId !== undefined) phase.value = { is: 'live' };
}

/** 403: the user of the token may not see the site. */
const isRefusal = (error: unknown): error is RequestError =>
  error instanceof RequestError && (error.status === 401 || error.status === 403);

function signOut({ view, signsInBy }: { readonly view: Pick<ErrorView, 'message' | 'do'>; readonly signsInBy: SignsInBy }): void {
  phase.value = { is: 'signed-out', message: view.message, do: view.do, signsInBy };
}

/** Opens the page with a token of the cluster. */
export function enter(token: string): void {
  useToken(token);
  phase.value = { is: 'starting' };
  void run();
}

function lose(error: unknown): void {
  const message = error instanceof RequestError ? error.view.message : 'The console does not answer.';
  if (phase.value.is !== 'signed-out') phase.value = { is: 'lost', message };
}

function onEvent(event: StreamEvent): void {
  lastId = event.id;
  if (event.event === 'resync') {
    void reload();
  } else if (!isLoading && !isPaused.value) apply(event);
  else if (waiting.length < MOST_WAITING) waiting.push(event);
}

/** Events that a paused page keeps. After more of them, it reads everything again. */
const MOST_WAITING = 500;
/** Milliseconds until the next attempt to read everything. */
const RETRY_AFTER = 2_000;

async function reload(): Promise<void> {
  isStale = isLoading;
  if (isLoading) return;
  isLoading = true;
  while (isLoading) {
    waiting = [];
    try {
      await load();
      // The stream began again in the meantime.
      if (isStale) isLoading = true;
      isStale = false;
    } catch (error) {
      if (isRefusal(error)) {
        isLoading = false;
        return signOut(error);
      }
      lose(error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER));
    }
  }
}

export function pause(paused: boolean): void {
  isPaused.value = paused;
  if (paused) return;
  if (waiting.length < MOST_WAITING) applyWaiting();
  else void reload();
}

function applyWaiting(): void {
  const events = waiting;
  waiting = [];
  for (const event of events) apply(event);
}

async function load(): Promise<void> {
  const [state, network, keyList, objects] = await Promise.all([
    get<OverviewView>('overview'),
    get<NetworkView>('network'),
    getAll<KeyView>('keys'),
    getAll<ResourceRow>('resources/all'),
  ]);
  overview.value = state;
  problems.value = new Map(state.problems.map((each) => [`${each.object} ${each.status}`, each]));
  sites.value = new Map(network.sites.map((each) => [each.id, each]));
  links.value = new Map(network.links.map((each) => [each.id, each]));
  keys.value = new Map(keyList.map((each) => [each.key, each]));
  resources.value = new Map(objects.map((each) => [`${each.kind}/${each.name}`, each]));
  isLoading = false;
  revision.value += 1;
  applyWaiting();
  phase.value = { is: 'live' };
}

async function getAll<T>(path: string): Promise<readonly T[]> {
  const items: T[] = [];
  for (let cursor: string | null = '0'; cursor !== null;) {
    const page: ListView<T> = await get(`${path}?limit=5000&cursor=${cursor}`);
    items.push(...page.items);
    cursor = page.next;
  }
  return items;
}

function apply({ event, data }: StreamEvent): void {
  // The server sends this type.
  const { asOf, changes } = JSON.parse(data) as { readonly asOf: string; readonly changes: Changes };
  revision.value += 1;
  switch (event) {
    case 'overview':
      if (overview.value !== undefined) overview.value = { ...merged(overview.value, changes['overview'] ?? {}), asOf };
      return;
    case 'problems':
      announce(changes);
      return update(problems, changes);
    case 'sites':
      return update(sites, changes);
    case 'links':
      return update(links, changes);
    case 'keys':
      return update(keys, changes);
    case 'resources':
      return update(resources, changes);
    default:
  }
}

function update<T extends object>(target: Signal<Objects<T>>, changes: Changes): void {
  const next = new Map(target.value);
  for (const [id, fields] of Object.entries(changes)) {
    if (fields === null) next.delete(id);
    // The first change of an object has all its fields.
    else next.set(id, merged(next.get(id) ?? ({} as T), fields));
  }
  target.value = next;
}

function merged<T extends object>(before: T, fields: Readonly<Record<string, unknown>>): T {
  const entries = Object.entries({ ...before, ...fields }).filter(([, value]) => value !== null);
  // Fields that are null are gone; the server sends the others with their types.
  return Object.fromEntries(entries) as T;
}

function announce(changes: Changes): void {
  const news = Object.entries(changes).flatMap(([id, fields]) => {
    if (fields === null) return problems.value.has(id) ? [`Solved: ${problems.value.get(id)?.object ?? id}.`] : [];
    return problems.value.has(id) ? [] : [`New problem: ${String(fields['object'])}, ${String(fields['message'])}`];
  });
  if (news.length > 0) announcement.value = news.slice(0, 3).join(' ');
}
