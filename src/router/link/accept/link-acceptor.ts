import { openFilesLimit, reserveWithin } from '../../../telemetry/open-files.ts';
import { AdmissionSlots } from '../../../limits/admission-slots.ts';
import { limitTable } from '../../../limits/table.ts';
import { HandshakePace } from '../../../net/handshake-pace.ts';
import { TlsAcceptor, type TlsAcceptorOptions } from '../../../net/tls-acceptor.ts';
import { hasSentData } from '../../../net/tls-feed.ts';

/** Most concurrent TLS handshakes, in total and for one address. */
const MOST = Math.min(limitTable.accessHandshakes.value, reserveWithin(openFilesLimit()).unauthenticated);
const MOST_OF_ADDRESS = limitTable.accessHandshakesOfAddress.value;

type Options = Pick<TlsAcceptorOptions, 'holds' | 'onEvicted' | 'onEndless'> & {
  /** Number of handshakes that fit into memory. */
  readonly most: number;
};

/** Creates the acceptor of a port for links. */
export function linkAcceptor({ most: within, ...options }: Options): TlsAcceptor {
  const most = Math.min(MOST, within);
  return new TlsAcceptor({
    ...options,
    slots: new AdmissionSlots({ most, mostOfGroup: Math.min(MOST_OF_ADDRESS, most) }, hasSentData),
    side: () => 'incoming',
    only13: true,
    pace: new HandshakePace(),
  });
}
