import { integer, object, optional, text } from '../schema.ts';
import { settings, statusWith } from './parts.ts';

export const accessGrantSpec = object(
  {
    redemptionsAllowed: optional(
      integer('int32', { description: 'How many times a token of this grant can be redeemed.', default: 1 }, { minimum: 1 }),
    ),
    expirationWindow: optional(
      text(
        {
          description: 'For how long, from the creation of the grant: a number with `s`, `m` or `h`, as in `15m` or `1h30m`.',
          default: '15m',
        },
        { format: 'duration' },
      ),
    ),
    code: optional(
      text({ description: 'The secret that a token must hold. Left out: one is made, which is safer.' }, { format: 'password' }),
    ),
    issuer: optional(
      text({ description: "The certificate authority that signs for whoever redeems a token. Left out: the site's `defaultIssuer`." }),
    ),
    settings,
  },
  { description: 'What is granted: to link to this site, so many times, for so long.' },
);

export const accessGrantStatus = statusWith(
  '`Processed`: the grant has been read. `Resolved`: it is known where tokens are redeemed. `Ready`: both, so tokens can be issued.',
  {
    url: optional(text({ description: 'Where tokens of this grant are redeemed.' })),
    code: optional(text({ description: 'The secret that a token must hold.' }, { format: 'password' })),
    ca: optional(text({ description: 'The certificate authority of that server, PEM.' })),
    redemptions: optional(integer('int32', { description: 'How many times a token has been redeemed.' })),
    expirationTime: optional(text({ description: 'From when on none can be redeemed.' }, { format: 'date-time' })),
  },
);
