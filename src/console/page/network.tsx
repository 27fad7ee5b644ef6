import type { JSX } from 'preact';
import type { LinkView, SiteFiguresView, SiteView } from '../contract.ts';
import { byteRate, bytes, count, milliseconds, plural, rate } from './format.ts';
import { Choices } from './filters.tsx';
import { Graph } from './graph.tsx';
import { Empty, Panel, Since, State } from './parts.tsx';
import { href, route } from './route.ts';
import { linkTones, trafficOf } from './link.tsx';
import { chosenKey, KeyChoice, KeyPaths } from './paths.tsx';
import { links, sites } from './store.ts';
import { Table, type Column } from './table.tsx';

export function Network(): JSX.Element {
  const { query } = route.value;
  const [text, state] = [(query.get('q') ?? '').toLowerCase(), query.get('state') ?? ''];
  const siteRows = [...sites.value.values()].filter((site) => has([site.name, site.namespace, site.platform, site.version, site.id], text));
  const linkRows = [...links.value.values()].filter(
    (link) => has([link.name, link.fromName, link.toName, link.address ?? ''], text) && (state === '' || link.state !== 'up'),
  );
  const isGraph = query.get('view') === 'graph';
  return (
    <>
      <div class="bar">
        <Choices
          label="View of the network"
          parameter="view"
          choices={[
            ['', 'Tables'],
            ['graph', 'Graph'],
          ]}
        />
        <KeyChoice />
      </div>
      <KeyPaths
        name={chosenKey()}
        draw={(paths) => (isGraph ? <Graph sites={siteRows} links={[...links.value.values()]} paths={paths} /> : null)}
      />
      {!isGraph && (
        <>
          <Panel
            title="Links"
            aside={
              <Choices
                label="State of the links"
                parameter="state"
                choices={[
                  ['', 'All'],
                  ['problem', 'Not up'],
                ]}
              />
            }
          >
            <Table
              caption="Links"
              columns={linkColumns}
              rows={linkRows}
              idOf={({ id }) => id}
              sort="state"
              empty={
                links.value.size === 0 ? (
                  <Empty title="No link.">
                    <p>
                      To link two sites, one issues a token with <code>earshot token issue FILE</code>, and the other redeems it with{' '}
                      <code>earshot token redeem FILE</code>.
                    </p>
                  </Empty>
                ) : (
                  <Empty title="No link matches the filter." />
                )
              }
            />
          </Panel>
          <Panel title="Sites">
            <Table
              caption="Sites"
              columns={siteColumns}
              rows={siteRows}
              idOf={({ id }) => id}
              sort=""
              parameter="sites"
              empty={<Empty title={sites.value.size === 0 ? 'No site is known yet.' : 'No site matches the filter.'} />}
            />
            <WithoutFigures rows={siteRows} />
          </Panel>
        </>
      )}
    </>
  );
}

/** Why sites have no figures: once for each reason. */
function WithoutFigures({ rows }: { readonly rows: readonly SiteView[] }): JSX.Element | null {
  const reasons = Map.groupBy(
    rows.filter(({ noFigures }) => noFigures !== undefined),
    ({ noFigures }) => noFigures,
  );
  if (reasons.size === 0) return null;
  return (
    <p class="foot">
      {[...reasons].slice(0, MOST_REASONS).map(([reason, of]) => (
        <span key={reason} class="reason">
          No figures of {plural(of.length, 'site')}: {reason}.{' '}
        </span>
      ))}
    </p>
  );
}

const MOST_REASONS = 5;

const has = (texts: readonly string[], text: string): boolean => text === '' || texts.some((each) => each.toLowerCase().includes(text));

const ORDER = { down: '0', silent: '1', up: '2' } as const;

