import type { JSX } from 'preact';
import type { CandidateView, KeyDetailView, KeySiteView, ResourceRow } from '../contract.ts';
import { messageColumn } from './columns.tsx';
import { Chart, Ranges } from './chart.tsx';
import { byteRate, bytes, count, milliseconds, rate } from './format.ts';
import { Empty, Failure, FigureList, Panel, Problems, State, toneOf, useApi } from './parts.tsx';
import { ExplanationPanel } from './explanation.tsx';
import { href } from './route.ts';
import { KeyState } from './services.tsx';
import { Table, type Column } from './table.tsx';

export function Service({ name }: { readonly name: string }): JSX.Element {
  const loaded = useApi<KeyDetailView>(`keys/${encodeURIComponent(name)}`);
  if (loaded.is === 'loading') return <p class="loading">Reading {name}…</p>;
  if (loaded.is === 'failed') return <Failure error={loaded.error} />;
  const key = loaded.value;
  return (
    <>
      <div class="heading">
        <h2 class="object">{key.key}</h2>
        <KeyState item={key} />
      </div>
      {key.problemList.length > 0 && (
        <Panel title="What is wrong">
          <Problems items={key.problemList} />
        </Panel>
      )}
      <ExplanationPanel kind="key" name={name} />
      <Figures item={key} />
      <Panel title="Where connections go">
        <Table
          caption={`Candidates of ${name}`}
          columns={candidateColumns}
          rows={key.candidates}
          idOf={({ site }) => site}
          sort=""
          parameter="candidates"
          empty={
            <Empty title={`No site has a connector for ${name}.`}>
              <p>
                Create one where the server is: <code>earshot connector create {name} PORT</code>
              </p>
            </Empty>
          }
        />
        <p class="foot">The site with the least cost is first. Among equal ones, routers choose the least loaded.</p>
      </Panel>
      <Panel title="Connections by site">
        <Table
          caption={`Connections of ${name} by site`}
          columns={siteColumns}
          rows={key.sites}
          idOf={({ role, site }) => `${role} ${site}`}
          sort="-opened"
          parameter="sites"
          empty={<Empty title="No connection yet." />}
        />
        <p class="foot">Since the routers of this site started.</p>
      </Panel>
      <Panel title="Listeners and connectors of this site">
        <Table
          caption={`Resources of ${name}`}
          columns={resourceColumns}
          rows={key.resources}
          idOf={({ kind, name: of }) => `${kind}/${of}`}
          sort=""
          parameter="resources"
          empty={<Empty title={`This site has neither a listener nor a connector for ${name}.`} />}
        />
      </Panel>
      <p class="more">
        <a href={href(['connections'], { key: name })}>Connections of {name}</a>{' '}
        <a href={href(['requests'], { key: name })}>Requests of {name}</a>{' '}
        <a href={href(['network'], { view: 'graph', key: name })}>Paths of {name} in the network</a>
      </p>
      <Panel title="Traffic at this site" aside={<Ranges />}>
        <div class="charts">
          <Chart
            title="Connections"
            format="rate"
            lines={[
              { title: 'opened', of: `key:${name}:opened`, tone: 'accent' },
              { title: 'failed', of: `key:${name}:failed`, tone: 'bad' },
            ]}
          />
          <Chart
            title="Connect time"
            format="milliseconds"
            lines={[
              { title: 'p50', of: `key:${name}:connectP50`, tone: 'muted' },
              { title: 'p95', of: `key:${name}:connectP95`, tone: 'accent' },
            ]}
          />
        </div>
      </Panel>
    </>
  );
}

function Figures({ item }: { readonly item: KeyDetailView }): JSX.Element {
  const { open, rates, connect, request, requests, failures = {} } = item;
  const facts: readonly (readonly [string, string])[] = [
    ['Open', count(open)],
    ['New', rate(rates?.opened)],
    ['Failed', rate(rates?.failed)],
    ['To servers', byteRate(rates?.up)],
    ['To clients', byteRate(rates?.down)],
    ['Connect p50', milliseconds(connect?.p50)],
    ['Connect p95', milliseconds(connect?.p95)],
    ['Connect p99', milliseconds(connect?.p99)],
    ...(request === undefined
      ? []
      : ([
          ['Requests', rate(requests)],
          ['Request p50', milliseconds(request.p50)],
          ['Request p95', milliseconds(request.p95)],
          ['Request p99', milliseconds(request.p99)],
        ] as const)),
    ...Object.entries(failures).map(([reason, number]) => [`Failed: ${reason}`, count(number)] as const),
  ];
  return <FigureList items={facts} />;
}

const candidateColumns: readonly Column<CandidateView>[] = [
  { name: 'site', title: 'Site', value: ({ name }) => name },
  { name: 'connectors', title: 'Connectors', isNumber: true, value: ({ connectors }) => connectors },
  { name: 'cost', title: 'Cost', isNumber: true, value: ({ cost }) => cost, cell: ({ cost }) => cost ?? <State tone="bad">no path</State> },
  {
    name: 'path',
    title: 'Path',
    value: ({ path }) => path.join(' → '),
    cell: ({ path }) => (path.length < 2 ? 'this site' : path.join(' → ')),
  },
];

const siteColumns: readonly Column<KeySiteView>[] = [
  { name: 'site', title: 'Site', value: ({ name }) => name || 'unknown' },
  { name: 'has', title: 'It has', value: ({ role }) => (role === 'listener' ? 'the servers' : 'the clients') },
  { name: 'opened', title: 'Opened', isNumber: true, value: ({ opened }) => opened, cell: ({ opened }) => count(opened) },
  { name: 'failed', title: 'Failed', isNumber: true, value: ({ failed }) => failed, cell: ({ failed }) => count(failed) },
  { name: 'up', title: 'To servers', isNumber: true, needs: 'medium', value: ({ up }) => up, cell: ({ up }) => bytes(up) },
  { name: 'down', title: 'To clients', isNumber: true, needs: 'medium', value: ({ down }) => down, cell: ({ down }) => bytes(down) },
];

export const resourceColumns: readonly Column<ResourceRow>[] = [
  {
    name: 'name',
    title: 'Resource',
    value: ({ kind, name }) => `${kind}/${name}`,
    cell: ({ kind, name }) => (
      <a class="row-link" href={href(['objects', kind, name])}>
        {kind}/{name}
      </a>
    ),
  },
  {
    name: 'status',
    title: 'Status',
    value: ({ status }) => status,
    cell: ({ status, ready, past }) => (
      <State tone={past ? 'quiet' : ready ? 'good' : toneOf(status)}>{past ? 'used up or expired' : ready ? 'Ready' : status}</State>
    ),
  },
  { ...messageColumn, needs: 'medium' },
];
