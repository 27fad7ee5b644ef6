import type { JSX } from 'preact';
import type { ClassView, ExplainedView, ExposedListenerView, ExposedPodView, ListView } from '../contract.ts';
import { ageColumn, messageColumn } from './columns.tsx';
import { Choices, ReadinessChoices } from './filters.tsx';
import { Empty, Failure, NotReadable, Panel, State, useApi, type Tone } from './parts.tsx';
import { href, route } from './route.ts';
import { Table, type Column } from './table.tsx';

/** Milliseconds between two reads. */
const EVERY = 5_000;

const titles = { listeners: 'Listeners', pods: 'Pods with listener volumes', classes: 'ListenerClasses' } as const;

export function Exposure(): JSX.Element {
  const of = route.value.query.get('of') ?? '';
  return (
    <>
      <Choices
        label="Kind of exposed objects"
        parameter="of"
        choices={[
          ['', 'Listeners'],
          ['pods', 'Pods'],
          ['classes', 'Classes'],
        ]}
      />
      {of === 'pods' ? <Pods /> : of === 'classes' ? <Classes /> : <Listeners />}
    </>
  );
}

function Listeners(): JSX.Element {
  return (
    <List<ExposedListenerView>
      list="listeners"
      columns={listenerColumns}
      empty="No Listener exposes pods in this namespace yet."
      advice={
        <p>
          A pod gets one with a volume of the storage class <code>listeners.stackable.tech</code>.
        </p>
      }
      isShown={({ ready }) => !ready}
      textsOf={({ name, className, addresses, reason, message }) => [name, className, ...addresses, reason, message]}
    />
  );
}

function Pods(): JSX.Element {
  return (
    <List<ExposedPodView>
      list="pods"
      columns={podColumns}
      empty="No pod of this namespace mounts a listener volume."
      isShown={({ verdict }) => verdict === 'wait' || verdict === 'fail'}
      textsOf={({ name, node = '', message, mounts }) => [
        name,
        node,
        message,
        ...mounts.flatMap(({ claim, listener = '', addresses }) => [claim, listener, ...addresses]),
      ]}
    />
  );
}

function Classes(): JSX.Element {
  return (
    <List<ClassView>
      list="classes"
      columns={classColumns}
      empty="The cluster has no ListenerClass."
      advice={
        <p>
          The chart creates some with <code>exposure.enabled</code>.
        </p>
      }
      isShown={({ notReady, message }) => notReady > 0 || message !== ''}
      textsOf={({ name, serviceType, policy, message }) => [name, serviceType, ...policy, message]}
    />
  );
}

function List<T extends { readonly name: string }>({
  list,
  columns,
  empty,
  advice,
  isShown,
  textsOf,
}: {
  readonly list: keyof typeof titles;
  readonly columns: readonly Column<T>[];
  readonly empty: string;
  readonly advice?: JSX.Element;
  /** Whether the row is shown among those that are not ready. */
  readonly isShown: (row: T) => boolean;
  readonly textsOf: (row: T) => readonly string[];
}): JSX.Element {
  const { query } = route.value;
  const [text, state] = [(query.get('q') ?? '').toLowerCase(), query.get('state') ?? ''];
  const title = titles[list];
  const loaded = useApi<ListView<T>>(`exposure/${list}?limit=5000`, EVERY);
  const rows = (loaded.is === 'ready' ? loaded.value.items : []).filter(
    (row) => (state === '' || isShown(row)) && (text === '' || textsOf(row).some((each) => each.toLowerCase().includes(text))),
  );
  return (
    <Panel title={title} aside={<ReadinessChoices />}>
      {loaded.is === 'loading' && <p class="empty">Reading…</p>}
      {loaded.is === 'failed' && <Failure error={loaded.error} />}
      {loaded.is === 'ready' && (
        <>
          <Table
            caption={title}
            columns={columns}
            rows={rows}
            idOf={({ name }) => name}
            sort="name"
            empty={loaded.value.total === 0 ? <Empty title={empty}>{advice}</Empty> : <Empty title="No object matches the filter." />}
          />
          <NotReadable partial={loaded.value.partial} />
        </>
      )}
    </Panel>
  );
}

const TONES: Readonly<Record<ExplainedView['verdict'], Tone>> = {
  pass: 'good',
  warn: 'wait',
  wait: 'wait',
  fail: 'bad',
  unknown: 'quiet',
  skip: 'quiet',
};
const WORDS: Readonly<Record<ExplainedView['verdict'], string>> = {
  pass: 'Ready',
  warn: 'Look',
  wait: 'Pending',
  fail: 'Error',
  unknown: 'Unknown',
  skip: 'Unknown',
};

