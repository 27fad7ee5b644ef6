import { integer, object, optional, text } from '../schema.ts';
import { DEFAULT_EXPIRATION_WINDOW } from './names.ts';
import { settings, statusWith } from './parts.ts';

export const accessGrantSpec = object('Permission for other sites to link to this one, limited in number and time.', {
  redemptionsAllowed: optional(
    integer('int32', 'Number of times that tokens of this grant can be redeemed. 0 counts as 1.', { default: 1, minimum: 0 }),
  ),
  expirationWindow: optional(
    text('Time from the creation of the grant until it expires: a number with `s`, `m` or `h`, as in `15m` or `1h30m`.', {
      default: DEFAULT_EXPIRATION_WINDOW,
      format: 'duration',
    }),
  ),
  code: optional(text('The secret that a token must contain. Default: a random one, which is safer.', { format: 'password' })),
  issuer: optional(text("The certificate authority that signs for sites that redeem a token. Default: the site's `defaultIssuer`.")),
  settings,
});

export const accessGrantStatus = statusWith(
  '`Processed`: the grant has been read. `Resolved`: the URL for redemptions is known. `Ready`: both, so tokens can be issued.',
  {
    url: optional(text('URL at which tokens of this grant are redeemed.')),
    code: optional(text('The secret that a token must contain.', { format: 'password' })),
    ca: optional(text('The certificate authority of that server, PEM.')),
    redemptions: optional(integer('int32', 'Number of redemptions so far.')),
    expirationTime: optional(text('Time from which tokens can no longer be redeemed.', { format: 'date-time' })),
  },
);
