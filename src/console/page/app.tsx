import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Connection } from './connection.tsx';
import { Connections } from './connections.tsx';
import { duration } from './format.ts';
import { ExposedObject } from './exposed-object.tsx';
import { Exposure } from './exposure.tsx';
import { LinkPage } from './link.tsx';
import { Network } from './network.tsx';
import { ObjectPage } from './object.tsx';
import { Objects } from './objects.tsx';
import { Overview } from './overview.tsx';
import { Empty, Prose, State, toneOf } from './parts.tsx';
import type { SignsInBy } from './client.ts';
import { goTo, href, route, setQuery } from './route.ts';
import { Requests } from './requests.tsx';
import { Service } from './service.tsx';
import { Services } from './services.tsx';
import { Site } from './site.tsx';
import { announcement, clock, enter, heardAt, isPaused, links, overview, pause, phase, problems, sites } from './store.ts';
import { Trust } from './trust.tsx';

const views = [
  { path: '', title: 'Overview' },
  { path: 'network', title: 'Network' },
  { path: 'services', title: 'Services' },
  { path: 'connections', title: 'Connections' },
  { path: 'requests', title: 'Requests' },
  { path: 'trust', title: 'Trust' },
  { path: 'objects', title: 'Objects' },
  // The last one, so that the keys of the others are the same everywhere.
  { path: 'exposure', title: 'Exposure' },
] as const;

/** Exposure is offered in clusters that have it. */
function offeredViews(): readonly (typeof views)[number][] {
  return views.filter(({ path }) => path !== 'exposure' || overview.value?.exposure !== undefined);
}

/** Milliseconds after which data counts as old. The server sends a sign of life each 15 s. */
const OLD_AFTER = 35_000;

export function App(): JSX.Element {
  const { path, query } = route.value;
  const [name = ''] = path;
  const view = views.find((each) => each.path === name);
  const title = titleInNetwork(path) ?? (path.slice(1).join('/') || (view?.title ?? 'Not found'));
  const state = phase.value;
  const isOld = state.is === 'lost' || clock.value - heardAt.value > OLD_AFTER;
  const sick = [...problems.value.values()].length;
  useEffect(() => {
    document.title = `${sick > 0 ? `(${sick}) ` : ''}${title} – ${overview.value?.site?.name ?? overview.value?.namespace ?? 'Earshot'}`;
  }, [title, sick, overview.value?.site?.name]);
  if (state.is === 'signed-out') return <SignedOut message={state.message} remedy={state.do} signsInBy={state.signsInBy} />;
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the content
      </a>
      <Header isOld={isOld} />
      <nav aria-label="Views">
        {offeredViews().map((each) => (
          <a key={each.path} href={href(each.path === '' ? [] : [each.path])} aria-current={each.path === name ? 'page' : undefined}>
            {each.title}
            {each.path === '' && sick > 0 && <span class="badge">{sick}</span>}
          </a>
        ))}
      </nav>
      {isOld && <Old message={state.is === 'lost' ? state.message : 'The console is silent.'} />}
      <main id="main" tabIndex={-1} class={isOld ? 'old' : ''}>
        <h1 class={path.length > 1 ? 'crumb' : ''}>
          {path.length > 1 && view !== undefined ? <a href={href([view.path])}>{view.title}</a> : title}
        </h1>
        {state.is === 'starting' && overview.value === undefined ? (
          <p class="loading">Connecting…</p>
        ) : (
          <View path={path} key={name + (query.get('view') ?? '')} />
        )}
      </main>
      <div class="hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
      <Help />
    </>
  );
}

/** Sites and links have IDs that say nothing. */
function titleInNetwork([name, one = '', two = '']: readonly string[]): string | undefined {
  if (name !== 'network') return undefined;
  const link = one === 'link' ? links.value.get(two) : undefined;
  return link === undefined ? sites.value.get(one)?.name : `${link.fromName} – ${link.toName}`;
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function View({ path }: { readonly path: readonly string[] }): JSX.Element {
  const [name = '', one, two] = path;
  if (name === '') return <Overview />;
  if (name === 'network' && one === 'link' && two !== undefined) return <LinkPage id={two} />;
  if (name === 'network') return one === undefined ? <Network /> : <Site id={one} />;
  if (name === 'services') return one === undefined ? <Services /> : <Service name={one} />;
  if (name === 'connections') return one === undefined ? <Connections /> : <Connection id={one} />;
  if (name === 'requests') return <Requests />;
  if (name === 'trust') return <Trust />;
  if (name === 'objects') return one === undefined || two === undefined ? <Objects /> : <ObjectPage kind={one} name={two} />;
  if (name === 'exposure') return one === undefined || two === undefined ? <Exposure /> : <ExposedObject list={one} name={two} />;
  return (
    <Empty title="This view does not exist.">
      <p>
        <a href="#/">Go to the overview</a>
      </p>
    </Empty>
  );
}

function Header({ isOld }: { readonly isOld: boolean }): JSX.Element {
  const state = overview.value;
  const site = state?.site;
  return (
    <header class="top">
      <a class="site" href="#/">
        <Mark />
        <span>
          <b>{site?.name ?? 'Earshot'}</b>
          <span class="where">{state === undefined ? '' : `namespace ${state.namespace}`}</span>
        </span>
      </a>
      {site !== undefined && (
        <State tone={problems.value.size > 0 && site.status === 'Ready' ? 'wait' : toneOf(site.status)}>{site.headline}</State>
      )}
      <Search />
      <button
        type="button"
        class="plain live"
        aria-pressed={isPaused.value}
        onClick={() => pause(!isPaused.value)}
        title="Pause the page (p)"
      >
        <span class={isOld ? 'dot off' : isPaused.value ? 'dot paused' : 'dot'} aria-hidden="true" />
        {isOld ? `${duration(clock.value - heardAt.value)} old` : isPaused.value ? 'Paused' : 'Live'}
      </button>
    </header>
  );
}

/** Two waves from a point. */
function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <circle cx="6" cy="12" r="2.5" />
      <path d="M11 7a7 7 0 0 1 0 10M15.5 4a11.5 11.5 0 0 1 0 16" />
    </svg>
  );
}

