/** One connection with its requests. */
import type { JSX } from 'preact';
import type { ConnectionDetailView, ConnectionView } from '../contract.ts';
import { ExplanationPanel } from './explanation.tsx';
import { bytes, count, duration, milliseconds } from './format.ts';
import { FactList, Failure, FigureList, Panel, State, useApi, type Tone } from './parts.tsx';
import { RequestList } from './requests.tsx';
import { href } from './route.ts';
import { clock } from './store.ts';

/** Milliseconds between two reads. */
const EVERY = 2_000;

export function Connection({ id }: { readonly id: string }): JSX.Element {
  const loaded = useApi<ConnectionDetailView>(`connections/${encodeURIComponent(id)}`, EVERY);
  if (loaded.is === 'loading') return <p class="loading">Asking the routers…</p>;
  return (
    <>
      {loaded.is === 'failed' ? <Failure error={loaded.error} /> : <Record connection={loaded.value} />}
      <Panel title="Requests">
        <RequestList connection={id} />
      </Panel>
      {loaded.is === 'ready' && <ExplanationPanel kind="connection" name={id} />}
    </>
  );
}

function Record({ connection }: { readonly connection: ConnectionDetailView }): JSX.Element {
  const { key, end, message, others } = connection;
  return (
    <>
      <div class="heading">
        <h2 class="object">
          <a href={href(['services', key])}>{key}</a>
        </h2>
        <State tone={toneOf(connection)}>{end ?? connection.state}</State>
      </div>
      {message !== undefined && <p class="lead">{message}</p>}
      {others > 0 && <p class="lead">{count(others)} more with this ID: a peer has used it again.</p>}
      <Figures connection={connection} />
      <ConnectionFacts connection={connection} />
    </>
  );
}

function toneOf({ state, end }: ConnectionView): Tone {
  if (state === 'open') return 'good';
  return end === 'orderly' ? 'quiet' : 'bad';
}

function Figures({ connection }: { readonly connection: ConnectionView }): JSX.Element {
  const { begun, ended, up, down, connect, firstByte } = connection;
  const lasted = (ended === undefined ? clock.value : Date.parse(ended)) - Date.parse(begun);
  return (
    <FigureList
      items={[
        [ended === undefined ? 'Open for' : 'Lasted', ended === undefined ? duration(lasted) : milliseconds(lasted)],
        ['To server', bytes(up)],
        ['To client', bytes(down)],
        ['Connect', milliseconds(connect)],
        ['First byte', milliseconds(firstByte)],
      ]}
    />
  );
}

function ConnectionFacts({ connection }: { readonly connection: ConnectionView }): JSX.Element {
  const { id, begun, from, client, listener, via, to, server } = connection;
  return (
    <FactList
      items={[
        ['Client', [from, client].filter(Boolean).join(' ')],
        ['Listener', listener ?? ''],
        ['Routers between', via.join(', ')],
        ['Server', [to, server].filter(Boolean).join(' ')],
        ['Begun', new Date(begun).toLocaleString()],
        ['ID', id],
      ]}
    />
  );
}
