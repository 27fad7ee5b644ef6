import { integer, object, optional, text } from '../schema.ts';
import { DEFAULT_EXPIRATION_WINDOW } from './names.ts';
import { settings, statusWith } from './parts.ts';

export const accessGrantSpec = object('What is granted: to link to this site, so many times, for so long.', {
  redemptionsAllowed: optional(
    integer('int32', 'How many times a token of this grant can be redeemed. 0 counts as 1.', { default: 1, minimum: 0 }),
  ),
  expirationWindow: optional(
    text('For how long, from the creation of the grant: a number with `s`, `m` or `h`, as in `15m` or `1h30m`.', {
      default: DEFAULT_EXPIRATION_WINDOW,
      format: 'duration',
    }),
  ),
  code: optional(text('The secret that a token must hold. Left out: one is made, which is safer.', { format: 'password' })),
  issuer: optional(text("The certificate authority that signs for sites that redeem a token. Left out: the site's `defaultIssuer`.")),
  settings,
});

export const accessGrantStatus = statusWith(
  '`Processed`: the grant has been read. `Resolved`: it is known where tokens are redeemed. `Ready`: both, so tokens can be issued.',
  {
    url: optional(text('Where tokens of this grant are redeemed.')),
    code: optional(text('The secret that a token must hold.', { format: 'password' })),
    ca: optional(text('The certificate authority of that server, PEM.')),
    redemptions: optional(integer('int32', 'How many times a token has been redeemed.')),
    expirationTime: optional(text('From when on none can be redeemed.', { format: 'date-time' })),
  },
);
