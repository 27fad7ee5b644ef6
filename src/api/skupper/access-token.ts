import { flag, mapOf, object, optional, text } from '../schema.ts';
import { cost } from './link.ts';
import { statusWith } from './parts.ts';

export const accessTokenSpec = object('Credentials for a link to another site.', {
  url: text('`https:` URL at the other site, at which the token is redeemed.', { minLength: 1, maxLength: 2048 }),
  code: text('The secret of the grant.', { minLength: 1, maxLength: 1024, format: 'password' }),
  ca: text('Certificate authority that signed the certificate of the server at `url`, PEM.', { minLength: 1, maxLength: 65_536 }),
  linkCost: optional(cost('Cost of the resulting link.')),
  settings: optional(
    mapOf(
      text('The value of the setting.'),
      'Further settings by name. `other-urls`: further URLs for the redemption, separated by spaces, tried in this order if `url` is unreachable.',
    ),
  ),
});

export const accessTokenStatus = statusWith('`Redeemed`: the token has become a Link.', {
  redeemed: optional(flag('Whether the token has become a Link. It cannot be used again then.')),
});
