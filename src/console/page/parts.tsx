/** Parts that several views use. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { exposedKinds, exposedLists, type ExposedList, type Missing, type ProblemView } from '../contract.ts';
import { RequestError, get } from './client.ts';
import { duration } from './format.ts';
import { href } from './route.ts';
import { clock, resources, revision } from './store.ts';

export type Tone = 'good' | 'wait' | 'bad' | 'quiet';

const SHAPES: Readonly<Record<Tone, string>> = { good: '●', wait: '◐', bad: '▲', quiet: '○' };

/** A state by word, shape and colour. */
export function State({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }): JSX.Element {
  return (
    <span class={`state ${tone}`}>
      <span class="shape" aria-hidden="true">
        {SHAPES[tone]}
      </span>
      {children}
    </span>
  );
}

export function toneOf(status: string): Tone {
  if (/^(?:Ready|up|reachable|True|pass)$/i.test(status)) return 'good';
  if (/^(?:Error|down|Stopped|not running|fail)$/i.test(status)) return 'bad';
  return /^(?:Unknown|skip|past)$/i.test(status) ? 'quiet' : 'wait';
}

/** Time since a moment; the exact time is its title. */
export function Since({ time }: { readonly time: string | undefined }): JSX.Element {
  const then = Date.parse(time ?? '');
  if (Number.isNaN(then)) return <span>–</span>;
  return (
    <time dateTime={time} title={new Date(then).toLocaleString()}>
      {duration(clock.value - then)}
    </time>
  );
}

export function Panel({
  title,
  aside,
  children,
}: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  const id = `panel-${title.replaceAll(/\W+/g, '-').toLowerCase()}`;
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
    </div>
  );
}

/** Rights that the user lacks. */
export function NotReadable({ partial }: { readonly partial: readonly Missing[] }): JSX.Element {
  return (
    <>
      {partial
        .filter(({ router }) => router === '')
        .map(({ why }) => (
          <p key={why} class="foot">
            <Prose text={why} />
          </p>
        ))}
    </>
  );
}

/** Text in which commands between backticks are marked. */
export function Prose({ text }: { readonly text: string }): JSX.Element {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

export function Message({ text }: { readonly text: string }): JSX.Element {
  return (
    <span class="message">
      <Prose text={text} />
    </span>
  );
}

/** Titles with their texts. Empty ones are left out. */
export function FactList({ items }: { readonly items: readonly (readonly [title: string, text: ComponentChildren])[] }): JSX.Element {
  return (
    <dl class="facts">
      {items
        .filter(([, text]) => text !== '')
        .map(([title, text]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{text}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Where more about a problem is shown. */
export function problemHref({ kind, name }: ProblemView): string | undefined {
  const list = listOfKind(kind);
  if (list !== undefined) return href(['exposure', list, name]);
  return resources.value.has(`${kind}/${name}`) ? href(['objects', kind, name]) : undefined;
}

/** The list of the Exposure view that has objects of the kind. */
export function listOfKind(kind: string): ExposedList | undefined {
  return exposedLists.find((list) => exposedKinds[list] === kind);
}

export function Problems({ items }: { readonly items: readonly ProblemView[] }): JSX.Element {
  return (
    <ul class="problems">
      {items.map((problem) => {
        const target = problemHref(problem);
        return (
          <li key={`${problem.object} ${problem.status}`} class={problem.severity}>
            <div class="line">
              <State tone={problem.severity === 'error' ? 'bad' : 'wait'}>{problem.status}</State>
              {target === undefined ? (
                <strong>{problem.object}</strong>
              ) : (
                <a class="row-link" href={target}>
                  {problem.object}
                </a>
              )}
              <span class="since">
                since <Since time={problem.since} />
              </span>
            </div>
            <p>
              <Prose text={problem.message} />
            </p>
            {problem.advice !== undefined && (
              <p class="advice">
                <span class="do">Do</span> <Prose text={problem.advice} />
              </p>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Figures with their titles. */
export function FigureList({ items }: { readonly items: readonly (readonly [title: string, text: string])[] }): JSX.Element {
  return (
    <dl class="figures">
      {items.map(([title, text]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>
            <span class="value">{text}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

export type Loaded<T> =
  | { readonly is: 'loading' }
  | { readonly is: 'ready'; readonly value: T }
  | { readonly is: 'failed'; readonly error: Error };

/** Reads a path, again when something has changed, and at most once in `every` milliseconds. */
export function useApi<T>(path: string, every = 1_000): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly path?: string }>({ is: 'loading' });
  const tick = Math.floor(clock.value / every);
  const change = revision.value;
  useEffect(() => {
    let isCurrent = true;
    get<T>(path).then(
      (value) => isCurrent && setLoaded({ is: 'ready', value, path }),
      (error: unknown) => isCurrent && setLoaded({ is: 'failed', error: error instanceof Error ? error : new Error(String(error)), path }),
    );
    return () => {
      isCurrent = false;
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [path, every === 1_000 ? change : tick]);
  return loaded.path === path ? loaded : { is: 'loading' };
}

export function Failure({ error }: { readonly error: Error }): JSX.Element {
  const view = error instanceof RequestError ? error.view : { message: 'The console does not answer.', do: '' };
  return (
    <Empty title={`${view.message[0]?.toUpperCase() ?? ''}${view.message.slice(1)}.`}>
      {view.do !== '' && (
        <p>
          <Prose text={view.do} />
        </p>
      )}
    </Empty>
  );
}
