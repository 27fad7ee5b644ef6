/** Paths of the connections of a routing key through the network, drawn and listed. */
import type { JSX } from 'preact';
import type { KeyDetailView, KeyPathView } from '../contract.ts';
import { Empty, Failure, Panel, State, useApi } from './parts.tsx';
import { href, route, setQuery } from './route.ts';
import { keys } from './store.ts';
import { Table, type Column } from './table.tsx';

/** Routing key whose paths are shown; empty for none. */
export const chosenKey = (): string => route.value.query.get('key') ?? '';

/** Number of routing keys that are offered while one types. */
const MOST_OFFERED = 50;

export function KeyChoice(): JSX.Element {
  const key = chosenKey();
  const offered = [...keys.value.keys()].filter((each) => each.toLowerCase().includes(key.toLowerCase())).slice(0, MOST_OFFERED);
  return (
    <label class="choice">
      Paths of a routing key
      <input
        type="search"
        list="offered-keys"
        value={key}
        maxLength={1_024}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => setQuery('key', event.currentTarget.value)}
      />
      <datalist id="offered-keys">
        {offered.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}

export interface KeyPathsProps {
  readonly name: string;
  /** Draws the paths. */
  readonly draw: (paths: readonly KeyPathView[]) => JSX.Element | null;
}

export function KeyPaths({ name, draw }: KeyPathsProps): JSX.Element {
  if (keys.value.has(name)) return <PathsOfKey name={name} draw={draw} />;
  return (
    <>
      {name !== '' && <p class="lead">No routing key has this name.</p>}
      {draw([])}
    </>
  );
}

function PathsOfKey({ name, draw }: KeyPathsProps): JSX.Element {
  const loaded = useApi<KeyDetailView>(`keys/${encodeURIComponent(name)}`);
  const paths = loaded.is === 'ready' ? loaded.value.paths : [];
  return (
    <>
      {draw(paths)}
      <Panel title={`Paths of ${name}`} aside={<a href={href(['services', name])}>Service {name}</a>}>
        {loaded.is === 'loading' && <p class="empty">Reading…</p>}
        {loaded.is === 'failed' && <Failure error={loaded.error} />}
        {loaded.is === 'ready' && (
          <Table
            caption={`Paths of ${name}`}
            columns={pathColumns}
            rows={paths}
            idOf={({ from, to }) => `${from.id} ${to?.id ?? ''}`}
            sort=""
            parameter="paths"
            empty={<Empty title={`No site has a listener for ${name}.`} />}
          />
        )}
        <p class="foot">Connections go to the connectors that cost least. Equal ones share them: routers choose the least loaded.</p>
      </Panel>
    </>
  );
}

const pathColumns: readonly Column<KeyPathView>[] = [
  { name: 'from', title: 'Listener at', value: ({ from }) => from.name },
  { name: 'to', title: 'Connector at', needs: 'medium', value: ({ to }) => to?.name },
  { name: 'cost', title: 'Cost', isNumber: true, value: ({ cost }) => cost },
  {
    name: 'path',
    title: 'Path',
    value: textOf,
    cell: (path) => (path.to === undefined ? <State tone="bad">no path</State> : textOf(path)),
  },
];

function textOf({ path }: KeyPathView): string {
  return path.length === 1 ? 'at the same site' : path.map(({ name }) => name).join(' → ');
}