export const linkColumns: readonly Column<LinkView>[] = [
  {
    name: 'name',
    title: 'Link',
    value: ({ direction, name, fromName, toName }) => (direction === 'between' ? `${fromName} – ${toName}` : name),
    cell: ({ id, direction, name, fromName, toName }) =>
      direction === 'outgoing' ? (
        <a class="row-link" href={href(['objects', 'Link', name])}>
          {name}
        </a>
      ) : (
        <a class="row-link" href={href(['network', 'link', id])}>
          {direction === 'between' ? `${fromName} – ${toName}` : name}
        </a>
      ),
  },
  {
    name: 'state',
    title: 'State',
    value: ({ state }) => `${ORDER[state]} ${state}`,
    cell: ({ state }) => <State tone={linkTones[state]}>{state}</State>,
  },
  { name: 'to', title: 'To site', needs: 'medium', value: ({ toName }) => toName || '–' },
  { name: 'cost', title: 'Cost', isNumber: true, value: ({ cost }) => cost, cell: ({ cost }) => count(cost) },
  {
    name: 'rtt',
    title: 'Round trip',
    isNumber: true,
    needs: 'medium',
    value: ({ roundTripMs }) => roundTripMs,
    cell: ({ roundTripMs }) => milliseconds(roundTripMs),
  },
  { name: 'traffic', title: 'Traffic', isNumber: true, needs: 'medium', value: trafficOf, cell: (link) => byteRate(trafficOf(link)) },
  {
    name: 'streams',
    title: 'Streams',
    isNumber: true,
    needs: 'wide',
    value: ({ streams }) => streams,
    cell: ({ streams }) => count(streams),
  },
  {
    name: 'queued',
    title: 'Queued',
    isNumber: true,
    needs: 'wide',
    value: ({ queuedBytes }) => queuedBytes,
    cell: ({ queuedBytes }) => bytes(queuedBytes),
  },
  { name: 'sent', title: 'Sent', isNumber: true, needs: 'wide', value: ({ sent }) => sent, cell: ({ sent }) => bytes(sent) },
  {
    name: 'received',
    title: 'Received',
    isNumber: true,
    needs: 'wide',
    value: ({ received }) => received,
    cell: ({ received }) => bytes(received),
  },
  { name: 'address', title: 'Address', needs: 'wide', value: ({ address }) => address },
  {
    name: 'since',
    title: 'Since',
    isNumber: true,
    needs: 'medium',
    value: ({ since }) => (since === undefined ? undefined : Date.parse(since)),
    cell: ({ since }) => <Since time={since} />,
  },
];

function bytesOf({ rates }: SiteFiguresView = { missing: 0 }): number | undefined {
  return rates === undefined ? undefined : rates.up + rates.down;
}

const siteColumns: readonly Column<SiteView>[] = [
  {
    name: 'name',
    title: 'Site',
    value: ({ name }) => name,
    cell: ({ id, name, isThis, edge }) => (
      <>
        <a class="row-link" href={href(['network', id])}>
          {name}
        </a>
        {isThis && <span class="tag">this site</span>}
        {edge && <span class="tag">edge</span>}
      </>
    ),
  },
  {
    name: 'opened',
    title: 'New',
    isNumber: true,
    value: ({ figures }) => figures?.rates?.opened,
    cell: ({ figures, noFigures }) => (noFigures === undefined ? rate(figures?.rates?.opened) : <span title={noFigures}>no figures</span>),
  },
  {
    name: 'failed',
    title: 'Failed',
    isNumber: true,
    value: ({ figures }) => figures?.rates?.failed,
    cell: ({ figures }) => rate(figures?.rates?.failed),
  },
  {
    name: 'open',
    title: 'Open',
    isNumber: true,
    needs: 'medium',
    value: ({ figures }) => figures?.open,
    cell: ({ figures }) => count(figures?.open),
  },
  {
    name: 'bytes',
    title: 'Bytes',
    isNumber: true,
    needs: 'medium',
    value: ({ figures }) => bytesOf(figures),
    cell: ({ figures }) => byteRate(bytesOf(figures)),
  },
  {
    name: 'delay',
    title: 'Loop delay',
    isNumber: true,
    needs: 'wide',
    value: ({ figures }) => figures?.eventLoopDelay,
    cell: ({ figures }) => milliseconds(figures?.eventLoopDelay),
  },
  { name: 'platform', title: 'Platform', needs: 'medium', value: ({ platform }) => platform },
  { name: 'namespace', title: 'Namespace', needs: 'wide', value: ({ namespace }) => namespace },
  { name: 'version', title: 'Version', needs: 'medium', value: ({ version }) => version },
  { name: 'routers', title: 'Routers', isNumber: true, needs: 'wide', value: ({ routers }) => routers },
  { name: 'links', title: 'Links', isNumber: true, value: ({ links: number }) => number },
  { name: 'keys', title: 'Keys', isNumber: true, value: ({ keys }) => keys },
  { name: 'id', title: 'ID', needs: 'wide', value: ({ id }) => id, cell: ({ id }) => <code class="id">{id}</code> },
];
