/** One link with its figures. The page of the resource shows them too. */
import type { JSX } from 'preact';
import type { LinkView } from '../contract.ts';
import { byteRate, bytes, count, milliseconds } from './format.ts';
import { Empty, FigureList, Prose, Since, State } from './parts.tsx';
import { href } from './route.ts';
import { links } from './store.ts';

export const linkTones = { up: 'good', silent: 'wait', down: 'bad' } as const;

/** Bytes a second in both directions. */
export function trafficOf({ rates }: Pick<LinkView, 'rates'>): number | undefined {
  return rates === undefined ? undefined : rates.sent + rates.received;
}

export function LinkPage({ id }: { readonly id: string }): JSX.Element {
  const link = links.value.get(id);
  if (link === undefined) {
    return (
      <Empty title="This link does not exist any more.">
        <p>
          <a href={href(['network'])}>Go to the network</a>
        </p>
      </Empty>
    );
  }
  const { from, fromName, to, toName, state, message, direction } = link;
  return (
    <>
      <div class="heading">
        <h2 class="object">
          <SiteLink id={from} name={fromName} /> – <SiteLink id={to} name={toName} />
        </h2>
        <State tone={linkTones[state]}>{state}</State>
      </div>
      {message !== undefined && (
        <p class="lead">
          <Prose text={message} />
        </p>
      )}
      <LinkFigures link={link} />
      {direction === 'between' && <p class="foot">Bytes and streams of links between other sites are known to those sites only.</p>}
    </>
  );
}

/** The other end of a link that was never up has no ID yet. */
function SiteLink({ id, name }: { readonly id: string; readonly name: string }): JSX.Element {
  return id === '' ? <>{name || 'unknown site'}</> : <a href={href(['network', id])}>{name}</a>;
}

/** Nothing for a Link that no router knows yet. */
export function FiguresOfLink({ name }: { readonly name: string }): JSX.Element | null {
  const link = links.value.get(`out/${name}`);
  return link === undefined ? null : <LinkFigures link={link} />;
}

function LinkFigures({ link }: { readonly link: LinkView }): JSX.Element {
  const { rates, sent, received, roundTripMs, streams, queuedBytes, cost } = link;
  return (
    <>
      <FigureList
        items={[
          ['Sent', byteRate(rates?.sent)],
          ['Received', byteRate(rates?.received)],
          ['Sent since up', bytes(sent)],
          ['Received since up', bytes(received)],
          ['Streams', count(streams)],
          ['Queued', bytes(queuedBytes)],
          ['Round trip', milliseconds(roundTripMs)],
          ['Cost', count(cost)],
        ]}
      />
      <LinkFacts link={link} />
    </>
  );
}

function LinkFacts({ link }: { readonly link: LinkView }): JSX.Element {
  const { state, since, certificateExpires, address, serial, attempts, lastProblem, lastProblemAt } = link;
  const facts: readonly (readonly [title: string, value: JSX.Element | string | undefined])[] = [
    [state === 'up' ? 'Up for' : `${state === 'silent' ? 'Silent' : 'Down'} for`, since === undefined ? undefined : <Since time={since} />],
    ['Certificate until', certificateExpires === undefined ? undefined : new Date(certificateExpires).toLocaleString()],
    ['Certificate serial', serial],
    ['Address', address],
    ['Attempts', attempts === undefined ? undefined : count(attempts)],
    [
      'Last problem',
      lastProblem === undefined ? undefined : (
        <>
          <Since time={lastProblemAt} /> ago: {lastProblem}
        </>
      ),
    ],
  ];
  return (
    <dl class="facts">
      {facts.map(
        ([title, value]) =>
          value !== undefined && (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
