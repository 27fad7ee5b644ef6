import type { JSX } from 'preact';
import type { KeyView } from '../contract.ts';
import { keyColumn } from './columns.tsx';
import { byteRate, count, milliseconds, rate } from './format.ts';
import { Empty, Panel, State } from './parts.tsx';
import { route } from './route.ts';
import { keys } from './store.ts';
import { Table, type Column } from './table.tsx';
import { Choices } from './filters.tsx';

export const stateNames: Readonly<Record<KeyView['state'], string>> = {
  reachable: 'Reachable',
  'no-connector': 'No connector',
  'no-listener': 'No listener',
};

const siteNames = (of: KeyView['listeners']): string =>
  of.map(({ name, count: number }) => (number > 1 ? `${name} (${number})` : name)).join(', ');

const columns: readonly Column<KeyView>[] = [
  keyColumn,
  {
    name: 'state',
    title: 'State',
    value: ({ state, problems }) => (problems > 0 ? 'Problem' : stateNames[state]),
    cell: (key) => <KeyState item={key} />,
  },
  { name: 'listeners', title: 'Listeners at', needs: 'medium', value: ({ listeners }) => siteNames(listeners) || '–' },
  { name: 'connectors', title: 'Connectors at', needs: 'medium', value: ({ connectors }) => siteNames(connectors) || '–' },
  { name: 'open', title: 'Open', isNumber: true, value: ({ open }) => open, cell: ({ open }) => count(open) },
  {
    name: 'opened',
    title: 'New',
    isNumber: true,
    needs: 'medium',
    value: ({ rates }) => rates?.opened,
    cell: ({ rates }) => rate(rates?.opened),
  },
  {
    name: 'failed',
    title: 'Failed',
    isNumber: true,
    needs: 'medium',
    value: ({ rates }) => rates?.failed,
    cell: ({ rates }) => <span class={(rates?.failed ?? 0) > 0 ? 'bad-text' : ''}>{rate(rates?.failed)}</span>,
  },
  {
    name: 'up',
    title: 'To servers',
    isNumber: true,
    needs: 'wide',
    value: ({ rates }) => rates?.up,
    cell: ({ rates }) => byteRate(rates?.up),
  },
  {
    name: 'down',
    title: 'To clients',
    isNumber: true,
    needs: 'wide',
    value: ({ rates }) => rates?.down,
    cell: ({ rates }) => byteRate(rates?.down),
  },
  {
    name: 'connect',
    title: 'Connect p95',
    isNumber: true,
    needs: 'wide',
    value: ({ connect }) => connect?.p95,
    cell: ({ connect }) => milliseconds(connect?.p95),
  },
];

export function KeyState({ item }: { readonly item: KeyView }): JSX.Element {
  if (item.problems > 0) return <State tone="bad">Problem</State>;
  return <State tone={item.state === 'reachable' ? 'good' : 'wait'}>{stateNames[item.state]}</State>;
}

export function Services(): JSX.Element {
  const { query } = route.value;
  const [text, state] = [(query.get('q') ?? '').toLowerCase(), query.get('state') ?? ''];
  const all = [...keys.value.values()];
  const rows = all.filter(
    (key) => (text === '' || matches(key, text)) && (state === '' || (state === 'problem' ? key.problems > 0 : key.state === state)),
  );
  return (
    <Panel
      title="Routing keys"
      aside={
        <Choices
          label="State of the services"
          parameter="state"
          choices={[
            ['', 'All'],
            ['problem', 'Problems'],
            ['no-connector', 'No connector'],
            ['no-listener', 'No listener'],
          ]}
        />
      }
    >
      <Table
        caption="Services"
        columns={columns}
        rows={rows}
        idOf={({ key }) => key}
        sort="key"
        empty={
          all.length === 0 ? (
            <Empty title="No routing key yet.">
              <p>
                A listener and a connector with the same key make a service: <code>earshot listener create web 8080</code> here,{' '}
                <code>earshot connector create web 8080</code> where the server is.
              </p>
            </Empty>
          ) : (
            <Empty title="No service matches the filter." />
          )
        }
      />
      <p class="foot">Figures are those of this site: its listeners, or its connectors if it has no listener for the key.</p>
    </Panel>
  );
}

function matches({ key, listeners, connectors }: KeyView, text: string): boolean {
  return key.toLowerCase().includes(text) || [...listeners, ...connectors].some(({ name }) => name.toLowerCase().includes(text));
}