const FILTERED: ReadonlySet<string> = new Set(['network', 'services', 'connections', 'requests', 'trust', 'objects', 'exposure']);

/** Filters the view. Where nothing can be filtered, it searches all objects. */
function Search(): JSX.Element {
  const { path, query } = route.value;
  const [name = ''] = path;
  const filters = path.length === 1 && FILTERED.has(name);
  const label = filters ? `Filter ${name}` : 'Search objects';
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const text = new FormData(event.currentTarget).get('q');
        if (!filters) goTo(href(['objects'], { q: String(text ?? '') }));
      }}
    >
      <input
        key={path.join('/')}
        id="search"
        name="q"
        type="search"
        aria-label={label}
        placeholder={`${label}  /`}
        defaultValue={query.get('q') ?? ''}
        maxLength={200}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => filters && setQuery('q', event.currentTarget.value)}
      />
    </form>
  );
}

function Old({ message }: { readonly message: string }): JSX.Element {
  return (
    <div class="banner" role="alert">
      {message} What you see is {duration(clock.value - heardAt.value)} old. Trying again…
    </div>
  );
}

interface SignedOutProps {
  readonly message: string;
  readonly remedy: string;
  readonly signsInBy: SignsInBy;
}

const SIGN_IN: Readonly<Record<SignsInBy, string>> = {
  link: 'Open the console with its link',
  token: 'Sign in with a token of the cluster',
  password: 'Sign in with a user and password',
};

function SignedOut({ message, remedy, signsInBy }: SignedOutProps): JSX.Element {
  return (
    <main class="signed-out">
      <Mark />
      <h1>{SIGN_IN[signsInBy]}</h1>
      <p>
        <Prose text={`${message[0]?.toUpperCase() ?? ''}${message.slice(1)}${message.endsWith('.') ? '' : '.'}`} />
      </p>
      <p>
        <Prose text={remedy} />
      </p>
      {signsInBy === 'token' && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const token = new FormData(event.currentTarget).get('token');
            if (typeof token === 'string' && token.trim() !== '') enter(token.trim());
          }}
        >
          <label>
            Token <input name="token" type="password" autoComplete="off" spellcheck={false} maxLength={16_384} required />
          </label>
          <button type="submit">Sign in</button>
        </form>
      )}
    </main>
  );
}

const keysHelp = (): readonly (readonly [key: string, what: string])[] => [
  ['/', 'search or filter'],
  ['j, k', 'next and previous row'],
  ['Enter', 'open the row'],
  ['Esc', 'leave the search, or go up'],
  ['p', 'pause the page'],
  [`1 – ${offeredViews().length}`, 'the views, in their order'],
  ['?', 'this help'],
];

function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => handleKey(event, dialog.current);
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl>
        {keysHelp().map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function handleKey(event: KeyboardEvent, dialog: HTMLDialogElement | null): void {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog?.open === true) return;
  const target = event.target instanceof HTMLElement ? event.target : undefined;
  const isTyping = target instanceof HTMLInputElement;
  if (event.key === 'Escape') {
    if (isTyping) return target.blur();
    const { path } = route.value;
    if (path.length > 1) goTo(href(path.slice(0, 1)));
    else if (path.length === 1) goTo('#/');
    return;
  }
  if (isTyping) return;
  const act = keyActions(dialog)[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
}

function keyActions(dialog: HTMLDialogElement | null): Readonly<Record<string, () => void>> {
  const numbered = offeredViews().map(({ path }, index) => [String(index + 1), () => goTo(href(path === '' ? [] : [path]))] as const);
  return {
    ...Object.fromEntries(numbered),
    '/': () => document.getElementById('search')?.focus(),
    '?': () => dialog?.showModal(),
    p: () => pause(!isPaused.value),
    j: () => moveFocus(1),
    k: () => moveFocus(-1),
  };
}

function moveFocus(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main .row-link')];
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}
