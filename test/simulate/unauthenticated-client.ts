import { NOBODY, type Endpoint } from './endpoint.ts';
import type { Machine } from './network.ts';
import { PROMPT, Shaker } from './shaker.ts';

/** How far a client without a certificate goes before it stops: silence, bytes that are not TLS, half of a handshake, or a whole one. */
export const PRETENCES = ['silence', 'noise', 'half', 'whole'] as const;
export type Pretence = (typeof PRETENCES)[number];

const NOISE_BYTES = 100;

/** Comes to a port, and never leaves by himself. */
export function intrude(machine: Machine, host: string, port: number, pretence: Pretence): void {
  const { network } = machine;
  network.connect(machine, { host, port }, (result) => {
    if (typeof result !== 'string') pretend(result, pretence, network.random.bytes(NOISE_BYTES));
  });
}

function pretend(endpoint: Endpoint, pretence: Pretence, noise: Buffer): void {
  switch (pretence) {
    case 'silence':
      break;
    case 'noise':
      endpoint.write(noise);
      break;
    default: {
      const manner = pretence === 'half' ? ({ before: 'last', pause: 'ever' } as const) : PROMPT;
      const shaker = new Shaker(endpoint, manner, { isServer: false }, (isSecure) => {
        if (isSecure) endpoint.user = NOBODY;
      });
      shaker.begin();
    }
  }
}