export function Verdict({ of }: { readonly of: ExplainedView['verdict'] }): JSX.Element {
  return <State tone={TONES[of]}>{WORDS[of]}</State>;
}

/** A name that is not broken to make room for other columns. */
function Word({ text }: { readonly text: string }): JSX.Element {
  return <span class="word">{text === '' ? '–' : text}</span>;
}

/** At which addresses, and how many are not named. */
export const addressText = ({ addresses, addressCount = addresses.length }: Addressed): string =>
  `${addresses.join(', ')}${addressCount > addresses.length ? ` and ${addressCount - addresses.length} more` : ''}`;

interface Addressed {
  readonly addresses: readonly string[];
  readonly addressCount?: number;
}

export const listenerColumns: readonly Column<ExposedListenerView>[] = [
  {
    name: 'name',
    title: 'Listener',
    value: ({ name }) => name,
    cell: ({ name }) => (
      <a class="row-link word" href={href(['exposure', 'listeners', name])}>
        {name}
      </a>
    ),
  },
  { name: 'state', title: 'State', value: ({ verdict }) => WORDS[verdict], cell: ({ verdict }) => <Verdict of={verdict} /> },
  {
    name: 'class',
    title: 'Class',
    needs: 'medium',
    value: ({ className }) => className,
    cell: ({ className }) => <Word text={className} />,
  },
  { name: 'addresses', title: 'Addresses', value: (row) => addressText(row) || '–' },
  { name: 'ports', title: 'Ports', needs: 'medium', value: ({ ports }) => ports.join(', ') || '–' },
  {
    name: 'pods',
    title: 'Pods ready',
    isNumber: true,
    needs: 'wide',
    value: ({ podsReady }) => podsReady,
    cell: ({ pods, podsReady }) => `${podsReady} of ${pods}`,
  },
  { name: 'reason', title: 'Reason', needs: 'wide', value: ({ reason }) => reason, cell: ({ reason }) => <Word text={reason} /> },
  { ...messageColumn, needs: 'medium' },
  ageColumn,
];

const podColumns: readonly Column<ExposedPodView>[] = [
  {
    name: 'name',
    title: 'Pod',
    value: ({ name }) => name,
    cell: ({ name }) => (
      <a class="row-link word" href={href(['exposure', 'pods', name])}>
        {name}
      </a>
    ),
  },
  {
    name: 'state',
    title: 'Volumes',
    value: ({ verdict }) => (verdict === 'pass' ? 'Mounted' : WORDS[verdict]),
    cell: ({ verdict }) => <State tone={TONES[verdict]}>{verdict === 'pass' ? 'Mounted' : WORDS[verdict]}</State>,
  },
  { name: 'ready', title: 'Pod ready', needs: 'medium', value: ({ ready, phase }) => (ready ? 'Ready' : phase) },
  { name: 'node', title: 'Node', needs: 'medium', value: ({ node }) => node },
  {
    name: 'listeners',
    title: 'Listeners',
    needs: 'wide',
    value: ({ mounts }) => mounts.map(({ listener, claim }) => listener ?? claim).join(', ') || '–',
  },
  { name: 'addresses', title: 'Addresses', value: ({ mounts }) => mounts.flatMap(({ addresses }) => addresses).join(', ') || '–' },
  { ...messageColumn, needs: 'medium' },
  ageColumn,
];

const classColumns: readonly Column<ClassView>[] = [
  {
    name: 'name',
    title: 'Class',
    value: ({ name }) => name,
    cell: ({ name }) => (
      <a class="row-link word" href={href(['exposure', 'classes', name])}>
        {name}
      </a>
    ),
  },
  { name: 'type', title: 'Type', value: ({ serviceType }) => serviceType },
  { name: 'policy', title: 'Policy', needs: 'medium', value: ({ policy }) => policy.join(', ') || 'defaults' },
  { name: 'listeners', title: 'Listeners here', isNumber: true, value: ({ listeners }) => listeners },
  {
    name: 'not-ready',
    title: 'Not ready',
    isNumber: true,
    value: ({ notReady }) => notReady,
    cell: ({ notReady }) => <span class={notReady > 0 ? 'bad-text' : ''}>{notReady}</span>,
  },
  { ...messageColumn, needs: 'wide' },
];
